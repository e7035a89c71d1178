"""Each kind of page of the smoke book under axe: both themes, screens of both sizes."""

import pytest
from tabs import STILL

# Each kind of page once: what its other pages hold is made by the same code.
PAGES = [
    *("index.html", "data_cards.html", "provenance.html", "words.html", "tutorial.html"),
    *(
        "methods/retrieval_ablation.html",
        "documents/countercase.html",
        "generated/leaderboard.html",
    ),
    *(
        f"generated/items.html?{cell}#of={cell}-smoke"  # each is loaded anew
        for cell in ("factcheck_confusion", "retrieval_ablation")
    ),
    *(
        f"run/notebooks/{cell}-smoke.html"
        for cell in ("retrieval_ablation", "factcheck_confusion", "query_length")
    ),
]
# Owned by the theme: its own controls' labels, and its logo outside a landmark.
THEME_OWNED = ["label-content-name-mismatch", "region"]
CONTRAST, SCROLLS = "color-contrast", "scrollable-region-focusable"
# The theme gives what scrolls a tab stop a moment after the window's size has changed.
RESIZED = """() => [...document.querySelectorAll('pre[tabindex="-1"]')]
  .every((e) => e.scrollWidth <= e.clientWidth)"""
AXE = """async (options) => {
  const found = (await axe.run(document, options)).violations;
  return Object.fromEntries(found.map((v) => [v.id, v.nodes[0].html.slice(0, 200)]));
}"""
# Contrast is the slowest rule, and depends on colours and on the size of letters alone:
# what looks as something on this or another page is measured once and then left out.
SHOW_ALIKE = "document.querySelectorAll('[data-alike]').forEach((e) => delete e.dataset.alike)"
HIDE_ALIKE = """(seen) => {
  const grounds = new Map([[null, ""]]);
  const ground = (e) => {
    if (!grounds.has(e)) {
      const style = getComputedStyle(e);
      const own = `${style.backgroundColor} ${style.backgroundImage} ${style.opacity}`;
      const behind = ground(e.parentElement);
      grounds.set(e, own === "rgba(0, 0, 0, 0) none 1" ? behind : `${behind} / ${own}`);
    }
    return grounds.get(e);
  };
  const known = (e) => {
    const style = getComputedStyle(e);
    const look = [style.color, style.fontSize, style.fontWeight, ground(e)].join();
    return (seen[look] = (seen[look] ?? 0) + 1) > 1;
  };
  const says = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const texts = [...document.body.querySelectorAll("*")].filter((e) => says(e) && e.checkVisibility());
  const alike = texts.filter(known);
  alike.filter((e) => !e.children[0]).forEach((e) => (e.dataset.alike = ""));
  return [seen, texts.length - alike.length];
}"""
HIDDEN = STILL + " [data-alike] { visibility: hidden !important }"


@pytest.fixture(scope="module")
def seen():
    """Give what was seen, by its colours and size, on all pages."""
    return {}


def axe_run(page, **options):
    """Run axe, which the page has loaded: what it finds, by rule."""
    return page.evaluate(AXE, {"preload": False, "resultTypes": ["violations"]} | options)


@pytest.mark.faults
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_themes_on_both_screens(site, tab, axe, seen, name):
    tab.open(f"{site.as_uri()}/{name}")
    tab.page.evaluate(axe)
    tab.page.add_style_tag(content=HIDDEN)
    found = axe_run(tab.page, rules={rule: {"enabled": False} for rule in (CONTRAST, *THEME_OWNED)})
    for scheme in ("light", "dark"):
        tab.look("desktop", scheme)
        tab.page.wait_for_selector(f"html[data-theme={scheme}]")
        looks, new = tab.page.evaluate(HIDE_ALIKE, seen)
        seen |= looks
        found |= axe_run(tab.page, runOnly=[CONTRAST]) if new else {}
        tab.page.evaluate(SHOW_ALIKE)
    tab.look("phone", "light")
    tab.wait(RESIZED)
    found |= axe_run(tab.page, runOnly=[SCROLLS, "target-size"])
    assert (found, tab.problems) == ({}, [])
