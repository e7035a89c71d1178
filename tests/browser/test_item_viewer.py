"""The viewer of single items in Chromium: links, keyboard, choices, hostile text."""

import json
import re
import shutil

import pytest

from casebook.book.item_parts import (
    cell,
    change,
    facts,
    item,
    page,
    ranked_lists,
    rankings,
    score_table,
    table,
)
from casebook.book.item_script import as_script
from casebook.paths import ROOT

SYSTEMS = ["full", "bm25"]
HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
PAGE = """<!DOCTYPE html><html lang="en"><head>
<title>Claims</title><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="custom.css"><link rel="stylesheet" href="items.css">
<script defer src="tables.js"></script></head>
<body class="bd-article"><main><h1>Claims</h1><div class="items"></div>
<script defer src="data.js"></script><script defer src="items.js"></script>
</main></body></html>"""


SCORES = {"q1": (0.5, 0.25), "q&2 #": (0.0, 0.75), "q3": (0.5, None)}


def claim(name, text, rank, tag, *, wrong=()):
    """Give an item with every kind of part and of cell, and the systems that are wrong on it."""
    parts = [
        [["Gold label", "SUPPORTED"], [HOSTILE, cell(HOSTILE, None, HOSTILE)]],
        ["=pays", "-400", f"+{HOSTILE}", "=a claim"],
        [["full", "0.500", None], [cell(0, "relevant", "rank 1"), cell(HOSTILE, "wrong"), 1]],
    ]
    return item(
        name,
        text,
        parts,
        tags=[tag, HOSTILE],
        by_system=[["wrong verdict"] if system in wrong else [] for system in SYSTEMS],
        scores=[[score, 1.0] for score in SCORES[name]],
        keys=[rank],
    )


def question(name, scores, lists):
    """Give a question of three systems: the scores and the first documents of each."""
    return item(name, f"Text of {name}", [ranked_lists([0], lists)], scores=[[s] for s in scores])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder with two pages, of three claims and of forty questions."""
    folder = tmp_path_factory.mktemp("viewer")
    for name in ("tables.js", "items.js", "custom.css", "items.css"):
        shutil.copy(ROOT / "book" / "assets" / name, folder)
    documents = [["d1", HOSTILE], [HOSTILE, None]]
    layout = [
        facts(),
        change("The text before and after"),
        table(HOSTILE, ["System", "Verdict", HOSTILE], missing="undefined", cards=True),
    ]
    items = [
        claim("q1", "Is water covered?", 2, "hops: 1"),
        claim("q&2 #", HOSTILE, 1, "hops: 2", wrong=["full"]),
        claim("q3", None, 0, "hops: 1", wrong=SYSTEMS),
    ]
    items[2]["parts"] = [None, None, None]
    claims = page(
        "cell",
        "claim",
        documents,
        layout,
        items,
        systems=SYSTEMS,
        tested=[0, 1],
        pair=[0, 1],
        measures=[("right verdict", 3), ("stated", 1)],
        orders=["worst"],
        wrong=("wrong verdict", "only where {system} is wrong"),
        questions=[
            ("claims that bm25 has wrong", {"system": "bm25", "only": "wrong verdict"}),
            ("claims of nobody", {"only": "none"}),
        ],
    )
    layout = [rankings("Ranks", "First 10", 10), score_table("Scores")]
    questions = [
        question(f"n{k}", [k / 40, 0.5, 1 - k / 40], [[0], [1, 0], [1]]) for k in range(40)
    ]
    compared = page(
        "many",
        "question",
        documents,
        layout,
        questions,
        systems=["Full pipeline", "BM25, stemmed", "Dense & co"],
        tested=[0, 1],
        pair=[0, 1],
        measures=[("nDCG@10", 3)],
    )
    for name, content in (("claims", claims), ("questions", compared)):
        (folder / f"{name}.js").write_text(as_script(content))
        (folder / f"{name}.html").write_text(PAGE.replace("data.js", f"{name}.js"))
    return folder


@pytest.fixture(scope="module")
def address(folder):
    return (folder / "claims.html").as_uri()


@pytest.fixture(scope="module")
def questions(folder):
    return (folder / "questions.html").as_uri()


def shows(viewer, place, text):
    """Wait for a text: the page reads its address after the event that changed it."""
    from playwright.sync_api import expect

    expect(viewer.locator(place)).to_have_text(text)


def listed(viewer):
    """Give the ids of the items that are chosen, in their order."""
    labels = viewer.locator("#items-claim, #items-question").locator("option").all_inner_texts()
    return [label.split(":")[0] for label in labels]


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
    shows(viewer, ".problem", "Claim none is not on this page.")


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
    shows(viewer, "h2", "Claim q3")
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
    viewer.get_by_label("only where full is wrong").check()
    viewer.get_by_label("Order", exact=True).select_option("worst")
    assert listed(viewer) == ["q3", "q&2 #"]
    viewer.reload()
    assert viewer.get_by_label("only where full is wrong").is_checked()
    shows(viewer, "output", "2 of 3 claims")
    viewer.goto(f"{address}#only=hops%3A+1&wrong=1")
    shows(viewer, "output", "1 of 3 claims")
    shows(viewer, "h2", "Claim q3")
    viewer.goto(f"{address}#wrong=1&find=water")
    shows(viewer, "output", "0 of 3 claims")
    shows(viewer, ".problem", "No claim is like this.")


def test_tags_of_a_system_follow_the_system(viewer, address):
    tag = "wrong+verdict"
    for system, expected in (("full", ["q&2 #", "q3"]), ("bm25", ["q3"])):
        viewer.goto(f"{address}#system={system}&only={tag}")
        shows(viewer, "output", f"{len(expected)} of 3 claims")
        assert listed(viewer) == expected
    viewer.goto(f"{address}#only={tag}%2C+other+not&system=full&against=bm25")
    shows(viewer, "output", "1 of 3 claims")
    assert listed(viewer) == ["q&2 #"]
    ready = viewer.locator(".ready li")
    assert ready.all_inner_texts() == ["claims that bm25 has wrong (1)", "claims of nobody (0)"]
    ready.get_by_role("link").click()
    shows(viewer, "h2", "Claim q3")
    assert viewer.get_by_label("System", exact=True).input_value() == "bm25"


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ("system=nobody", "This page has no system called “nobody”."),
        ("against=Full", "This page has no system called “Full”."),
        ("change=sideways", "This page has no change called “sideways”."),
        ("order=upwards", "This page has no order called “upwards”."),
        ("measure=nDCG", "This page has no measure called “nDCG”."),
        ("only=hops%3A+9", "No claim has the tag “hops: 9”."),
    ],
)
def test_an_unknown_name_is_no_other_choice(viewer, address, choice, problem):
    viewer.goto(f"{address}#{choice}")
    shows(viewer, ".problem", problem)
    shows(viewer, "output", "0 of 3 claims")
    assert viewer.locator("h2").count() == 0 and listed(viewer) == []
    assert viewer.evaluate("location.hash") == f"#{choice}"


def test_a_question_between_unknown_systems_is_not_shown(viewer, questions):
    viewer.goto(f"{questions}#q=n1&against=nobody")
    shows(viewer, ".problem", "This page has no system called “nobody”.")
    assert viewer.locator("h2").count() == 0
    viewer.get_by_label("against", exact=True).select_option("Dense & co")
    shows(viewer, "h2", "Question n0")
    viewer.goto(f"{questions}#q=n39&change=worse")
    shows(viewer, ".problem", "Question n39 is not among those chosen above.")
    shows(viewer, "h2", "Question n39")


def test_a_pair_is_chosen_by_keyboard_and_survives_a_reload(viewer, questions):
    from playwright.sync_api import expect

    viewer.goto(questions)
    viewer.get_by_label("against", exact=True).focus()
    viewer.keyboard.press("ArrowDown")  # from "BM25, stemmed"
    expect(viewer.get_by_label("against", exact=True)).to_have_value("Dense & co")
    viewer.keyboard.press("Tab")
    for _ in range(3):
        viewer.keyboard.press("ArrowDown")
    expect(viewer.get_by_label("change", exact=True)).to_have_value("worse")
    shows(viewer, "output", "20 of 40 questions")
    address = viewer.url
    assert "system=Full+pipeline&against=Dense+%26+co&change=worse" in address
    counts = viewer.get_by_label("change", exact=True).locator("option").all_inner_texts()
    assert counts == ["all (40)", "better (19)", "equal (1)", "worse (20)"]
    assert listed(viewer)[:3] == ["n0", "n1", "n2"]  # the largest losses first
    shows(viewer, ".compared", "nDCG@10: Full pipeline 0.000, Dense & co 1.000 (−1.000)")
    heads = viewer.locator("table").first.locator("thead th").all_inner_texts()
    assert heads == ["Document", "Full pipeline", "Dense & co"]
    viewer.reload()
    shows(viewer, "output", "20 of 40 questions")
    assert viewer.url == address and listed(viewer)[0] == "n0"
    viewer.get_by_label("Order", exact=True).select_option("better first")
    assert listed(viewer)[0] == "n19"


def test_the_difference_is_that_of_the_scores_to_the_last_digit(viewer, folder):
    scores = [[0.630929, 0.630930], [0.5, 0.5], [None, 0.5]]
    items = [item(str(k), None, [None], scores=[[a], [b]]) for k, (a, b) in enumerate(scores)]
    choice = {"systems": SYSTEMS, "pair": [0, 1], "measures": [("nDCG@10", 3)]}
    content = page("near", "question", [], [score_table("Scores")], items, **choice)
    (folder / "near.js").write_text(as_script(content))
    (folder / "near.html").write_text(PAGE.replace("data.js", "near.js"))
    viewer.goto((folder / "near.html").as_uri())
    counts = viewer.get_by_label("change", exact=True).locator("option").all_inner_texts()
    assert counts == ["all (3)", "better (0)", "equal (1)", "worse (1)"]


def test_a_copied_link_opens_the_same_view(viewer, questions):
    viewer.goto(f"{questions}#system=Dense+%26+co&against=Full+pipeline&change=better")
    viewer.get_by_role("button", name="Next").click()
    shows(viewer, "h2", "Question n1")
    # Without a clipboard for pages, as in a browser that does not trust pages from disk.
    viewer.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    viewer.get_by_role("button", name="Copy link").click()
    shows(viewer, "output", "Link copied")
    field = "(() => { const f = document.querySelector('textarea'); return f && f.value; })()"
    assert viewer.evaluate(field) is None  # the field is gone
    viewer.context.grant_permissions(["clipboard-read", "clipboard-write"])
    viewer.reload()
    viewer.get_by_role("button", name="Copy link").click()
    shows(viewer, "output", "Link copied")
    link = viewer.evaluate("navigator.clipboard.readText()")
    assert link == viewer.url and "q=n1" in link
    viewer.goto("about:blank")
    viewer.goto(link)
    shows(viewer, "h2", "Question n1")
    shows(viewer, "output", "20 of 40 questions")


def test_the_download_names_columns_and_documents(viewer, address):
    viewer.goto(address)
    with viewer.expect_download() as download:
        viewer.get_by_role("button", name="Download JSON").click()
    assert download.value.suggested_filename == "cell.json"
    kept = json.loads(download.value.path().read_text())["items"]
    assert [one["id"] for one in kept] == ["q1", "q&2 #", "q3"]
    assert kept[0]["tags"] == ["hops: 1", HOSTILE]
    assert kept[1]["scores"]["bm25"] == {"right verdict": 0.75, "stated": 1.0}
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
