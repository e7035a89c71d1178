"""The viewer of single items in Chromium: links, keyboard, choices, hostile text."""

import shutil

import pandas as pd
import pytest

from casebook.book.items import items_script
from casebook.paths import ROOT
from casebook.runs.items import ALL_TEXTS, item_page

HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
PAGE = """<!DOCTYPE html><html lang="en"><head>
<title>Items</title><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="custom.css"><link rel="stylesheet" href="items.css">
<script defer src="tables.js"></script></head>
<body class="bd-article"><main><h1>Single items</h1><div class="items"></div>
<script defer src="items.js"></script>
<ul class="items-of"><li><a href="#of=claims">Claims</a></li>
<li><a href="#of=questions">Questions</a></li></ul>
</main></body></html>"""
ABOUT = {"title": "Claims", "chapter": "chapter.html", "opening": HOSTILE, "notes": [HOSTILE]}
NAMES = ["q1", "q&2 #", "q3"]


def claims():
    """Give a page with every kind of cell, of two systems."""
    items = pd.DataFrame(
        {
            "id": NAMES,
            "text": ["Is water covered?", HOSTILE, None],
            "gold label": ["SUPPORTED", HOSTILE, None],
            "change": ["pays [-400-] {+500+} a claim", None, None],
            "hops: 1": [True, False, True],
            HOSTILE: [True, False, False],
            "constructor": [True, False, False],
            "marked": [["d1"], [], []],
        }
    )
    rows = {
        "id": NAMES * 2,
        "system": ["full"] * 3 + ["bm25"] * 3,
        "right": [0.5, 0.0, 0.5, 0.25, 0.75, None],
        "words": [3, 4, 5, 3, 4, 5],
        "verdict": [HOSTILE, None, None, "yes", None, None],
        "found": [["d1", (HOSTILE, "rank 7")], [], [], [HOSTILE], [], []],
        "wrong verdict": [False, True, True, False, False, True],
    }
    ready = [("wrong verdict", "bm25", None), ("where full loses", "full", "bm25")]
    return item_page(
        items,
        pd.DataFrame(rows),
        noun="claim",
        ready=[*ready, ("none", None, None)],
        shown=ALL_TEXTS,
        documents={"d1": HOSTILE, HOSTILE: "Its opening."},
    )


def questions():
    """Give a page of forty questions and three systems."""
    scores = {"Full pipeline": lambda k: k / 40, "BM25, stemmed": lambda k: 0.5}
    scores["Dense & co"] = lambda k: 1 - k / 40
    rows = [
        {"id": f"n{k}", "system": name, "nDCG@10": score(k), "RR": 1.0}
        for name, score in scores.items()
        for k in range(40)
    ]
    items = pd.DataFrame({"id": [f"n{k}" for k in range(40)], "text": "Text"})
    return item_page(items, pd.DataFrame(rows), shown=ALL_TEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder with the page and the data of two chapters."""
    folder = tmp_path_factory.mktemp("viewer")
    for name in ("tables.js", "items.js", "custom.css", "items.css"):
        shutil.copy(ROOT / "book" / "assets" / name, folder)
    (folder / "items.html").write_text(PAGE)
    (folder / "items").mkdir()
    for name, content in (("claims", claims()), ("questions", questions())):
        script = items_script(content | {"about": ABOUT})
        (folder / "items" / f"{name}.js").write_text(script)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    return f"{(folder / 'items.html').as_uri()}#of=claims"


def shows(viewer, place, text):
    """Wait for a text: the page reads its address after the event that changed it."""
    from playwright.sync_api import expect

    expect(viewer.locator(place)).to_have_text(text)


def listed(viewer):
    """Give the ids of the items that are chosen, in their order."""
    labels = viewer.locator("#items-claim, #items-question").locator("option").all_inner_texts()
    return [label.split(":")[0] for label in labels]


def test_fields_and_cells_are_those_of_the_data(viewer, address):
    viewer.goto(address)
    shows(viewer, "h3", "Claim q1")
    assert viewer.locator(".facts dd").first.inner_text() == "SUPPORTED"
    change = viewer.locator(".facts dd").nth(1)
    assert change.text_content() == "pays removed: 400 added: 500 a claim"
    shows(viewer, ".compared", "right: full 0.500, bm25 0.250 (+0.250)")
    lines = viewer.locator("table").first.locator("tbody tr").all()
    rows = {line.locator("th").text_content(): line.locator("td") for line in lines}
    assert viewer.locator(".facts dd").last.text_content() == f"{HOSTILE}; constructor; hops: 1"
    assert list(rows) == ["Right", "Words", "Verdict", "Found"]
    assert rows["Words"].all_text_contents() == ["3", "3"]
    assert rows["Verdict"].all_text_contents() == [HOSTILE, "yes"]
    known, other = rows["Found"].first.locator("li").all()
    assert known.text_content() == f"✓ marked: d1{HOSTILE}"
    assert other.locator("p").all_text_contents() == ["rank 7", "Its opening."]


def test_hostile_texts_stay_texts(viewer, address):
    for name in ("q1", "q%262+%23", "q3"):
        viewer.goto(f"{address}&q={name}")
        viewer.wait_for_timeout(100)
    hostile = "%3Cimg%20src%3Dx%20onerror%3Dwindow.ran%3D3%3E"
    viewer.goto(f"{address}&q={hostile}&only={hostile}&find={hostile}&order={hostile}")
    viewer.wait_for_timeout(100)
    assert viewer.evaluate("window.ran") is None
    assert viewer.locator("img").count() == 0


def test_an_unknown_name_is_no_other_choice(viewer, address):
    problems = {
        "system=nobody": "This page has no system called “nobody”.",
        "against=Full": "This page has no system called “Full”.",
        "change=sideways": "This page has no change called “sideways”.",
        "order=upwards": "This page has no order called “upwards”.",
        "measure=nDCG": "This page has no measure called “nDCG”.",
        "only=hops%3A+9": "No claim has the tag “hops: 9”.",
        "without=toString": "No claim has the tag “toString”.",
    }
    said = {}
    for choice in problems:
        viewer.goto(f"{address}&{choice}")
        viewer.reload()
        shows(viewer, "output", "0 of 3 claims")
        said[choice] = viewer.locator(".problem").inner_text()
        assert viewer.locator("h3").count() == 0 and listed(viewer) == []
    assert said == problems


def test_only_items_that_the_page_lists_are_loaded(viewer, address, folder):
    page = address.partition("#")[0]
    (folder / "items" / "other.js").write_text("window.ran = 3;")
    for name, said in (("", "Choose a chapter below."), ("other", "no items of “other”")):
        viewer.goto(f"{page}?{name}#of={name}")
        assert said in viewer.locator(".items").inner_text()
    assert viewer.evaluate("window.ran") is None
    viewer.get_by_role("link", name="Questions").click()
    shows(viewer, "output", "40 of 40 questions")


def test_a_pair_is_chosen_by_keyboard_and_survives_a_reload(viewer, address):
    from playwright.sync_api import expect

    many = address.replace("claims", "questions")
    viewer.goto(many)
    viewer.get_by_label("against", exact=True).focus()
    viewer.keyboard.press("ArrowDown")  # from "BM25, stemmed"
    expect(viewer.get_by_label("against", exact=True)).to_have_value("Dense & co")
    for key in ("Tab", "Tab", "ArrowDown", "ArrowDown", "ArrowDown"):
        viewer.keyboard.press(key)
    expect(viewer.get_by_label("is", exact=True)).to_have_value("worse")
    shows(viewer, "output", "20 of 40 questions")
    address = viewer.url
    assert "system=Full+pipeline&against=Dense+%26+co&change=worse" in address
    assert listed(viewer)[:3] == ["n0", "n1", "n2"]  # the largest losses first
    shows(viewer, ".compared", "nDCG@10: Full pipeline 0.000, Dense & co 1.000 (−1.000)")
    viewer.reload()
    shows(viewer, "output", "20 of 40 questions")
    assert viewer.url == address and listed(viewer)[0] == "n0"
    viewer.goto(f"{many}&q=n39&change=worse&against=Dense+%26+co")
    shows(viewer, ".problem", "Question n39 is not among those chosen above.")
    shows(viewer, "h3", "Question n39")


def test_a_table_that_is_downloaded_holds_no_formula(viewer, tmp_path):
    import csv

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
