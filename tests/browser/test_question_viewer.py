"""The viewer of single questions in Chromium: links, keyboard, hostile text."""

import json
import shutil

import pytest

from casebook.paths import ROOT

HOSTILE = "</script><script>window.ran = 1</script><img src=x onerror='window.ran = 2'>"
PAGE = """<!DOCTYPE html><html lang="en"><head>
<title>Questions</title><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="custom.css"><script defer src="tables.js"></script></head>
<body class="bd-article"><main><h1>Questions</h1><div class="questions"></div>
<script defer src="data.js"></script><script defer src="questions.js"></script>
</main></body></html>"""


def question(name, text, score, top):
    scores = [[score, None], [0.0, 0.25]]
    return {"id": name, "text": text, "relevant": [0], "scores": scores, "top": top}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Give the page with three questions, one of them hostile."""
    folder = tmp_path_factory.mktemp("viewer")
    for name in ("tables.js", "questions.js", "custom.css"):
        shutil.copy(ROOT / "book" / "assets" / name, folder)
    found = {
        "cell": "cell",
        "systems": ["full", HOSTILE],
        "tested": [0, 1],
        "measures": ["nDCG@10", "AP"],
        "depth": 10,
        "documents": [["d1", HOSTILE], [HOSTILE, None]],
        "questions": [
            question("q1", "Is water covered?", 0.5, [[1, 0], [1]]),
            question("q&2 #", HOSTILE, 1.0, [[0, 1], []]),
            question("q3", None, 0.0, [[], [1]]),
        ],
    }
    (folder / "data.js").write_text(f"window.casebookQuestions = {json.dumps(found)};")
    (folder / "page.html").write_text(PAGE)
    return (folder / "page.html").as_uri()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 375, "height": 800})
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    yield page
    assert page.problems == []
    context.close()


def test_a_link_survives_a_reload_and_moves_with_the_keyboard(page, address):
    page.goto(f"{address}#q=q%262+%23")
    assert page.locator("h2").inner_text() == "Question q&2 #"
    page.reload()
    assert page.locator("h2").inner_text() == "Question q&2 #"
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    assert page.locator("h2").inner_text() == "Question q3"
    assert page.url.endswith("#q=q3")
    page.go_back()
    assert page.locator("h2").inner_text() == "Question q&2 #"
    page.goto(f"{address}#q=none")
    assert "Question none is not on this page" in page.inner_text(".questions")


def test_ranks_scores_and_relevance_are_those_of_the_data(page, address):
    page.goto(address)
    assert page.locator("h2").inner_text() == "Question q1"
    scores, relevant, top = page.locator("table").all()
    assert scores.locator("tbody tr").first.inner_text().split() == [
        *("full", "0.500", "–", "undefined"),
    ]
    ranks = relevant.locator("td.number").all_inner_texts()
    assert [text.split()[0] for text in ranks] == ["2", "–"]
    assert top.locator("td.relevant code").all_inner_texts() == ["d1"]
    assert top.locator("tbody tr").nth(1).locator("td.relevant").count() == 1


def test_hostile_texts_stay_texts(page, address):
    for name in ("q1", "q%262+%23", "q3"):
        page.goto(f"{address}#q={name}")
        page.wait_for_timeout(100)
    page.goto(f"{address}#q=%3Cimg%20src%3Dx%20onerror%3Dwindow.ran%3D3%3E")
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 0


def test_questions_are_found_and_ordered(page, address):
    page.goto(address)
    page.get_by_label("Find").fill("water")
    assert page.locator("output").inner_text() == "1 of 3 questions"
    page.get_by_label("Find").fill("")
    page.get_by_label("Order").select_option("full worst")
    labels = page.get_by_label("Question").locator("option").all_inner_texts()
    assert [label.split(":")[0] for label in labels] == ["q3", "q1", "q&2 #"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download JSON").click()
    assert download.value.suggested_filename == "cell.json"


def test_the_viewer_is_accessible_and_no_wider_than_a_phone(page, address):
    from axe_playwright_python.sync_playwright import Axe

    page.goto(address)
    found = Axe().run(page, options={"preload": False}).response["violations"]
    assert [item["id"] for item in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
