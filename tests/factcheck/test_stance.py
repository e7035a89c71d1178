"""What judges of stance read, and what they say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from casebook.errors import InputError
from casebook.factcheck.pipeline import EvidencePassage
from casebook.factcheck.stance import (
    PASSAGE_FEATURES,
    SIGNS,
    PlaceholderStance,
    PublicJudge,
    exchanged,
    fitted_stance,
    joint_features,
    passage_features,
    training_pairs,
)
from casebook.factcheck.verdict import EVIDENCE_STANCES, NEUTRAL, REFUTES, SUPPORTS, overlap
from casebook.readers import read_yaml

CASES = read_yaml(Path(__file__).with_name("cases.yml"))
FIRE = "Cover for fire ends 30 days after the house is left empty."


def passage(text, header="Vale Direct", row=0):
    return EvidencePassage(row, 0, len(text), text, header)


def described(claim, text, header=""):
    return dict(zip(PASSAGE_FEATURES, passage_features(claim, text, header), strict=True))


def jointly(claim, *texts):
    return dict(zip(SIGNS, joint_features(claim, texts), strict=True))


def test_numbers_found_in_conflict_and_absent():
    names = [f"numbers {kind}" for kind in ("found", "in conflict", "absent")]
    for describe in (described, jointly):
        rows = []
        for claim, text, _ in CASES["numbers"]:
            features = describe(claim, text)
            rows.append([claim, text, [features[name] for name in names]])
        assert rows == CASES["numbers"]


def test_features_by_hand():
    rows = CASES["features"]
    assert [[*row, described(*row[:3])[row[3]]] for *row, _ in rows] == rows


def test_features_that_are_no_plain_shares_by_hand():
    rarity = {"hail": 3.0, "cover": 1.0, "": 2.0}
    pair = dict(
        zip(
            PASSAGE_FEATURES,
            passage_features("Hail is covered.", "Covered.", rarity=rarity),
            strict=True,
        )
    )
    assert (pair["coverage"], pair["log length"]) == (
        pytest.approx(1 / 4),
        pytest.approx(np.log(2)),
    )
    found = jointly("Fire cover for Harbour House ends after 60 days.", FIRE)
    assert (found["names found"], found["words found"]) == (0.5, 1.0)  # house, not Harbour
    assert jointly("Cover does not end.", FIRE)["polarity differs"] == 1
    assert jointly("Cover starts when it is empty.", FIRE)["opposites"] == 1
    assert jointly("Only fire is covered.", FIRE)["stronger words"] == 1
    assert jointly("Fire.", "Hail.")["words found"] == 0


@pytest.mark.parametrize(
    ("claim", "stance"),
    [
        ("Cover for fire ends 30 days after the house is left empty.", SUPPORTS),
        ("Cover for fire ends 45 days after the house is left empty.", REFUTES),
        ("Cover for fire does not end after the house is left empty.", REFUTES),
        ("Tax on imported cheese rises in March.", NEUTRAL),
    ],
)
def test_the_default_judge_on_one_sentence(claim, stance):
    ((found, p),) = PublicJudge().judge(claim, [passage(FIRE, "")])
    assert found == stance
    assert p is None if stance == NEUTRAL else (0 < p < 1 and (p >= 0.5) == (stance == SUPPORTS))


def test_another_word_in_the_same_place_is_no_support():
    judge = PublicJudge()
    rows = []
    for claim, text, _ in CASES["exchanges"]:
        beside = ["It was much admired.", text, "Nobody knows who paid for it."]
        ((stance, p), *_) = judge.judge(claim, [passage(sentence, "") for sentence in beside])
        assert p is None if stance == NEUTRAL else (p >= 0.5) == (stance == SUPPORTS)
        rows.append([claim, text, stance])
    assert rows == CASES["exchanges"]


def test_a_word_is_only_exchanged_where_no_sentence_has_it():
    texts = ("The first tower fell in a storm.", "The second tower fell in a storm.")
    assert exchanged("The second tower fell in a storm.", texts) == ()
    assert exchanged("The second tower fell in a storm.", texts[:1]) == (("second", "first", True),)


def test_sentences_of_one_document_support_together_and_documents_can_contradict_each_other():
    claim = "Ada Brook wrote the poem, which was printed in Leeds."
    parts = ["Ada Brook wrote the poem.", "The poem was printed in Leeds."]
    together = PublicJudge().judge(claim, [passage(text, "Poem") for text in parts])
    assert [stance for stance, _ in together] == [SUPPORTS, SUPPORTS]
    assert together[0][1] > PublicJudge().probability(claim, parts[:1])
    judged = PublicJudge().judge(FIRE, [passage(FIRE), passage(FIRE.replace("30", "90"), row=1)])
    assert [stance for stance, _ in judged] == [SUPPORTS, REFUTES]


def test_nothing_to_judge_and_unknown_sets():
    assert PublicJudge().judge("Fire.", []) == []
    with pytest.raises(InputError, match="no weights without 'x': there are none"):
        PublicJudge(left_out="x")


def test_the_fitted_model_is_scikit_learns(own, base):
    pairs = training_pairs(own.train[:40], base)
    model = fitted_stance(base, own.train[:40])
    X = np.vstack([model.describe(pair.claim, [pair.passage]) for pair in pairs])
    Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(
        Z, [pair.stance for pair in pairs]
    )
    expected = peer.predict_proba(Z)[
        :, [list(peer.classes_).index(stance) for stance in EVIDENCE_STANCES]
    ]
    assert np.allclose(model.probabilities(X), expected, atol=1e-8)
    assert model.with_rarity_of(base).judge("Hail.", []) == []


def test_training_pairs_hold_the_deciding_sentence_its_document_and_neutral_ones(own, base):
    claim = next(claim for claim in own.train if len(claim.atoms) == 1)
    (atom,), pairs, row = (
        claim.atoms,
        training_pairs([claim], base),
        base.doc_ids.index(claim.atoms[0].doc_id),
    )
    sided, beside = (
        [p for p in pairs if (p.stance == NEUTRAL) == neutral] for neutral in (False, True)
    )
    assert sided[-1].passage == base.whole(row)
    assert all(
        p.passage.row == row and p.passage.start < atom.end and atom.start < p.passage.end
        for p in sided
    )
    assert {p.stance for p in sided} == {SUPPORTS if atom.label == "SUPPORTED" else REFUTES}
    assert {p.passage.row for p in beside} - {row}
    assert not any(p.passage.row == row and overlap(p.passage, atom) for p in beside)


def test_spans_that_only_meet_do_not_overlap():
    first = EvidencePassage(0, 0, 5, "", "")
    assert [overlap(first, EvidencePassage(0, start, start + 5, "", "")) for start in (4, 5)] == [
        True,
        False,
    ]
    assert [overlap(EvidencePassage(0, start, start + 5, "", ""), first) for start in (4, 5)] == [
        True,
        False,
    ]


def test_the_placeholder_reads_nothing():
    judged = PlaceholderStance().judge("x", [passage("y" * 50), passage("y" * 51)])
    assert [stance for stance, _ in judged] == [NEUTRAL, SUPPORTS]


def test_features_do_not_depend_on_the_order_of_sets():
    """Strings hash differently in every process: a sum over a set may not show it."""
    code = """
from casebook.factcheck.stance import passage_features
from casebook.factcheck.words import content
claim = " ".join("w" + chr(97 + k % 26) + chr(99 + k // 26) for k in range(60))
rarity = {w: (k * 0.7310585) % 1 for k, w in enumerate(sorted(content(claim)))}
feature = passage_features(claim, claim[:90], rarity=rarity)[0]
"""
    here = {}
    exec(code, here)
    elsewhere = subprocess.check_output([sys.executable, "-c", f"{code}print(repr(feature))"])
    assert elsewhere.decode().strip() == repr(here["feature"])
