"""The default judge: what it reads, what it reaches on sets that it never saw."""

import importlib.util
import math

import numpy as np
import pandas as pd
import pytest
from casebook.factcheck.model import NEUTRAL, REFUTES, SUPPORTS
from casebook.factcheck.public_judge import SIGNS, PublicJudge, joint_features
from casebook.factcheck.study_sets import run_study
from casebook.factcheck.transfer import DEFAULT, FITTED_ON_OWN, evaluate, of_claim_set, transfer
from casebook.factcheck.verdict_report import answer

from casebook import paths
from casebook.datasets.claims import ClaimSet
from casebook.errors import InputError
from casebook.factcheck import public_judge, verdict_tables
from casebook.factcheck.pipeline import Passage
from casebook.plain_yaml import read_yaml

FIRE = "Cover for fire ends 30 days after the house is left empty."


def passage(text, header="", row=0):
    return Passage(row, 0, len(text), text, header)


def described(claim, *texts):
    return dict(zip(SIGNS, joint_features(claim, texts), strict=True))


def test_features_by_hand():
    found = described("Fire cover for Harbour House ends after 60 days.", FIRE)
    assert found["names found"] == 0.5  # house, not Harbour
    assert found["words found"] == 1.0
    assert (found["numbers found"], found["numbers in conflict"]) == (0, 1)
    assert described("Cover ends after 60 weeks.", FIRE)["numbers absent"] == 1
    assert described("Cover does not end.", FIRE)["polarity differs"] == 1
    assert described("Cover starts when it is empty.", FIRE)["opposites"] == 1
    assert described("Only fire is covered.", FIRE)["stronger words"] == 1
    assert described("Fire.", "Hail.")["words found"] == 0


def test_what_is_spread_over_two_sentences_supports_together():
    claim = "Ada Brook wrote the poem, which was printed in Leeds."
    parts = ["Ada Brook wrote the poem.", "The poem was printed in Leeds."]
    together = PublicJudge().judge(claim, [passage(t, "Poem") for t in parts])
    assert [stance for stance, _ in together] == [SUPPORTS, SUPPORTS]
    assert together[0][1] > PublicJudge().probability(claim, parts[:1])


@pytest.mark.parametrize(
    ("claim", "stance"),
    [
        ("Cover for fire ends 30 days after the house is left empty.", SUPPORTS),
        ("Cover for fire ends 45 days after the house is left empty.", REFUTES),
        ("Cover for fire does not end after the house is left empty.", REFUTES),
        ("Tax on imported cheese rises in March.", NEUTRAL),
    ],
)
def test_verdicts_on_one_sentence(claim, stance):
    (found,) = PublicJudge().judge(claim, [passage(FIRE)])
    assert found[0] == stance
    if stance == NEUTRAL:
        assert found[1] is None
    else:
        assert 0 <= found[1] <= 1 and (found[1] >= 0.5) == (stance == SUPPORTS)


def test_documents_that_each_hold_it_all_can_contradict_each_other():
    note = FIRE.replace("30", "90")
    judged = PublicJudge().judge(FIRE, [passage(FIRE), passage(note, row=1)])
    assert [stance for stance, _ in judged] == [SUPPORTS, REFUTES]


def test_nothing_to_judge_and_unknown_sets():
    assert PublicJudge().judge("Fire.", []) == []
    with pytest.raises(InputError, match="no weights without 'x': there are none"):
        PublicJudge(left_out="x")


def test_weights_have_the_sign_of_their_meaning_and_name_their_sets():
    table = read_yaml(public_judge.TABLE)
    assert set(table["weights"]) == {"none", *table["sets"]}
    for weights in table["weights"].values():
        assert list(weights["features"]) == list(SIGNS)
        for name, value in weights["features"].items():
            assert math.copysign(1, value) == SIGNS[name] and value != 0
    assert table["weights"]["none"] != table["weights"]["feverous_s"]


@pytest.mark.data
def test_the_weights_are_what_the_script_learns(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    path = paths.DATA / "make" / "factcheck_judge.py"
    spec = importlib.util.spec_from_file_location("factcheck_judge", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    table = read_yaml(public_judge.TABLE)
    learnt, counts = script.learnt(table["opposites"])
    assert list(counts) == list(table["sets"])
    for key, weights in learnt.items():
        kept = table["weights"][key]
        assert weights["intercept"] == pytest.approx(kept["intercept"], abs=2e-3)
        assert weights["features"] == pytest.approx(kept["features"], abs=2e-3)


@pytest.mark.data
def test_other_peoples_claims_with_gold_evidence(mirror, monkeypatch):
    """It decides, and beats both baselines where refuted claims say other things."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    study = run_study(ablation=False)
    sets = ("feverous_s", "climate_fever_claims", "hover")
    moved = transfer(study, sets=sets, n_boot=200)
    table = moved.table.set_index(["dataset", "system"])
    assert table["n"].groupby("dataset").first().to_dict() == {"climate_fever_claims": 907, "feverous_s": 2962}
    feverous, climate = table.loc["feverous_s"], table.loc["climate_fever_claims"]
    assert feverous.loc[DEFAULT, "accuracy low"] > 0.75
    assert feverous.loc[[DEFAULT], "AUROC low"].item() > 0.85
    assert climate.loc[DEFAULT, "macro F1"] > climate.loc["majority", "macro F1"] + 0.05
    assert climate.loc[DEFAULT, "accuracy"] < climate.loc["majority", "accuracy"]
    assert table.xs(DEFAULT, level="system")["abstained"].max() < 0.02
    assert table.xs(FITTED_ON_OWN, level="system")["abstained"].min() > 0.8
    found = verdict_tables.verdict_numbers(study, study.scores(n_boot=50), None, moved)
    number = found["feverous_s"][DEFAULT]["accuracy"]
    assert number["value"] == feverous.loc[DEFAULT, "accuracy"]
    assert number["control"] == feverous.loc["claim only", "accuracy"]
    assert set(found["feverous_s"]) == {DEFAULT, FITTED_ON_OWN}
    verdicts = moved.contrasts.set_index(["dataset", "system", "rival"])["verdict"]
    verdicts = verdicts.sort_index()
    assert set(verdicts.loc["feverous_s", DEFAULT]) == {"better"}
    assert verdicts.loc["climate_fever_claims", DEFAULT, "majority"] == "worse"
    scores, two = study.scores(n_boot=50), study.two_class(n_boot=50)
    text = answer(study, scores, two, study.comparisons(n_boot=200), moved)
    assert f"{feverous.loc[DEFAULT, 'accuracy']:.3f}" in text
    assert "better than both baselines on feverous\\_s, and not on climate" in text
    assert "on 2962 claims of feverous" in text
    assert "names its evidence without the text" in text


def test_the_answer_of_our_claims_says_what_is_absent_and_what_was_documented(monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    study = run_study(ablation=False)
    moved = transfer(study, sets=("feverous_s", "factcheck_claims"), n_boot=200)
    assert moved.table["dataset"].unique().tolist() == ["factcheck_claims"]
    assert FITTED_ON_OWN not in set(moved.table["system"])
    scores, two = study.scores(n_boot=50), study.two_class(n_boot=50)
    text = answer(study, scores, two, study.comparisons(n_boot=200), moved)
    assert "Not evaluated: dataset feverous\\_s is not on this machine" in text
    assert "documented fact-checker answers NOT\\_SUPPORTED to 100 of 100" in text
    assert "0 of " in text and "pass its credibility gate" in text
    assert set(study.verdicts["documented"]) == {"NOT_SUPPORTED"}


def stranger(n=40):
    """Claims with one sentence of evidence each, in groups of two."""
    numbers = np.arange(n) + 10
    claims = pd.DataFrame(
        {
            "claim_id": [f"c{k}" for k in numbers],
            "claim": [f"The lake holds {k + k % 2} boats." for k in numbers],
            "label": ["NOT_SUPPORTED" if k % 2 else "SUPPORTED" for k in numbers],
            "cluster": numbers // 2,
        }
    )
    evidence = pd.DataFrame(
        {
            "claim_id": claims["claim_id"],
            "source": "Lake",
            "text": [f"The [[Lake|lake]] holds {k} boats." for k in numbers],
        }
    )
    return ClaimSet("lakes", "all", claims, evidence, {})


def test_any_set_of_claims_with_text_of_its_evidence_can_be_evaluated():
    gold = of_claim_set(stranger())
    assert gold.evidence[0][0].text == "The lake holds 10 boats."
    table, contrasts = evaluate(gold, {"ours": PublicJudge()}, n_boot=200)
    row = table.set_index("system").loc["ours"]
    assert (row["n"], row["groups"], row["accuracy"], row["AUROC"]) == (40, 20, 1, 1)
    assert contrasts.set_index("rival").loc["majority", "verdict"] == "better"
    claims = stranger()
    nameless = ClaimSet("lakes", "all", claims.claims, claims.evidence.assign(text=None), {})
    assert of_claim_set(nameless) is None
