"""Our own collections: sizes, judgements, generators that write what is shipped, rankings."""

import runpy

import numpy as np

from casebook import paths
from casebook.data import load

PLANTED = runpy.run_path(str(paths.DATA / "make" / "planted.py"))


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
