"""What a reader comes for is one click from the front page, and near the top of its page."""

import pandas as pd

from casebook.paths import run_dir

# Words before a phrase, which a script of the page may still be writing.
WORDS_BEFORE = """async (phrase) => {
  const article = document.querySelector("article.bd-article");
  const hidden = "script, style, svg, option, details:not([open]) > :not(summary)";
  const start = document.getElementById(location.hash.slice(1)) ?? article;
  for (let tries = 0; tries < 40; tries++) {
    const texts = [];
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const isBefore = start.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING;
      if (!isBefore && !node.parentElement.closest(hidden)) texts.push(node.textContent);
    }
    const text = texts.join(" ").replace(/\\s+/g, " ");
    const place = text.search(new RegExp(phrase));
    if (place >= 0) return text.slice(0, place).split(" ").filter((word) => /\\w/.test(word)).length;
    await new Promise((done) => setTimeout(done, 50));
  }
  return null;
}"""
CHAPTER = "run/notebooks/{}-smoke.html"
TASKS = {
    "does the reranker help?": (CHAPTER.format("retrieval_ablation"), "systems without a reranker"),
    "is the documented combination as good?": (
        CHAPTER.format("retrieval_ablation"),
        "combination that COUNTERCASE documents",
    ),
    "how good is it on this data set?": (CHAPTER.format("retrieval_ablation"), r"first for \d+ %"),
    "which facts matter?": (CHAPTER.format("counterfactual_sensitivity"), "Do edits of case facts"),
    "would other raters agree?": (CHAPTER.format("rater_agreement"), "Would other raters"),
    "can I trust it on my claims?": (
        CHAPTER.format("factcheck_transfer"),
        "given the evidence, is .* right more often",
    ),
    "what is wrong with COUNTERCASE's faithfulness?": (
        CHAPTER.format("explanation_quality"),
        "COUNTERCASE.s faithfulness",
    ),
    "is .83 good?": ("words.html", "neither good nor bad"),
    "which of two assistants is better?": (CHAPTER.format("assistant"), "above No retrieval"),
    "would the check see a dropped not?": (
        CHAPTER.format("explanation_quality"),
        r"turned negation.*The score drops for \d+ %",
    ),
    "is dense better than BM25 here?": (
        "index.html",
        r"Does dense score higher in nDCG@10 than bm25\?.*Smoke helps",
    ),
    "what is behind the first number?": (
        CHAPTER.format("retrieval_ablation"),
        r"paired sign-flip tests.*max-T.*34 questions in 27 groups",
    ),
    "which published figures cannot be true?": (
        CHAPTER.format("audits"),
        "without decomposition, without query diversity",
    ),
    "what may be used commercially?": ("data_cards.html", "Non-commercial use only"),
    "what does the reranker cost?": ("generated/leaderboard.html", r"Full pipeline [.\d]+ \[.* ms"),
    "how many items and raters?": (CHAPTER.format("power"), "Smallest study that finds"),
    "how do I train a shift?": ("methods/embedding_shift.html", "casebook shift train"),
    "which contradictions are missed?": (
        CHAPTER.format("factcheck_confusion"),
        r"\d+ of \d+ claims that the evidence contradicts are called supported",
    ),
    "what is nDCG?": ("words.html#measures", "nDCG@k Sum of gain"),
    "how is the first number repeated?": (
        "provenance.html",
        r"retrieval_ablation-smoke.* [0-9a-f]{12} .*casebook run retrieval_ablation-smoke",
    ),
    "can I run mine?": ("tutorial.html", "collection of your own"),
    "show a question that the reranker spoils": (
        "generated/items.html#of=retrieval_ablation-smoke",
        r"nDCG@10: Full pipeline [.\d]+, First stage alone [.\d]+ \(−",
    ),
}


def test_answers_are_one_click_and_150_words_away(tab, site):
    """One page answers several questions, and is opened once."""
    answers = {}
    for task, (place, phrase) in TASKS.items():
        answers.setdefault(place, []).append((task, phrase))
    lost = {}
    for place, phrases in answers.items():
        tab.open((site / "index.html").as_uri())
        if place != "index.html":
            tab.page.locator(f"a[href^='{place}']").locator("visible=true").first.click()
        tab.page.wait_for_url(f"{site.as_uri()}/{place}*")
        tab.page.wait_for_load_state()
        for task, phrase in phrases:
            words = tab.page.evaluate(WORDS_BEFORE, phrase)
            if words is None or words > 150:
                lost[task] = words
    assert lost == {}


def test_the_question_that_the_reranker_spoils_most_is_open(tab, site):
    scores = pd.read_csv(run_dir("smoke") / "rows" / "retrieval_ablation-smoke.csv.gz")
    scores = scores.pivot_table(index="query_id", columns="system", values="nDCG@10")
    differences = (scores["full"] - scores["fused"]).round(9)
    tab.open((site / "index.html").as_uri())
    link = tab.page.locator("a.worse").first
    n_worse = (differences < 0).sum()
    assert f"{n_worse} of {len(scores)} worse" in link.inner_text()
    link.click()
    question = tab.page.locator(".items h3").inner_text().removeprefix("Question ")
    assert differences[question] == differences.min() < 0
    assert tab.page.locator("output").inner_text().startswith(f"{n_worse} of ")


def test_missed_contradictions_are_listed(tab, site):
    tab.open((site / CHAPTER.format("factcheck_confusion")).as_uri())
    link = tab.page.locator("text=claims that the evidence contradicts").first
    n_missed, _, rest = link.inner_text().partition(" of ")
    link.click()
    tab.page.wait_for_url("**/items.html#*")
    assert tab.page.locator("output").inner_text().startswith(f"{n_missed} of ")
    assert rest.startswith("44 claims")
