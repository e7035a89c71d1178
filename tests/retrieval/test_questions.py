"""Single questions: ranks that fit the scores, texts only where they may be shown."""

import json

import numpy as np
import pytest

from casebook.datasets import load
from casebook.measures.ranking import evaluate
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.questions import drill_down
from casebook.runs.outputs import as_json


@pytest.fixture(scope="module")
def study(hashing):
    data = load("smoke")
    index = CorpusIndex(data.documents, hashing)
    return run_ablation(data, ["bm25"], index, reranker=None)


def test_kept_ranks_give_the_scores_that_stand_beside_them(study):
    """The first ten and the relevant ids alone reproduce RR@10 and R@10."""
    found = drill_down(study)
    ids = [doc for doc, _ in found["documents"]]
    assert found["systems"] == ["full", "bm25", "random"]  # dense was not run
    assert len(found["items"]) == found["asked"] == len(study.dataset.queries)
    for place in range(len(found["systems"])):
        qrels = {q["id"]: {ids[d]: 1 for d in q["relevant"]} for q in found["items"]}
        run = {q["id"]: {ids[d]: 1 / (r + 1) for r, d in enumerate(q["top"][place])} for q in found["items"]}
        again = evaluate(qrels, run, ["RR@10", "R@10"]).frame()
        for question in found["items"]:
            kept = dict(zip(found["measures"], question["scores"][place], strict=True))
            for name in ("RR@10", "R@10"):
                expected = again.loc[question["id"], name]
                assert kept[name] == pytest.approx(expected, abs=6e-4)


def test_equal_studies_give_equal_bytes_and_openings_are_short(study):
    text = as_json(drill_down(study))
    assert text == as_json(drill_down(study)) and text.isascii()
    openings = [opening for _, opening in json.loads(text)["documents"] if opening]
    assert 100 < max(map(len, openings)) <= 160
    assert all("\n" not in opening for opening in openings)


def test_a_small_budget_keeps_the_questions_that_differ_most(study):
    found = drill_down(study, most_bytes=9000)
    assert len(as_json(found)) <= 9000
    assert 1 < len(found["items"]) < found["asked"] == 34
    spread = study.scores["nDCG@10"][["full", "bm25"]]
    spread = (spread["full"] - spread["bm25"]).abs()
    kept = [question["id"] for question in found["items"]]
    left = spread.drop(kept)
    assert spread[kept].min() >= left.max()
    order = study.dataset.queries["query_id"]
    assert kept == [query for query in order if query in kept]


def test_what_only_a_control_returned_is_not_opened(study):
    found = drill_down(study)
    tested = {d for q in found["items"] for top in q["top"][:2] for d in top}
    tested |= {d for q in found["items"] for d in q["relevant"]}
    opened = {place for place, (_, text) in enumerate(found["documents"]) if text}
    assert opened == tested


def test_without_permission_ids_remain(study, monkeypatch):
    monkeypatch.setattr("casebook.retrieval.questions.may_show", lambda _: frozenset())
    found = drill_down(study)
    assert {text for _, text in found["documents"]} == {None}
    assert {question["text"] for question in found["items"]} == {None}
    assert found["texts"] == []


def test_an_undefined_score_is_none(study):
    study.scores["AP"].loc["sq01", "bm25"] = np.nan
    found = drill_down(study)
    place = found["measures"].index("AP")
    assert found["items"][0]["scores"][1][place] is None
    as_json(found)
