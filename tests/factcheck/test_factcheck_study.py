"""The chapter's studies on our claims, a user's and verdicts made by hand; judges on gold evidence."""

import importlib.util
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from casebook import paths
from casebook.data.sets import claim_set
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.judges import PlaceholderStance
from casebook.factcheck.stance import PublicJudge
from casebook.factcheck.study import (
    SIMPLE,
    TWO_CLASS_POLICY,
    CheckedClaims,
    VerdictStudy,
    checked_claims,
)
from casebook.factcheck.transfer import CLAIM_ONLY
from casebook.factcheck.words import yaml_table
from casebook.verdicts import NOT_MEASURED

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"
FEW = {"n_resamples": 200}


@pytest.fixture(scope="module")
def study(own):
    return checked_claims(own, **FEW)


def toy(verdicts=(S, N, S, "well", None, N, NEI, NEI)):
    """Eight claims in four groups: one unparsed answer, one crash, one abstention."""
    claims = pd.DataFrame({"id": range(8), "label": [S, N, S, N, S, N, S, NEI]}).astype(str)
    claims = claims.assign(group=list("aabbccdd"), text="", hops=list("11221120"))
    verdicts = pd.DataFrame({"pipeline": verdicts, CLAIM_ONLY: [S, S, S, S, N, N, S, S]})
    policy = TWO_CLASS_POLICY | {"nei": "three_class"}
    kinds = claims[["hops"]]
    return VerdictStudy("toy", claims, kinds, verdicts, pd.DataFrame(), policy, FEW | {"seed": 0})


def against_all(study):
    """The first system against every other."""
    scores = study.scores()
    pairs = [(scores.values.columns[0], name) for name in scores.values.columns[1:]]
    return scores.contrasts(pairs).set_index("against")


def test_policies_of_the_two_class_question():
    study = toy()
    scored = study.scored("pipeline")
    assert scored["accuracy"].estimate == study.right["pipeline"].mean() == 5 / 8
    assert scored.parity["S"]["f1"] == 1.0  # the crash is in no cell
    assert scored.parity["L"]["f1"] == pytest.approx(2 / 3)
    assert against_all(study).loc["majority", "difference"] == pytest.approx(0.125)
    levels = study.levels().set_index(["measure", "system"])
    assert levels.loc[("accuracy", "pipeline"), ["value", "control"]].tolist() == [5 / 8, 4 / 8]


def test_folds_keep_groups_together():
    """A model that can only remember its groups is at chance on others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    supported = rng.random(40)[groups] < 0.5
    labels = np.where(supported, S, N)
    p = transfer.claim_only([f"word{group}" for group in groups], labels, groups)
    assert abs(roc_auc_score(supported, p[S]) - 0.5) < 0.15


def test_our_claims(study, own):
    verdicts = study.verdicts
    systems = ["pipeline", "gold evidence", "documented"]
    assert list(verdicts) == [*systems, "shuffled evidence", CLAIM_ONLY]
    assert (verdicts["documented"] == N).all()
    right = study.right
    is_twin = study.kinds["evidence"].notna()
    # Every true claim has a false twin: 0.5 is all that there is to know.
    assert is_twin.sum() == 88 and 0.4 < right[CLAIM_ONLY][is_twin].mean() < 0.62
    assert study.kinds["evidence"].eq("found").sum() > 0.9 * 88
    # Better evidence helps, and that of other claims supports nothing.
    assert right["gold evidence"].mean() > right["pipeline"].mean() > 0.75
    assert verdicts["shuffled evidence"].eq(S).sum() < 10 < verdicts["pipeline"].eq(S).sum()
    # What is stated is the probability of the verdict, not of support.
    stated = dict(zip(verdicts["pipeline"], study.probability["pipeline"], strict=True))
    support = {result.verdict: result.support for result in own.results}
    assert (stated[S], stated[N]) == (support[S], 1 - support[N])
    assert np.isnan(stated["INSUFFICIENT_EVIDENCE"])
    assert (study.scores().best(SIMPLE).system, right["majority"].mean()) == (CLAIM_ONLY, 0.44)


def test_a_pipeline_whose_gate_no_document_passes_is_not_measured(study):
    """The original gate asks for an address, and our documents have none."""
    assert list(study.unread) == ["documented"]
    assert "none of 114 documents passes" in study.unread["documented"]
    row = against_all(study).loc["documented"]
    assert row["verdict"] == NOT_MEASURED and np.isnan(row["difference"])
    assert "documented" not in set(study.levels()["system"])


def test_claims_of_a_user_need_their_documents_and_evidence_of_two_groups(tmp_path):
    (tmp_path / "soup.txt").write_text("The soup serves 4 people.")
    quote = [{"doc_id": "soup.txt", "quote": "4 people"}]
    rows = [{"claim": f"It serves {n}.", "label": S, "evidence": []} for n in range(6)]
    rows[4]["evidence"] = quote
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="needs claims with evidence in 2 groups or more"):
        transfer.gold_sets([], path, tmp_path)
    with pytest.raises(InputError, match="give claims and corpus"):
        CheckedClaims(path)


def test_the_judge_is_tested_on_no_claim_that_it_was_learnt_from(own):
    ids = transfer.gold_claims(transfer.OWN_CLAIMS)["id"]
    assert len(ids) == 88 and set(ids) < {claim.id for claim in own.test}


@pytest.mark.faults
def test_the_weights_are_what_the_script_learns():
    path = paths.DATA / "make" / "factcheck_judge.py"
    spec = importlib.util.spec_from_file_location("factcheck_judge", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    weights, counts = script.learnt()
    table = yaml_table("judge")
    assert counts == table["learnt from"]
    assert weights == pytest.approx(table["weights"], abs=2e-2)


@pytest.mark.data
def test_a_question_about_a_contract_has_the_four_nearest_sentences_of_its_clause(require):
    require("consumer_contracts_qa")
    assert transfer.gold_claims("consumer_contracts_qa")["evidence"].map(len).max() == 4


@pytest.mark.faults
@pytest.mark.data
def test_other_peoples_claims_with_gold_evidence(mirror, monkeypatch):
    """The judge beats both baselines where refuted claims say other things."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    golds, absent = transfer.gold_sets(["climate_fever_claims", "feverous_s"])
    rows = transfer.run_transfer(golds, transfer.judges_of(["public"]))
    climate, feverous = transfer.scores(rows, **FEW)
    assert (len(climate.values), len(feverous.values), absent) == (907, 2962, [])
    pairs = [("public", name) for name in transfer.BASELINES]
    assert set(feverous.contrasts(pairs)["verdict"]) == {"better"}
    assert feverous.estimates().set_index("system").loc["public", "low"] > 0.75
    assert climate.values["public"].mean() < climate.values["majority"].mean()


def test_any_set_of_claims_with_text_of_its_evidence_can_be_evaluated():
    """Lakes with boats: a false claim has another number than its evidence; two claims a group."""
    boats = np.arange(40) + 10
    claims = pd.DataFrame(
        {
            "claim_id": [f"c{k}" for k in boats],
            "claim": [f"The lake holds {k + k % 2} boats." for k in boats],
            "label": np.where(boats % 2, N, S),
            "cluster": boats // 2,
        }
    )
    evidence = claims[["claim_id"]].assign(
        source="Lake", text=[f"The [[Lake|lake]] holds {k} boats." for k in boats]
    )
    gold = transfer.gold_of_claim_set(claim_set("lakes", "all", claims, evidence))
    assert gold["evidence"][0][0].text == "The lake holds 10 boats."
    judges = {"ours": PublicJudge(), "placeholder": PlaceholderStance()}
    (scores,) = transfer.scores(transfer.run_transfer([gold], judges), **FEW)
    row = scores.estimates().set_index("system").loc["ours"]
    assert row[["value", "n", "groups"]].tolist() == [1, 40, 20]
    best = scores.best(transfer.BASELINES)
    assert scores.contrasts([("ours", best)])["verdict"].tolist() == ["better"]
    without = claim_set("lakes", "all", claims, evidence.assign(text=None))
    assert transfer.gold_of_claim_set(without).empty
    with pytest.raises(InputError, match="two judges have one name: placeholder"):
        transfer.judges_of(["placeholder", "placeholder"])
