"""Every page of the smoke book in headless Chromium: silent, offline, accessible."""

import functools
import http.server
import shutil
import threading

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIZES = {
    "desktop": {"width": 1280, "height": 900},
    "phone": {"width": 375, "height": 800},
}
# Owned by the theme: its own controls' labels, and its logo outside a landmark.
THEME_OWNED = ["label-content-name-mismatch", "region"]
CONTRAST = "color-contrast"
SCHEMES = ("light", "dark")
SETTLED = "Promise.all([window.MathJax?.startup?.promise, document.fonts.ready])"
STILL = "*, *::before, *::after { transition: none !important }"
# The theme gives what scrolls a tab stop a moment after the window's size has changed.
RESIZED = """() => [...document.querySelectorAll('pre[tabindex="-1"]')]
  .every((e) => e.scrollWidth <= e.clientWidth)"""
AXE = """async (options) => {
  const found = (await axe.run(document, options)).violations;
  return Object.fromEntries(found.map((v) => [v.id, v.nodes[0].html.slice(0, 200)]));
}"""
# Contrast is the slowest rule, and depends on colours and on the size of letters alone:
# what looks the same, on one page or on many, is measured twice and then left out.
SHOW_ALIKE = (
    "document.querySelectorAll('[data-alike]').forEach((e) => delete e.dataset.alike)"
)
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
STILL += " [data-alike] { visibility: hidden !important }"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt install chromium"),
]


@pytest.fixture(scope="module")
def site():
    from casebook.book import build_book

    return build_book("smoke").parent


@pytest.fixture(scope="module")
def browser():
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def server(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Keep the test's output clean."""

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


def pages_of(site):
    hidden = {"_static", "search.html", "genindex.html"}
    names = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [name.as_posix() for name in names if not hidden & set(name.parts)]


class Tab:
    """A page that is opened again and again, and what went wrong since it was."""

    def __init__(self, browser):
        self.page = browser.new_page(viewport=SIZES["desktop"])
        self.problems, self._origin = [], ""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("requestfailed", lambda r: self.problems.append(f"failed {r.url}"))
        self.page.on("request", self._request)

    def open(self, url, size="desktop", scheme="light"):
        self._origin = url.split("/")[2]
        self.problems.clear()
        self.look(size, scheme)
        self.page.goto(url, wait_until="load")
        self.page.evaluate(SETTLED)

    def look(self, size, scheme):
        self.page.set_viewport_size(SIZES[size])
        self.page.emulate_media(color_scheme=scheme)

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def _request(self, request):
        inside = request.url.startswith(("file:", "data:", "blob:"))
        if not inside and request.url.split("/")[2] != self._origin:
            self.problems.append(f"leaves the page: {request.url}")

    def faults_of_layout(self):
        """Images that are broken, and whether the page is wider than the screen."""
        broken = self.page.evaluate(
            "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
        )
        wide = self.page.evaluate("document.body.scrollWidth > innerWidth")
        return broken + ["too wide"] * wide


@pytest.fixture(scope="module")
def tab(browser):
    tab = Tab(browser)
    yield tab
    tab.page.close()


@pytest.fixture(scope="module")
def axe():
    from axe_playwright_python.sync_playwright import Axe

    return Axe().axe_script


def axe_run(page, **options):
    """Run axe, which the page has loaded: what it finds, by rule."""
    return page.evaluate(
        AXE, {"preload": False, "resultTypes": ["violations"]} | options
    )


def pale(page, seen):
    """Contrast of what does not look like anything that was seen before."""
    looks, new = page.evaluate(HIDE_ALIKE, seen)
    seen |= looks
    found = axe_run(page, runOnly=[CONTRAST]) if new else {}
    page.evaluate(SHOW_ALIKE)
    return found


def test_every_page_opens_from_disk_on_a_phone(site, tab):
    """Nothing fails, no image is broken, nothing is wider than the screen."""
    problems = {}
    for name in pages_of(site):
        tab.open((site / name).as_uri(), size="phone")
        problems[name] = tab.problems + tab.faults_of_layout()
    assert len(problems) >= 8
    assert {name: found for name, found in problems.items() if found} == {}


def test_every_page_is_accessible_in_both_themes_on_both_screens(
    site, tab, server, axe
):
    apart = [CONTRAST, *THEME_OWNED]
    found, seen = {}, {size: {} for size in SIZES}
    for name in pages_of(site):
        tab.open(f"{server}/{name}")
        tab.page.evaluate(axe)
        tab.page.add_style_tag(content=STILL)
        for size in SIZES:
            tab.look(size, "light")
            tab.page.wait_for_function(RESIZED)
            rules = {rule: {"enabled": False} for rule in apart}
            found[f"{name}, {size}"] = axe_run(tab.page, rules=rules)
            for scheme in SCHEMES:
                tab.look(size, scheme)
                tab.page.wait_for_selector(f"html[data-theme={scheme}]")
                found[f"{name}, {scheme} {size}"] = pale(tab.page, seen[size])
        found[name] = tab.problems.copy()
    assert {name: bad for name, bad in found.items() if bad} == {}


PRINTED = """() => {
  const light = (colour) => {
    const [r, g, b, a] = [...colour.match(/[\\d.]+/g).map(Number), 1];
    return a === 0 ? null : (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
  };
  const behind = (e) =>
    e ? light(getComputedStyle(e).backgroundColor) ?? behind(e.parentElement) : 1;
  const says = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const seen = (e) => e.checkVisibility() && e.getBoundingClientRect().height > 1;
  const article = [...document.querySelectorAll("article.bd-article *")];
  const pale = article.filter((e) => says(e) && seen(e)).filter(
    (e) => light(getComputedStyle(e).color) > 0.6 || behind(e) < 0.7);
  const lost = article.filter((e) => e.matches("tbody tr") && !seen(e));
  const cut = article.filter(
    (e) => e.matches(".table-scroll") && e.scrollHeight > e.clientHeight + 1);
  return [...pale, ...lost, ...cut].slice(0, 3).map((e) => e.outerHTML.slice(0, 120));
}"""


def test_printed_pages_are_dark_on_light_and_hold_every_row(site, tab):
    """Paper is white, whatever theme the reader has chosen for the screen."""
    found = {}
    for name in pages_of(site):
        tab.open((site / name).as_uri(), scheme="dark")
        tab.page.add_style_tag(content=STILL)
        tab.page.emulate_media(media="print", color_scheme="dark")
        found[name] = tab.page.evaluate(PRINTED)
    tab.page.emulate_media(media="screen")
    assert {name: bad for name, bad in found.items() if bad} == {}


def test_figures_have_alternative_text_and_math_is_set(site, tab):
    tab.open((site / "methods/retrieval_ablation.html").as_uri())
    assert tab.page.locator("mjx-container").count()
    for path in (site / "run" / "notebooks").glob("*.html"):
        tab.open(path.as_uri())
        alternatives = tab.page.evaluate(
            "[...document.querySelectorAll('.cell_output img')].map(i => i.alt)"
        )
        assert alternatives
        assert all(len(text) > 20 for text in alternatives)


def test_tables_sort_by_keyboard_and_download(site, tab):
    page_name = next((site / "run" / "notebooks").glob("*.html"))
    tab.open(page_name.as_uri())
    table = tab.page.locator("table.data-table").first
    head = table.locator("th").first
    head.locator("button").focus()
    tab.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    rising = table.locator("tbody td:first-child").all_inner_texts()
    tab.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    falling = table.locator("tbody td:first-child").all_inner_texts()
    assert falling == rising[::-1] != rising
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download CSV").first.click()
    assert download.value.suggested_filename.endswith(".csv")


def test_the_filter_of_the_grid_stands_in_the_address(site, tab):
    tab.open(f"{(site / 'grid.html').as_uri()}#filter-1=audits")
    rows = tab.page.locator("table.data-table tbody tr:visible")
    assert rows.count() == 1 and "audits-smoke" in rows.inner_text()
    tab.page.get_by_label("Filter").fill("done query_length")
    assert rows.count() == 1
    assert tab.page.url.endswith("#filter-1=done+query_length")
    assert tab.problems == []


MEASURES = [
    "nDCG", "RR", "AP", "footrule", "RBO", "Jaccard", "Kendall", "displacement",
    "AUROC", "MCC", "Krippendorff", "Fleiss", "Conger", "Gwet", "Brennan", "Scott",
    "Light", "ICC", "Wilson", "Holm", "McNemar", "Davidson", "Bradley", "Brier", "AURC",
    "ECE", "faithfulness", "Spearman", "Tukey", "sensitivity", "readability",
    "propensities",
]  # fmt: skip


def test_search_finds_every_measure_from_disk(site, tab):
    address = (site / "search.html").as_uri()
    lost = []
    for name in MEASURES:
        tab.page.goto(f"{address}?q={name}")
        try:
            tab.page.wait_for_selector("#search-results li", timeout=3000)
        except sync_api.TimeoutError:
            lost.append(name)
    assert lost == []
    tab.page.goto(f"{address}?q=nDCG")
    tab.page.wait_for_selector("#search-results li:has-text('Measures')")


def test_the_site_is_small(site):
    sizes = {p: p.stat().st_size for p in site.rglob("*") if p.is_file()}
    pages = {p.name: s for p, s in sizes.items() if p.suffix == ".html"}
    assert max(pages.values()) <= 1_000_000
    assert sum(sizes.values()) <= 15_000_000
