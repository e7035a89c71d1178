"""The words of chapters lead to the word list and show their sentence."""

import pytest

from casebook.book import words

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


@pytest.fixture(scope="module")
def chapter(site):
    return next((site / "run" / "notebooks").glob("retrieval_ablation*.html")).as_uri()


def test_the_first_mention_in_a_section_leads_to_the_list(tab, chapter):
    tab.open(chapter)
    links = tab.page.evaluate(LINKS)
    assert {"ndcg", "interval"} <= {link["place"] for link in links}
    assert [link for link in links if link["sentence"] != SENTENCES[link["place"]]] == []
    assert not any(link["wrong"] for link in links)
    pairs = [(link["section"], link["place"]) for link in links]
    assert len(pairs) == len({*pairs}) and len(pairs) > len({place for _, place in pairs})
    assert tab.problems == []
