"""Features and judges of stance."""

import os
import subprocess
import sys

import numpy as np
import pytest
from casebook.factcheck.model import NEUTRAL, REFUTES, STANCES, SUPPORTS
from casebook.factcheck.similarity import MaxSimilarity
from casebook.factcheck.stance_features import NAMES, features, nearest_clause
from casebook.factcheck.stance_models import EntailmentStance, ModelStance
from casebook.factcheck.stance_pairs import training_pairs
from casebook.factcheck.words import numbers, sentences
from sklearn.linear_model import LogisticRegression

from casebook.errors import InputError
from casebook.factcheck.pipeline import Passage
from casebook.factcheck.stance import FeatureStance, PlaceholderStance
from casebook.models.tokens import TokenVectors


def described(claim, passage, header=""):
    return dict(zip(NAMES, features(claim, passage, header), strict=True))


def test_numbers_found_in_conflict_and_absent():
    claim = "The excess is EUR 250 for 30 days."
    same = described(claim, "An excess of EUR 250 applies for 30 days.")
    assert (same["numbers found"], same["numbers in conflict"]) == (1, 0)
    other = described(claim, "The excess is EUR 300 for 30 days.")
    assert (other["numbers found"], other["numbers in conflict"]) == (0.5, 0.5)
    assert described(claim, "The excess applies.")["numbers absent"] == 1


def test_numbers_with_units():
    found = [(n.value, n.unit) for n in numbers("two years, 2.5 per cent, GBP 1,500")]
    assert found == [(2, "year"), (2.5, "cent"), (1500, "gbp")]
    assert [n.value for n in numbers("on 1.2.2020 at 10%")] == [10]


def test_polarity_is_read_in_the_nearest_clause():
    passage = "Money is covered, tools are not covered."
    assert nearest_clause(passage, {"tool"}) == "tools are not covered."
    assert described("Tools are covered.", passage)["polarity differs"] == 1
    assert described("Money is covered.", passage)["polarity differs"] == 0
    assert described("Tools are excluded.", passage)["polarity differs"] == 0


def test_names_are_looked_for_in_the_header():
    claim = "Under Vale Direct, hail is covered."
    assert described(claim, "Hail is covered.", "Vale Direct")["source"] == 1
    assert described(claim, "Hail is covered.", "Crest Mutual")["source"] == 0


def test_sentences_are_spans_of_the_text():
    text = "Cl. 4 applies at 8 a.m. on Mondays.\n\nIt costs 2.5 euros. Done."
    pieces = [text[a:b] for a, b in sentences(text)]
    assert pieces[-1] == "Done."
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert sentences("  ") == ()


def test_the_fitted_model_is_scikit_learns(base, claims):
    train = [claim for claim in claims if claim.split == "train"][:40]
    pairs = training_pairs(train, base)
    model = FeatureStance(base.rarity).fit(pairs)
    X = np.vstack([model.describe(p.claim, [p.passage]) for p in pairs])
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    peer.fit(Z, [p.stance for p in pairs])
    expected = peer.predict_proba(Z)[:, [list(peer.classes_).index(s) for s in STANCES]]
    assert np.allclose(model.probabilities(X), expected, atol=1e-8)
    weights = model.coefficients()
    assert weights[SUPPORTS]["numbers in conflict"] < 0
    assert weights[REFUTES]["numbers in conflict"] > 0


def test_an_unfitted_or_one_sided_model_is_refused(base):
    with pytest.raises(InputError, match="not fitted"):
        FeatureStance().coefficients()
    with pytest.raises(InputError, match="no training pair"):
        FeatureStance().fit([])


def passage(text):
    return Passage(0, 0, len(text), text, "Vale Direct")


def test_the_placeholder_reads_nothing():
    judged = PlaceholderStance().judge("x", [passage("y" * 50), passage("y" * 51)])
    assert [stance for stance, _ in judged] == [NEUTRAL, SUPPORTS]


class Entailment:
    def probabilities(self, premises, hypotheses):
        assert premises[0].startswith("Vale Direct. ")
        return np.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]])


def test_entailment_classes_become_stances():
    judged = EntailmentStance(Entailment()).judge("c", [passage("a"), passage("b")])
    assert judged == [(SUPPORTS, pytest.approx(8 / 9)), (NEUTRAL, None)]
    assert EntailmentStance(Entailment()).judge("c", []) == []


class Model:
    def __init__(self, stance):
        self.stance = stance

    def complete_json(self, prompt, schema):
        return {"stance": self.stance}


def test_a_language_model_judges_or_says_nothing():
    assert ModelStance(Model("refutes")).judge("c", [passage("a")]) == [(REFUTES, 0.0)]
    with pytest.raises(InputError, match="no stance"):
        ModelStance(Model("perhaps")).judge("c", [passage("a")])


class Encoder:
    """Token vectors along the axes, so that MaxSim can be counted by hand."""

    axes = "abcd"

    def token_vectors(self, texts, role="document"):
        letters = [[self.axes.index(c) for c in text] for text in texts]
        flat = np.array([n for row in letters for n in row], dtype=np.int64)
        lengths = np.array([len(row) for row in letters])
        return TokenVectors(np.eye(4)[flat].astype(np.float16), flat, lengths)


def test_maxsim_by_hand():
    similar = MaxSimilarity(Encoder()).similarities("ab", ["abc", "bd", "cd", ""])
    assert similar == [1.0, 0.5, 0.0, 0.0]


def test_features_do_not_depend_on_the_order_of_sets():
    """Strings hash differently in every process: a sum over a set may not show it."""
    code = """
from casebook.factcheck.stance_features import features
from casebook.factcheck.words import content
claim = " ".join("w" + chr(97 + k % 26) + chr(99 + k // 26) for k in range(60))
rarity = {w: (k * 0.7310585) % 1 for k, w in enumerate(sorted(content(claim)))}
print(features(claim, claim[:90], rarity=rarity)[0])
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(found) == 1
