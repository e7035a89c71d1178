"""Our own collections: sizes, judgements, generators that write what is shipped, rankings."""

import re
import runpy

import numpy as np
import pytest

from casebook import paths
from casebook.data import load
from casebook.data.sets import drift_stages

DRIFT = runpy.run_path(str(paths.DATA / "make" / "drift.py"))
PLANTED = runpy.run_path(str(paths.DATA / "make" / "planted.py"))


def texts(dataset):
    return dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))


def test_planted_is_what_its_generator_writes():
    data = load("planted")
    documents, queries, qrels, truth = PLANTED["plant"]()
    assert data.fingerprint.startswith("8fa5b63bd64c95ea")
    assert data.documents["text"].tolist() == [f"{row.text}" for row in documents.itertuples()]
    assert data.queries["text"].tolist() == queries["text"].tolist() and data.qrels == qrels
    # The weights can be read off the scores.
    matches = truth.documents == truth.queries[0]
    weights = np.linalg.lstsq(matches.astype(float), truth.scores(0))[0]
    np.testing.assert_allclose(weights, np.array([8, 4, 2, 1, 0, 0, 0]) / 15, atol=1e-12)
    assert all(max(grades.values()) == 3 for grades in qrels.values())


@pytest.fixture(scope="module")
def stages():
    return drift_stages(seed=1337)


def test_stages_are_what_their_generator_writes(stages):
    rows = list(DRIFT["records"](seed=1337))
    policies = {row["policy"]: row["text"] for row in rows if "policy" in row}
    questions = [row for row in rows if "question" in row]
    assert texts(stages[1]) == policies
    assert stages[2].queries["text"].tolist() == [row["rewritten"] for row in questions]
    assert stages[0].qrels == {row["question"]: row["relevant"] for row in questions}
    assert [stage.name for stage in stages] == ["stage-00", "stage-01", "stage-02"]
    assert [stage.fingerprint[:12] for stage in stages] == [
        "f973a0eb65f5",
        "f983490bef05",
        "3c9b7856dce2",
    ]


EXCLUSION = re.compile(r"never paid|do not pay|Excluded in|No indemnity")


def grade_by_reading(query, text):
    """Grade from the two texts alone: which facts of the question the policy holds."""
    amount = re.search(r"(?<=EUR )[\d,]+\d|[\d,]+\d(?= euros)", query).group()
    topic, _, perils = next(t for t in DRIFT["TOPICS"].values() if t[0] in query or t[1] in query)
    peril = next(p for p in perils if p[1] in query or p[2] in query)
    condition = next(c for c in DRIFT["CONDITIONS"] if c[1] in query or c[2] in query)
    if not all(fact in text for fact in (topic, peril[0], condition[0])) or EXCLUSION.search(text):
        return 0
    if not re.search(rf"EUR {amount}(?!,?\d)", text):
        return 0
    region = next((name for name in DRIFT["REGIONS"] if f" in {name}" in query), None)
    return 2 if region is None or region in text else 1


def test_judgements_of_the_stages_are_what_the_texts_say(stages):
    for stage in stages[:2]:
        for query, question in zip(stage.queries["query_id"], stage.queries["text"], strict=True):
            grades = {name: grade_by_reading(question, t) for name, t in texts(stage).items()}
            assert {name: grade for name, grade in grades.items() if grade} == stage.qrels[query]
