"""Every page of the smoke book in headless Chromium: silent, offline, accessible."""

import functools
import http.server
import shutil
import threading

import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Owned by the theme: its own controls' labels, and its logo outside a landmark.
THEME_OWNED = {"label-content-name-mismatch", "region"}
CONTRAST = ["color-contrast"]
SIZES = {"desktop": (1280, 900), "phone": (375, 800)}

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


class Visit:
    """One page load, with everything that went wrong on it."""

    def __init__(self, browser, url, size="desktop", scheme="light"):
        width, height = SIZES[size]
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}
        )
        self.page = self.context.new_page()
        self.problems = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("requestfailed", lambda r: self.problems.append(f"failed {r.url}"))
        origin = url.split("/")[2]
        self.page.on("request", lambda request: self._request(request, origin))
        self.page.goto(url, wait_until="load")
        self.page.wait_for_timeout(250)

    def _console(self, message):
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def _request(self, request, origin):
        outside = request.url.startswith("http") and request.url.split("/")[2] != origin
        if outside:
            self.problems.append(f"leaves the page: {request.url}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def violations(page, rules=None):
    """Run axe: all rules, or only the named ones."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"preload": False} | ({"runOnly": rules} if rules else {})
    found = Axe().run(page, options=options).response["violations"]
    return {
        item["id"]: item["nodes"][0]["html"][:200]
        for item in found
        if item["id"] not in THEME_OWNED
    }


def test_every_page_opens_from_disk_on_a_phone(site, browser):
    """Nothing fails, no image is broken, nothing is wider than the screen."""
    problems = {}
    for name in pages_of(site):
        with Visit(browser, (site / name).as_uri(), size="phone") as visit:
            broken = visit.page.evaluate(
                "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
            )
            wide = visit.page.evaluate("document.body.scrollWidth > innerWidth")
            problems[name] = visit.problems + broken + ["too wide"] * wide
    assert len(problems) >= 8
    assert {name: found for name, found in problems.items() if found} == {}


# Of axe's rules only contrast depends on the theme.
@pytest.mark.parametrize("scheme, rules", [("light", None), ("dark", CONTRAST)])
def test_every_page_is_accessible_over_http(site, browser, server, scheme, rules):
    found = {}
    for name in pages_of(site):
        with Visit(browser, f"{server}/{name}", scheme=scheme) as visit:
            bad = violations(visit.page, rules)
            found[name] = bad | dict.fromkeys(visit.problems)
    assert {name: bad for name, bad in found.items() if bad} == {}


def test_figures_have_alternative_text_and_math_is_set(site, browser):
    with Visit(browser, (site / "methods/retrieval_ablation.html").as_uri()) as visit:
        visit.page.wait_for_selector("mjx-container")
    for path in (site / "run" / "notebooks").glob("*.html"):
        with Visit(browser, path.as_uri()) as visit:
            alternatives = visit.page.evaluate(
                "[...document.querySelectorAll('.cell_output img')].map(i => i.alt)"
            )
            assert alternatives
            assert all(len(text) > 20 for text in alternatives)


def test_tables_sort_by_keyboard_and_download(site, browser):
    page_name = next((site / "run" / "notebooks").glob("*.html"))
    with Visit(browser, page_name.as_uri()) as visit:
        table = visit.page.locator("table.data-table").first
        head = table.locator("th").first
        head.locator("button").focus()
        visit.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        rising = table.locator("tbody td:first-child").all_inner_texts()
        visit.page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        falling = table.locator("tbody td:first-child").all_inner_texts()
        assert falling == rising[::-1] != rising
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name="Download CSV").first.click()
        assert download.value.suggested_filename.endswith(".csv")


def test_the_filter_of_the_grid_stands_in_the_address(site, browser):
    with Visit(browser, f"{(site / 'grid.html').as_uri()}#filter-1=audits") as visit:
        rows = visit.page.locator("table.data-table tbody tr:visible")
        assert rows.count() == 1 and "audits-smoke" in rows.inner_text()
        visit.page.get_by_label("Filter").fill("done query_length")
        assert rows.count() == 1 and visit.page.url.endswith(
            "#filter-1=done+query_length"
        )
        assert visit.problems == []


MEASURES = [
    "nDCG", "RR", "AP", "footrule", "RBO", "Jaccard", "Kendall", "displacement",
    "AUROC", "MCC", "Krippendorff", "Fleiss", "Conger", "Gwet", "Brennan", "Scott",
    "Light", "ICC", "Wilson", "Holm", "McNemar", "Davidson", "Bradley", "Brier", "AURC",
    "ECE", "faithfulness", "Spearman", "Tukey", "sensitivity", "readability",
    "propensities",
]  # fmt: skip


def test_search_finds_every_measure_from_disk(site, browser):
    address = (site / "search.html").as_uri()
    context = browser.new_context()
    page, lost = context.new_page(), []
    for name in MEASURES:
        page.goto(f"{address}?q={name}")
        try:
            page.wait_for_selector("#search-results li", timeout=3000)
        except sync_api.TimeoutError:
            lost.append(name)
    page.goto(f"{address}?q=nDCG")
    page.wait_for_selector("#search-results li")
    titles = page.locator("#search-results li").all_inner_texts()
    context.close()
    assert lost == []
    assert any("Measures" in title for title in titles)


def test_the_site_is_small(site):
    sizes = {p: p.stat().st_size for p in site.rglob("*") if p.is_file()}
    pages = {p.name: s for p, s in sizes.items() if p.suffix == ".html"}
    assert max(pages.values()) <= 1_000_000
    assert sum(sizes.values()) <= 15_000_000
