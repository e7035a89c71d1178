"""Every page of the smoke book under axe: both themes, screens of both sizes."""

from tabs import SIZES, STILL, pages_of

# Owned by the theme: its own controls' labels, and its logo outside a landmark.
THEME_OWNED = ["label-content-name-mismatch", "region"]
CONTRAST = "color-contrast"
SCHEMES = ("light", "dark")
# The theme gives what scrolls a tab stop a moment after the window's size has changed.
RESIZED = """() => [...document.querySelectorAll('pre[tabindex="-1"]')]
  .every((e) => e.scrollWidth <= e.clientWidth)"""
AXE = """async (options) => {
  const found = (await axe.run(document, options)).violations;
  return Object.fromEntries(found.map((v) => [v.id, v.nodes[0].html.slice(0, 200)]));
}"""
# Contrast is the slowest rule, and depends on colours and on the size of letters alone:
# what looks the same, on one page or on many, on this screen or that, is measured twice and then left out.
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
    return (seen[look] = (seen[look] ?? 0) + 1) > 2;
  };
  const all = [...document.body.querySelectorAll("*")];
  const says = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const texts = all.filter((e) => says(e) && e.checkVisibility());
  const alike = texts.filter(known);
  alike.filter((e) => !e.children[0]).forEach((e) => (e.dataset.alike = ""));
  return [seen, texts.length - alike.length];
}"""
HIDDEN = STILL + " [data-alike] { visibility: hidden !important }"


def axe_run(page, **options):
    """Run axe, which the page has loaded: what it finds, by rule."""
    return page.evaluate(AXE, {"preload": False, "resultTypes": ["violations"]} | options)


def pale(page, seen):
    """Contrast of what does not look like anything that was seen before."""
    looks, new = page.evaluate(HIDE_ALIKE, seen)
    seen |= looks
    found = axe_run(page, runOnly=[CONTRAST]) if new else {}
    page.evaluate(SHOW_ALIKE)
    return found


def test_every_page_is_accessible_in_both_themes_on_both_screens(site, tab, server, axe):
    apart = [CONTRAST, *THEME_OWNED]
    found, seen = {}, {}
    for name in pages_of(site):
        tab.open(f"{server}/{name}")
        tab.page.evaluate(axe)
        tab.page.add_style_tag(content=HIDDEN)
        for size in SIZES:
            tab.look(size, "light")
            tab.page.wait_for_function(RESIZED)
            rules = {rule: {"enabled": False} for rule in apart}
            found[f"{name}, {size}"] = axe_run(tab.page, rules=rules)
            for scheme in SCHEMES:
                tab.look(size, scheme)
                tab.page.wait_for_selector(f"html[data-theme={scheme}]")
                found[f"{name}, {scheme} {size}"] = pale(tab.page, seen)
        found[name] = tab.problems.copy()
    assert {name: bad for name, bad in found.items() if bad} == {}
