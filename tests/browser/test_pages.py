"""The pages of the smoke book in headless Chromium: silent, offline, printable."""

import pytest
from tabs import SIZES, STILL, pages_of

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


ALTERNATIVES = """[...document.querySelectorAll(".cell_output img, figure.drawn svg[aria-label]")].map(
  (e) => e.alt || e.getAttribute("aria-label") || "")"""


@pytest.mark.faults
def test_every_page_opens_from_disk_on_a_phone_and_prints(site, tab):
    """Nothing fails or is wider than the screen; paper is white, whatever the theme, and holds
    every row."""
    problems = {}
    for name in pages_of(site):
        tab.open((site / name).as_uri(), size="phone", scheme="dark")
        problems[name] = tab.problems + tab.faults_of_layout()
        if name.startswith("run/notebooks/"):
            alternatives = tab.page.evaluate(ALTERNATIVES)
            has_figures = alternatives or "published_figures" in name  # which has tables alone
            problems[name] += (
                [] if has_figures and all(alternatives) else ["a figure without alternative text"]
            )
        tab.page.add_style_tag(content=STILL)
        tab.page.emulate_media(media="print", color_scheme="dark")
        problems[name] += tab.page.evaluate(PRINTED)
        tab.page.emulate_media(media="screen")
    assert {name: found for name, found in problems.items() if found} == {}


def test_tables_sort_by_keyboard_and_download(site, tab):
    tab.open((site / "data_cards.html").as_uri())
    table = tab.page.locator("table.data-table").first
    head = table.locator("th").first
    head.locator("button").focus()
    tab.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    rising = table.locator("tbody td:first-child").all_inner_texts()
    tab.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert table.locator("tbody td:first-child").all_inner_texts() == rising[::-1] != rising
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download CSV").first.click()
    assert download.value.suggested_filename.endswith(".csv")


def test_the_address_keeps_the_filter_of_a_table(site, tab):
    tab.open(f"{(site / 'provenance.html').as_uri()}#filter-1=audits")
    rows = tab.page.locator("table.data-table").first.locator("tbody tr:visible")
    assert rows.count() == 1 and "audits-smoke" in rows.inner_text()
    tab.page.get_by_label("Filter").first.fill("verified query_length")
    assert rows.count() == 1
    assert tab.page.url.endswith("#filter-1=verified+query_length")
    assert tab.problems == []


def test_the_front_page_answers_on_its_first_screen(site, tab):
    for size in SIZES:
        tab.open((site / "index.html").as_uri(), size=size)
        rows = tab.page.locator("li.question-row")
        assert rows.count() and tab.faults_of_layout() == []
        below = rows.first.bounding_box()
        assert below["y"] + below["height"] < SIZES[size]["height"]
        assert " questions answered on " in tab.page.locator(".about").inner_text()
        tab.page.locator("details.cite summary").click()
        assert "(version " in tab.page.locator("details.cite p").first.inner_text()
    assert tab.problems == []


def test_the_site_is_small(site):
    sizes = {p: p.stat().st_size for p in site.rglob("*") if p.is_file()}
    pages = {p.name: s for p, s in sizes.items() if p.suffix == ".html"}
    assert max(pages.values()) <= 1_000_000
    assert sum(sizes.values()) <= 15_000_000
