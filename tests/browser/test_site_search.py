"""Words: the search finds the page that a reader would want, and chapters lead to the list."""

import re

from casebook.book import words

# What a reader types, and the pages that answer it; one of them is among the first three.
WANTED = {
    "own data": "tutorial",
    "use my own data": "tutorial",
    "upload data": "tutorial",
    "cite": "index",
    "How do I cite this?": "index",
    "licence": "data_cards",
    "license": "data_cards",
    "latency": "run/notebooks/retrieval_ablation.*",
    "cost": "run/notebooks/retrieval_ablation.*",
    "hallucination": "methods/assistant|methods/factcheck|methods/explanation_quality",
    "hallucinations": "methods/assistant|methods/factcheck|methods/explanation_quality",
    "confidence interval": "methods/inference|words",
    "confidence intervals": "methods/inference|words",
    "p-value": "methods/inference|words",
    "significance": "methods/inference|words",
    "sample size": "methods/inference|methods/rater_agreement",
    "how many questions do I need": "methods/inference",
    "baseline": "methods/inference|methods/retrieval_ablation|words",
    "accuracy": "methods/factcheck|methods/assistant|words",
    "GDPR": "data_cards",
    "privacy": "data_cards",
    "insurance": "data_cards|run/notebooks/.*insurance",
    "contracts": "data_cards",
    "reproduce": "provenance",
    "reproducibility": "provenance",
    "download": "provenance|data_cards",
    "error": "methods/inference",
    "mistakes": "generated/items",
    "bias": "methods/(preference|rater_agreement|counterfactual_sensitivity)",
    "annotation": "methods/(rater_agreement|agreement)",
    "Likert": "methods/rater_agreement|words",
    "inter-rater agreement": "methods/rater_agreement",
    "inter rater agreement": "methods/rater_agreement",
    "kappa": "methods/rater_agreement|words",
    "reranker": "methods/retrieval_ablation|words",
    "BM25": "methods/retrieval_ablation|words",
    "embedding": "methods/embedding_shift|words",
    "RAG": "assistant_tutorial|methods/assistant",
    "chatbot": "assistant_tutorial",
    "precision": "words|methods/factcheck",
    "recall": "words|methods/factcheck",
    "LLM judge": "methods/factcheck|methods/assistant",
    "install": "own_book",
    "compare": "tutorial",
    "calibration": "methods/factcheck",
    "impossible results": "methods/inference",
    "undecided": "words",
    "margin": "words",
    "placebo": "words|methods/counterfactual_sensitivity",
}
RESULTS = """async (text) => {
  Search.output.replaceChildren();
  document.querySelector(".search-help")?.remove();
  Search.status.innerText = "";
  Search.query(text);
  while (!Search.status.innerText) await new Promise((done) => setTimeout(done, 5));
  return [...Search.output.querySelectorAll("li > a")].map((link) => link.getAttribute("href"));
}"""


def _open(site, tab, text):
    tab.page.goto(f"{(site / 'search.html').as_uri()}?q={text}")
    tab.wait("document.querySelector('.search-summary')?.innerText")


def test_task_words_find_their_page_among_the_first_three(site, tab):
    _open(site, tab, "cite")
    lost = {}
    for text, pages in WANTED.items():
        first = [
            address.partition("#")[0].removesuffix(".html")
            for address in tab.page.evaluate(RESULTS, text)[:3]
        ]
        if not any(re.fullmatch(pages, page) for page in first):
            lost[text] = first
    assert lost == {}


def test_a_word_of_the_list_leads_to_its_place(site, tab):
    _open(site, tab, "cite")
    assert "words.html#held-out" in tab.page.evaluate(RESULTS, "held-out")[:3]


def test_a_search_without_results_offers_its_words(site, tab):
    _open(site, tab, "zebra+latency")
    line = tab.page.locator(".search-help")
    assert line.inner_text().startswith("No page has all of these words.")
    assert line.locator("a").all_inner_texts() == ["zebra", "latency"]
    line.get_by_role("link", name="latency").click()
    tab.page.wait_for_selector("#search-results li")
    assert tab.page.locator(".search-help").count() == 0


SENTENCES = {
    words.anchor(word): word["means"]
    for group in words.word_groups()
    for word in group["words"]
    if not word.get("quiet")
}
# Of each link: section, place on the page of words, sentence, and what it must not stand in.
LINKS = """[...document.querySelectorAll("article a.word")].map((link) => ({
  section: link.closest("section").id,
  place: new URL(link.href).hash.slice(1),
  sentence: link.title,
  wrong: Boolean(link.parentElement.closest("a, button, h1, h2, h3, code, pre, td, svg")),
}))"""


def test_the_first_mention_in_a_section_leads_to_the_list(tab, site):
    tab.open((site / "run" / "notebooks" / "retrieval_ablation-smoke.html").as_uri())
    links = tab.page.evaluate(LINKS)
    assert {"ndcg", "interval"} <= {link["place"] for link in links}
    assert [link for link in links if link["sentence"] != SENTENCES[link["place"]]] == []
    assert not any(link["wrong"] for link in links)
    pairs = [(link["section"], link["place"]) for link in links]
    assert len(pairs) == len({*pairs}) and len(pairs) > len({place for _, place in pairs})
    assert tab.problems == []
