"""Explanations say what the passage shows."""

import pytest
from annotated_texts import read_gold
from sklearn.feature_extraction.text import TfidfVectorizer

from casebook.explain.templates import (
    Explainer,
    TermWeights,
    terms,
)
from casebook.sensitivity import facts
from casebook.sensitivity.cases import read_cases

GOLD = read_gold()
TEXTS = {one.id: one.text for one in GOLD}
SHEET = facts.from_dict(
    {
        "case_id": "c",
        "parties": {"petitioner_type": "State", "respondent_type": "Minor"},
        "sections_cited": ["IPC-302"],
        "evidence_items": [{"evidence_type": "FIR"}],
        "numerical_facts": {"amounts": [{"value": 5000}]},
    }
)


def kinds(explanation):
    return [sentence.kind for sentence in explanation.sentences]


def test_sentences_come_in_order_and_are_two_at_most():
    text = "STATE OF BIHAR v. RAM LAL\nAn FIR was lodged under s. 302 IPC over Rs 5,000."
    explainer = Explainer({"d": text})
    found = explainer.result(SHEET, "d")
    assert kinds(found) == ["sections", "petitioner"]
    assert found.text.startswith("Both cite IPC-302.")
    less = SHEET.model_copy(update={"parties": facts.Parties(), "sections_cited": ()})
    assert kinds(explainer.result(less, "d")) == ["evidence", "numbers"]


def test_every_corrected_sentence_is_borne_out_where_it_points():
    texts = TEXTS | {"titled": "STATE OF BIHAR v. RAM LAL\nThe appeal was heard."}
    texts["long"] = "Nobody knows. " * 200 + "The State was tried under section 302 IPC."
    explainer = Explainer(texts)
    sheets = read_cases()[0]
    seen = set()
    for sheet in sheets:
        for document in [*list(TEXTS)[::4], "titled", "long"]:
            found = explainer.result(sheet, document)
            shown_part = explainer.passage(sheet, document)
            for sentence in found.sentences:
                seen.add(sentence.kind)
                assert sentence.support or sentence.kind == "nothing"
                for one in sentence.support:
                    assert texts[one["document_id"]][one["start"] : one["end"]] == one["quote"]
                    assert (
                        shown_part.start
                        <= one["start"]
                        < one["end"]
                        <= shown_part.start + len(shown_part.text)
                    )
    assert seen >= {"sections", "petitioner", "respondent", "evidence", "terms"}


def test_terms_have_three_letters_and_are_no_function_words():
    assert [term for term, *_ in terms("An act of the Crown is no ox")] == ["act", "crown"]


def test_weights_are_the_smoothed_frequencies_of_another_implementation():
    texts = list(TEXTS.values())[:20]
    oracle = TfidfVectorizer(tokenizer=lambda t: [x for x, _, _ in terms(t)], token_pattern=None)
    oracle.fit(texts)
    ours = TermWeights(texts)
    for term, at in oracle.vocabulary_.items():
        assert ours.weight(term) == pytest.approx(oracle.idf_[at], abs=1e-12)
