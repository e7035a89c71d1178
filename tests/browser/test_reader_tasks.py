"""What a reader comes for is one click from the front page, and near the top of its page."""

import pytest

WORDS_BEFORE = """(phrase) => {
  const article = document.querySelector("article.bd-article");
  const hidden = "script, style, svg, details:not([open]) > :not(summary)";
  const texts = [];
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.closest(hidden)) texts.push(node.textContent);
  }
  const text = texts.join(" ").replace(/\\s+/g, " ");
  const place = text.search(new RegExp(phrase));
  return place < 0 ? null : text.slice(0, place).split(" ").filter((word) => /\\w/.test(word)).length;
}"""
CHAPTER = "run/notebooks/{}-smoke.html"
TASKS = {
    "does the reranker help?": (CHAPTER.format("retrieval_ablation"), "its reranker"),
    "how good is it on this data set?": (CHAPTER.format("retrieval_ablation"), r"first for \d+ %"),
    "which facts matter?": (CHAPTER.format("counterfactual_sensitivity"), "Do edits of case facts"),
    "would other raters agree?": (CHAPTER.format("rater_agreement"), "Would other raters"),
    "can I trust it on my claims?": (
        CHAPTER.format("factcheck_confusion"),
        "[Oo]ther people.s claims",
    ),
    "what is wrong with COUNTERCASE's faithfulness?": (
        CHAPTER.format("explanation_quality"),
        "COUNTERCASE.s faithfulness",
    ),
    "is .83 good?": ("words.html", "neither good nor bad"),
    "can I run mine?": ("tutorial.html", "collection of your own"),
    "show a question that the reranker spoils": (
        "generated/items/retrieval_ablation-smoke.html",
        "where the reranker makes it worse",
    ),
}


@pytest.mark.parametrize("task", TASKS)
def test_an_answer_is_one_click_and_150_words_away(tab, site, task):
    place, phrase = TASKS[task]
    tab.page.goto((site / "index.html").as_uri())
    links = tab.page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
    address = (site / place).as_uri()
    assert address in {link.partition("#")[0] for link in links}
    tab.page.goto(address)
    words = tab.page.evaluate(WORDS_BEFORE, phrase)
    assert words is not None and words <= 150


def test_how_to_cite_is_one_click_from_the_title(tab, site):
    tab.page.goto((site / "index.html").as_uri())
    tab.page.click("text=Cite >> nth=0")
    assert tab.page.locator("details.cite pre").is_visible()
    assert "@software" in tab.page.locator("details.cite pre").inner_text()
