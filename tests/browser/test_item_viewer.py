"""The viewer of single items in Chromium: links, keyboard, choices, hostile text."""

import json
import re
import shutil

import pytest

from casebook.book.items import cell, change, facts, item, page, table
from casebook.paths import ROOT

HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
PAGE = """<!DOCTYPE html><html lang="en"><head>
<title>Claims</title><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="custom.css"><script defer src="tables.js"></script></head>
<body class="bd-article"><main><h1>Claims</h1><div class="items"></div>
<script defer src="data.js"></script><script defer src="items.js"></script>
</main></body></html>"""


def claim(name, text, rank, tag, *, wrong=False):
    """Give an item with every kind of part and of cell."""
    parts = [
        [["Gold label", "SUPPORTED"], [HOSTILE, cell(HOSTILE, None, HOSTILE)]],
        ["=pays", "-400", f"+{HOSTILE}", "=a claim"],
        [["full", "0.500", None], [cell(0, "relevant", "rank 1"), cell(HOSTILE, "wrong"), 1]],
    ]
    return item(name, text, parts, tags=[tag, HOSTILE], keys=[rank], wrong=wrong)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Give the page with three claims, one of them hostile."""
    folder = tmp_path_factory.mktemp("viewer")
    for name in ("tables.js", "items.js", "custom.css"):
        shutil.copy(ROOT / "book" / "assets" / name, folder)
    documents = [["d1", HOSTILE], [HOSTILE, None]]
    layout = [
        facts(),
        change("The text before and after"),
        table(HOSTILE, ["System", "Verdict", HOSTILE], missing="undefined", cards=True),
    ]
    items = [
        claim("q1", "Is water covered?", 2, "hops: 1"),
        claim("q&2 #", HOSTILE, 1, "hops: 2", wrong=True),
        claim("q3", None, 0, "hops: 1", wrong=True),
    ]
    items[2]["parts"] = [None, None, None]
    shown = page("cell", "claim", documents, layout, items, orders=["worst"], wrong="wrong only")
    (folder / "data.js").write_text(f"window.casebookItems = {json.dumps(shown)};")
    (folder / "page.html").write_text(PAGE)
    return (folder / "page.html").as_uri()


def shows(viewer, place, text):
    """Wait for a text: the page reads its address after the event that changed it."""
    from playwright.sync_api import expect

    expect(viewer.locator(place)).to_have_text(text)


@pytest.fixture
def viewer(browser):
    context = browser.new_context(viewport={"width": 375, "height": 800})
    viewer = context.new_page()
    viewer.problems = []
    viewer.on("pageerror", lambda error: viewer.problems.append(str(error)))
    yield viewer
    assert viewer.problems == []
    context.close()


def test_a_link_survives_a_reload_and_moves_with_the_keyboard(viewer, address):
    viewer.goto(f"{address}#q=q%262+%23")
    shows(viewer, "h2", "Claim q&2 #")
    viewer.reload()
    shows(viewer, "h2", "Claim q&2 #")
    viewer.get_by_role("button", name="Next").focus()
    viewer.keyboard.press("Enter")
    shows(viewer, "h2", "Claim q3")
    assert viewer.url.endswith("#q=q3")
    viewer.go_back()
    shows(viewer, "h2", "Claim q&2 #")
    viewer.goto(f"{address}#q=none")
    shows(viewer, ".items", re.compile("Claim none is not on this page"))


def test_parts_are_those_of_the_data(viewer, address):
    viewer.goto(address)
    shows(viewer, "h2", "Claim q1")
    assert viewer.locator(".facts dd").first.inner_text() == "SUPPORTED"
    first, second = viewer.locator("tbody tr").all()
    assert first.locator("th[scope=row]").inner_text() == "full"
    cells = first.locator("td").all()
    assert [cell.text_content() for cell in cells] == ["0.500", "– undefined"]
    relevant, wrong, plain = second.locator("td").all()
    assert relevant.text_content().startswith("✓ relevant: d1")
    assert relevant.locator("p").all_text_contents() == [HOSTILE, "rank 1"]
    assert wrong.text_content() == f"✗ wrong: {HOSTILE}"
    assert plain.locator("code").text_content() == HOSTILE
    viewer.goto(f"{address}#q=q3")  # lacks every part
    assert viewer.locator("table").count() == viewer.locator(".facts").count() == 0
    shows(viewer, ".items", re.compile("does not let its text be shown"))


def test_a_change_reads_without_colour(viewer, address):
    viewer.goto(address)
    before, after = viewer.locator(".change dd").all()
    assert before.text_content().split() == [
        *("pays", "removed:", "400", "(end", "of", "removed)", "a", "claim")
    ]
    assert after.locator("ins").text_content().startswith(f"added: {HOSTILE}")
    assert (before.locator("ins").count(), after.locator("del").count()) == (0, 0)
    for name, line in (("del", "line-through"), ("ins", "underline")):
        style = f"getComputedStyle(document.querySelector('{name}')).textDecorationLine"
        assert viewer.evaluate(style) == line


def test_hostile_texts_stay_texts(viewer, address):
    for name in ("q1", "q%262+%23", "q3"):
        viewer.goto(f"{address}#q={name}")
        viewer.wait_for_timeout(100)
    hostile = "%3Cimg%20src%3Dx%20onerror%3Dwindow.ran%3D3%3E"
    viewer.goto(f"{address}#q={hostile}&only={hostile}&find={hostile}&order={hostile}")
    viewer.wait_for_timeout(100)
    assert viewer.evaluate("window.ran") is None
    assert viewer.locator("img").count() == 0


def test_what_is_chosen_stands_in_the_address(viewer, address):
    viewer.goto(address)
    viewer.get_by_label("Find").fill("water")
    shows(viewer, "output", "1 of 3 claims")
    viewer.get_by_label("Find").fill("")
    viewer.get_by_label("wrong only").check()
    viewer.get_by_label("Order").select_option("worst")
    options = viewer.get_by_label("Claim").locator("option").all_inner_texts()
    assert [label.split(":")[0] for label in options] == ["q3", "q&2 #"]
    viewer.reload()
    assert viewer.get_by_label("wrong only").is_checked()
    shows(viewer, "output", "2 of 3 claims")
    viewer.goto(f"{address}#only=hops%3A+1&wrong=1")
    shows(viewer, "output", "1 of 3 claims")
    shows(viewer, "h2", "Claim q3")
    viewer.goto(f"{address}#only=hops%3A+9")
    shows(viewer, "output", "0 of 3 claims")
    shows(viewer, ".items", re.compile("No claim is like this"))


def test_the_download_names_columns_and_documents(viewer, address):
    viewer.goto(address)
    with viewer.expect_download() as download:
        viewer.get_by_role("button", name="Download JSON").click()
    assert download.value.suggested_filename == "cell.json"
    kept = json.loads(download.value.path().read_text())["items"]
    assert [one["id"] for one in kept] == ["q1", "q&2 #", "q3"]
    assert kept[0]["tags"] == ["hops: 1", HOSTILE]
    assert kept[0][HOSTILE][0] == {"System": "full", "Verdict": "0.500", HOSTILE: None}
    first = kept[0][HOSTILE][1]["System"]
    assert first == {"value": "d1", "mark": "relevant", "note": "rank 1"}


def test_the_viewer_is_accessible_and_no_wider_than_a_phone(viewer, address):
    from axe_playwright_python.sync_playwright import Axe

    viewer.goto(address)
    found = Axe().run(viewer, options={"preload": False}).response["violations"]
    assert [one["id"] for one in found] == []
    assert viewer.evaluate("document.documentElement.scrollWidth") <= 375


def test_a_table_that_is_downloaded_holds_no_formula(viewer, tmp_path):
    import csv

    import pandas as pd

    from casebook.sheets import from_csv
    from casebook.tables import to_html, with_interval

    names = ["=1+1", "@x", "＝cmd|x", "-3", 'plain, "quoted"', "'=1"]
    numbers = {"value": -0.5, "low": -0.75, "high": 0.25, "alone": -1.5}
    frame = with_interval(pd.DataFrame({"id": names} | numbers), "value", "low", "high")
    shutil.copy(ROOT / "book" / "assets" / "tables.js", tmp_path)
    body = to_html(frame, "Made") + '<script src="tables.js"></script>'
    page = f'<meta charset="utf-8"><title>Made</title>{body}'
    (tmp_path / "page.html").write_text(page)
    viewer.goto((tmp_path / "page.html").as_uri())
    with viewer.expect_download() as download:
        viewer.get_by_role("button", name="Download CSV").click()
    text = download.value.path().read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines(), strict=True))
    assert [from_csv(row[0]) for row in rows[1:]] == names
    assert [row[0] for row in rows[1:4]] == ["'=1+1", "'@x", "'＝cmd|x"]
    assert rows[0] == ["id", "value", "value low", "value high", "alone"]
    assert {tuple(row[1:4]) for row in rows[1:]} == {("-0.500", "-0.750", "0.250")}
    assert {float(row[4]) for row in rows[1:]} == {-1.5}
