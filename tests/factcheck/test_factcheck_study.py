"""The chapter's studies on real sets and on verdicts made by hand, and single claims."""

import importlib.util
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from casebook import paths
from casebook.data.cards import card_of
from casebook.data.claims import ClaimSet
from casebook.errors import InputError
from casebook.factcheck import transfer
from casebook.factcheck.items import CITED, DECISIVE, RIGHT, claim_items
from casebook.factcheck.pipeline import EvidencePassage
from casebook.factcheck.stance import PlaceholderStance, PublicJudge, features_model, judge_table
from casebook.factcheck.study import (
    TWO_CLASS_POLICY,
    VerdictStudy,
    run_factcheck_study,
)
from casebook.factcheck.transfer import CLAIM_ONLY, DEFAULT_JUDGE, FITTED_ON_OWN
from casebook.runs.items import items_json
from casebook.verdicts import NO_DIFFERENCE, NOT_MEASURED

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"


@pytest.fixture(scope="module")
def study():
    return run_factcheck_study(ablation=False)


@pytest.fixture(scope="module")
def toy():
    """Eight claims in four groups: one unparsed answer, one crash, one abstention."""
    rows = pd.DataFrame(
        {"id": range(8), "label": [S, N, S, N, S, N, S, NEI], "group": list("aabbccdd")}
    )
    rows = rows.assign(hops=list("11221120"))
    verdicts = {
        "pipeline": [S, N, S, "well", None, N, NEI, NEI],
        CLAIM_ONLY: [S, S, S, S, N, N, S, S],
    }
    stated = {"pipeline": [0.9, 0.8, 0.7, None, None, 0.6, None, None]}
    return VerdictStudy(
        "toy",
        rows,
        verdicts,
        TWO_CLASS_POLICY | {"nei": "three_class"},
        slices=("hops",),
        confidence=stated,
    )


def test_policies_of_the_two_class_question(toy):
    scores, two = toy.scores(n_resamples=50), toy.two_class(n_resamples=50)
    assert scores["pipeline"]["accuracy"].estimate == 5 / 8
    values = {name: found["accuracy"].estimate for name, found in two["pipeline"].policies.items()}
    assert values == pytest.approx({"wrong": 4 / 7, "drop": 1.0, "negative": 5 / 7})
    assert scores["pipeline"].parity["S"]["f1"] == pytest.approx(
        0.8
    )  # the crash counts as negative
    assert scores["pipeline"]["f1_binary"].estimate == pytest.approx(2 * 2 / (2 + 4))
    assert scores["pipeline"].groups["hops"]["0"]["accuracy"].estimate == 1.0
    assert toy.comparisons().loc[0, "difference"] == pytest.approx(0.125)
    calibrated = toy.calibrated(n_resamples=20)
    assert (calibrated.n, calibrated.missing) == (4, 4)


def test_folds_keep_groups_together_and_every_table_is_predicted_out_of_fold():
    """A model that can only remember its groups is at chance on others."""
    rng = np.random.default_rng(0)
    groups, noise = np.repeat(np.arange(40), 5), rng.normal(size=(200, 3))
    supported = rng.random(40)[groups] < 0.5
    X = np.column_stack([np.eye(40)[groups], noise])
    leaky, blind = transfer.cross_fitted(
        features_model(), [X, noise @ np.zeros((3, 43))], supported, groups, 5, 0
    )
    assert abs(roc_auc_score(supported, leaky) - 0.5) < 0.15
    assert len(np.unique(blind)) <= 5
    other = transfer.shuffled_groups(groups, 2, "shuffled evidence")
    assert (groups[other] != groups).all() and other == transfer.shuffled_groups(
        groups, 2, "shuffled evidence"
    )
    with pytest.raises(InputError, match="two groups"):
        transfer.shuffled_groups(["a"], 0, "x")


def test_our_claims(study):
    systems = [
        "pipeline",
        "gold evidence",
        FITTED_ON_OWN,
        "documented",
        "shuffled evidence",
        CLAIM_ONLY,
    ]
    assert list(study.verdicts) == systems
    assert set(study.verdicts["documented"]) == {N}
    assert study.facts["documents that pass the documented gate"] == 0
    twins = [n for n, atoms in enumerate(study.decisive) if atoms]
    right = study.right(CLAIM_ONLY).iloc[twins].astype(bool)
    # Every true claim has a false twin: 0.5 is all that there is to know.
    assert len(twins) == 88 and 0.4 < right.mean() < 0.62
    assert np.mean([study.evidence_found[n] for n in twins]) > 0.9
    assert study.right("pipeline").mean() > 0.75
    # What is stated is the probability of the verdict, not of support.
    stated = dict(zip(study.verdicts["pipeline"], study.confidence["pipeline"], strict=True))
    support = {result.verdict: result.support for result in study.pipeline.results}
    assert (stated[S], stated[N]) == (support[S], 1 - support[N]) and np.isnan(
        stated["INSUFFICIENT_EVIDENCE"]
    )
    # Better evidence helps, and that of other claims supports nothing.
    assert study.right("gold evidence").mean() > study.right("pipeline").mean()
    assert study.verdicts["shuffled evidence"].count(S) < 10 < study.verdicts["pipeline"].count(S)
    compared = study.comparisons(n_resamples=500).set_index("rival")
    assert study.baseline(compared.reset_index())["rival"] == CLAIM_ONLY
    assert compared.loc["majority", "rival accuracy"] == max(
        study.rows["label"].value_counts()
    ) / len(study.rows)


RECIPES = {
    "pancakes.txt": "Mix 200 grams of flour with 3 eggs. Let the batter rest for 30 minutes.",
    "soup.txt": "The soup serves 4 people. The soup is made with 9 onions.",
}


@pytest.fixture
def recipes(tmp_path):
    """A folder of recipes and a function that writes claims about them.

    Of each true claim there is a twin with another number.
    """
    for name, text in RECIPES.items():
        (tmp_path / name).write_text(text)
    true = {"3 eggs": "The batter needs 3 eggs.", "30 minutes": "The batter rests for 30 minutes."}
    true |= {"200 grams": "The flour weighs 200 grams.", "4 people": "The soup serves 4 people."}
    true |= {
        "9 onions": "The soup is made with 9 onions.",
        "200 grams of flour": "Mix 200 grams of flour.",
    }

    def write(quoted=6, label=lambda claim: N if "77" in claim else S, claims=true):
        rows = []
        for group, (quote, text) in enumerate(claims.items()):
            name = next((name for name, whole in RECIPES.items() if quote in whole), None)
            evidence = [{"doc_id": name, "quote": quote}] if group < quoted else []
            for claim in (text, re.sub(r"\d+", "77", text)):
                rows.append(
                    {"claim": claim, "label": label(claim), "group": group, "evidence": evidence}
                )
        path = tmp_path / "claims.jsonl"
        path.write_text("".join(json.dumps(row | {"id": n}) + "\n" for n, row in enumerate(rows)))
        return {"claims": path, "corpus": tmp_path}

    return write


def test_a_users_claims_about_a_users_folder(recipes):
    study = run_factcheck_study(**recipes(quoted=1), n_resamples=500)
    assert (study.name, study.rows["group"].nunique(), study.facts["documents"]) == ("claims", 6, 2)
    assert study.right("pipeline").mean() > 0.9 and set(study.verdicts["documented"]) == {N}
    assert study.evidence_found[:3] == [True, True, None]
    assert study.ablation["parts"]["n"].eq(12).all()
    # Ten of the claims name no evidence: nothing can be said of a judge that is given it.
    assert FITTED_ON_OWN not in study.verdicts and "gold evidence" not in study.verdicts
    table, _, _, missing = transfer.run_transfer(study)
    assert table.empty and missing == {
        "claims": "gold evidence for 2 claims in 1 groups: it takes 6 in 2"
    }
    with pytest.raises(InputError, match="give claims and corpus"):
        run_factcheck_study(claims=study.pipeline.base)


def test_a_set_that_a_user_brings_is_one_that_no_feature_was_chosen_on(recipes):
    study = run_factcheck_study(**recipes(), ablation=False)
    assert "gold evidence" in study.verdicts
    table, contrasts, answers, missing = transfer.run_transfer(
        study, sets=["factcheck_claims"], n_resamples=200
    )
    chosen = table.drop_duplicates("dataset").set_index("dataset")["chosen on"]
    assert chosen.to_dict() == {"claims": False, "factcheck_claims": True} and not missing
    row = table.set_index(["dataset", "system"]).loc["claims", DEFAULT_JUDGE]
    assert (row["n"], row["groups"], row["accuracy"]) == (12, 6, 1)
    assert transfer.run_transfer(study, n_resamples=200)[0]["dataset"].unique().tolist() == [
        "claims"
    ]
    assert set(contrasts.loc[contrasts["dataset"] == "claims", "rival"]) == {"majority", CLAIM_ONLY}
    # The claims that the judge has wrong are those that its accuracy lacks.
    page = claim_items(study, answers=answers)
    rows = table[table["system"] == DEFAULT_JUDGE].set_index("dataset")
    own = card_of("factcheck_claims").title.partition(",")[0]
    for name, row in rows.iterrows():
        title = {"factcheck_claims": own}.get(name, name)
        wrong = [
            dict(page["items"][place]["fields"])
            for place in page["tags"].get(f"judge wrong: {title}", ())
        ]
        assert len(wrong) == round(row["n"] * (1 - row["accuracy"]))
        verdict = "verdict of the judge, given the gold evidence"
        assert all(fields[verdict] != fields["label"] for fields in wrong)


@pytest.mark.parametrize("label", [S, N])
def test_claims_of_one_label_run(recipes, label):
    study = run_factcheck_study(**recipes(label=lambda _: label), n_resamples=200)
    table = transfer.run_transfer(study, n_resamples=200).systems
    compared = study.comparisons(n_resamples=200)
    assert (
        set(study.verdicts[CLAIM_ONLY]) == {label}
        and study.baseline(compared)["rival accuracy"] == 1
    )
    assert (
        table.set_index("system").loc[CLAIM_ONLY, "accuracy"] == 1 and table["AUROC"].isna().all()
    )
    assert study.scores(n_resamples=50)["pipeline"]["accuracy"].n == 12


def test_a_judge_that_fails_gives_no_verdict_and_no_traceback():
    class Failing:
        def judge(self, claim, passages):
            if "soup" in claim:
                raise ValueError("no soup")
            return [("supports", 0.9) for _ in passages]

    passages = [EvidencePassage(0, 0, 5, "Eggs.", "")]
    table = transfer.judge_passages(
        Failing(), [{"SC1": "The soup."}, {"SC1": "The eggs."}], [passages, passages]
    )
    assert table["verdict"].isna().tolist() == [True, False] and table["support"].tolist() == [
        0.5,
        0.9,
    ]


def test_claims_about_nothing_that_is_in_the_documents_run(recipes):
    planets = {f"moon {n}": f"Planet {name} has {n} moons." for n, name in enumerate("ABCDEF", 3)}
    study = run_factcheck_study(**recipes(quoted=0, claims=planets), n_resamples=200)
    assert not any(result.evidence for result in study.pipeline.results)
    assert study.brier_contrast(n_resamples=200) is None and study.calibrated(n_resamples=50).n == 0
    parts = study.ablation["parts"]
    assert set(parts["verdict"]) <= {NOT_MEASURED, NO_DIFFERENCE} and parts["low"].isna().all()
    assert study.baseline(study.comparisons(n_resamples=200))["verdict"] != "better"


def test_probabilities_are_compared_with_the_base_rate(toy):
    wrong = replace(toy, verdicts={"pipeline": [S, N, N, "well", None, S, NEI, NEI]})
    row, calibrated = wrong.brier_contrast(n_resamples=200), wrong.calibrated(n_resamples=50)
    assert calibrated.controls["brier"] == 0.25
    gain = calibrated.controls["brier"] - calibrated.measures["brier"].estimate
    assert row["difference"] == pytest.approx(gain) and row["n"] == calibrated.n
    certain = toy.brier_contrast(n_resamples=200)
    assert (certain["verdict"], certain["reason"]) == (
        NOT_MEASURED,
        "every verdict is right, so the base rate is certain",
    )


def test_a_pipeline_whose_gate_no_document_passes_is_not_measured(study):
    """The original gate asks for an address, and our documents have none."""
    assert (
        list(study.unread) == ["documented"]
        and "none of 114 documents passes" in study.unread["documented"]
    )
    row = study.comparisons(n_resamples=200).set_index("rival").loc["documented"]
    assert row["verdict"] == NOT_MEASURED and np.isnan(row["difference"])


@pytest.mark.data
def test_contract_verdicts_are_near_chance_and_retrieval_is_not(require):
    require("consumer_contracts_qa")
    study = run_factcheck_study("consumer_contracts_qa")
    scores = study.scores(n_resamples=50)
    assert scores["pipeline"]["accuracy"].n == 396
    assert scores["pipeline"].baselines["majority"]["accuracy"].estimate == pytest.approx(218 / 396)
    assert 0.5 < scores[CLAIM_ONLY]["accuracy"].estimate < 0.63
    assert 0.4 < scores["pipeline"]["accuracy"].estimate < 0.63
    # The page of all sets says the same of the claim-only model: one population, one number.
    gold = transfer.gold_claims("consumer_contracts_qa")
    answers = transfer.answers_of_judges(gold, {"x": PlaceholderStance()})
    table, _ = transfer.evaluate_judges(gold, answers, n_resamples=50)
    row = table.set_index("system").loc[CLAIM_ONLY]
    assert row["accuracy"] == scores[CLAIM_ONLY]["accuracy"].estimate
    assert (row["n"], row["groups"]) == (396, study.rows["group"].nunique())
    at = study.rows["clause found at"]
    assert (
        at.eq("rank 1").mean() > 0.5
        and at.ne("never").mean() > 0.85
        and at.eq("rank 1").tolist() == study.evidence_found
    )
    page = claim_items(study)
    assert all(item["text"] for item in page["items"]) and page["documents"] == []


@pytest.mark.parametrize("told_by", ["question", "clause"])
def test_the_reader_of_clauses_sees_whether_a_question_and_how_often_a_clause_is_negated(
    monkeypatch, told_by
):
    """Lengths and shared words are alike; negations in the question or in the clause decide."""
    rng = np.random.default_rng(0)
    asked, inside = rng.integers(0, 3, 90), rng.integers(0, 2, 90)
    if told_by == "clause":
        inside *= 2
    ids = [f"q{number}" for number in range(90)]
    fillers = ["also", "then"]
    questions = [
        f"May the tenant {' '.join(['not'] * n + fillers[n:])} leave flat x{i}?"
        for i, n in enumerate(asked)
    ]
    clauses = [
        f"The tenant can {' '.join(['never'] * n + fillers[n:])} leave flat x{i}."
        for i, n in enumerate(inside)
    ]
    yes = asked % 2 == 0 if told_by == "question" else inside == 0
    made = SimpleNamespace(
        name="consumer_contracts_qa",
        documents=pd.DataFrame({"doc_id": ids, "title": "", "text": clauses}),
        queries=pd.DataFrame({"query_id": ids, "text": questions, "answer": yes}),
        groups={name: name for name in ids},
        qrels={name: {name: 1} for name in ids},
    )
    monkeypatch.setattr("casebook.factcheck.study.load", lambda *_, **__: made)
    clock = iter(range(10**6))  # a search takes a second, and reading a clause another one
    monkeypatch.setattr("casebook.factcheck.study.perf_counter", lambda: next(clock))
    study = run_factcheck_study("consumer_contracts_qa")
    scores = study.scores(n_resamples=50)
    assert scores["gold clause"]["accuracy"].estimate > 0.95
    assert study.milliseconds == {"gold clause": 1000, "pipeline": 2000}


@pytest.mark.data
def test_climate_fever_rules(mirror, monkeypatch):
    """Any/any reproduces every label; the documented vote finds 166 of 654."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    study = run_factcheck_study("climate_fever_claims")
    stated = np.array(study.confidence["documented vote"])
    assert 0.7 <= np.nanmin(stated) <= np.nanmax(stated) == 1
    scores = study.scores(n_resamples=20)
    assert scores["any/any"]["accuracy"].estimate == 1.0
    counts = scores["documented vote"].counts
    assert (counts.loc[S, S], counts.loc[S].sum()) == (166, 654)
    other = scores["vote without neutral"].counts
    assert (other.loc[S, S], other[S].sum() - 654) == (654, 25)


@pytest.mark.data
def test_the_weights_are_what_the_script_learns(mirror, monkeypatch):
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    path = paths.DATA / "make" / "factcheck_judge.py"
    spec = importlib.util.spec_from_file_location("factcheck_judge", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    table = judge_table()
    learnt, counts = script.learnt(table["opposites"])
    assert list(counts) == list(table["sets"])
    for key, weights in learnt.items():
        assert weights["intercept"] == pytest.approx(table["weights"][key]["intercept"], abs=2e-3)
        assert weights["features"] == pytest.approx(table["weights"][key]["features"], abs=2e-3)


@pytest.mark.data
def test_other_peoples_claims_with_gold_evidence(study, mirror, monkeypatch):
    """It decides, and beats both baselines where refuted claims say other things."""
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(mirror))
    table, contrasts, _, missing = transfer.run_transfer(
        study, sets=("climate_fever_claims",), n_resamples=200
    )
    gold = transfer.gold_claims("feverous_s")
    judges = {DEFAULT_JUDGE: PublicJudge(left_out="feverous_s")}
    answers = transfer.answers_of_judges(gold, judges)
    feverous, beside = transfer.evaluate_judges(gold, answers, n_resamples=200)
    feverous, climate = feverous.set_index("system"), table.set_index("system")
    assert (
        set(climate["n"]) == {907}
        and set(feverous["n"]) == {2962}
        and set(beside["verdict"]) == {"better"}
    )
    assert feverous.loc[DEFAULT_JUDGE, "accuracy low"] > 0.75
    assert feverous.loc[[DEFAULT_JUDGE], "AUROC low"].item() > 0.85
    assert climate.loc[DEFAULT_JUDGE, "macro F1"] > climate.loc["majority", "macro F1"] + 0.05
    assert climate.loc[DEFAULT_JUDGE, "accuracy"] < climate.loc["majority", "accuracy"]
    assert (
        climate.loc[DEFAULT_JUDGE, "abstained"] < 0.02
        and climate.loc[FITTED_ON_OWN, "abstained"] > 0.8
    )
    assert (
        contrasts.set_index(["system", "rival"]).loc[(DEFAULT_JUDGE, "majority"), "verdict"]
        == "worse"
    )
    assert not missing


def test_no_set_is_judged_by_weights_that_saw_it(study, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "casebook.factcheck.study.PublicJudge", lambda left_out=None: asked.append(left_out)
    )
    for key in transfer.FEATURE_SETS:
        study.pipeline.judges(key)
    assert asked == list(transfer.FEATURE_SETS)


def test_sets_that_are_absent_are_named(study, monkeypatch):
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    table, _, _, missing = transfer.run_transfer(
        study, sets=("feverous_s", "factcheck_claims"), n_resamples=200
    )
    assert table["dataset"].unique().tolist() == ["factcheck_claims"]
    assert FITTED_ON_OWN not in set(table["system"])
    assert missing == {"feverous_s": "not on this machine"}


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
    gold = transfer.gold_of_claim_set(ClaimSet("lakes", "all", claims, evidence, {}))
    assert gold["evidence"][0][0].text == "The lake holds 10 boats."
    answers = transfer.answers_of_judges(gold, {"ours": PublicJudge()})
    table, contrasts = transfer.evaluate_judges(gold, answers, n_resamples=200)
    row = table.set_index("system").loc["ours"]
    assert (row["n"], row["groups"], row["accuracy"], row["AUROC"], row["abstained"]) == (
        40,
        20,
        1,
        1,
        0,
    )
    assert contrasts.set_index("rival").loc["majority", "verdict"] == "better"
    assert transfer.gold_of_claim_set(
        ClaimSet("lakes", "all", claims, evidence.assign(text=None), {})
    ).empty


@pytest.fixture(scope="module")
def page(study):
    return claim_items(study)


def test_items_add_up_to_the_chapters_tables(study, page):
    assert len(page["items"]) == page["asked"] == len(study.rows)
    column = page["columns"].index(RIGHT)
    rows = {item["id"]: item for item in page["items"]}
    for place, name in enumerate(study.verdicts):
        hits = [item["cells"][place][column] for item in page["items"]]
        assert page["systems"][place] == study.names[name]
        assert hits.count(1) == study.right(name).eq(True).sum()
        wrong = page["system_tags"][place].get("wrong verdict", [])
        assert len(wrong) == hits.count(0)
    assert len(page["tags"]["evidence not found"]) == study.evidence_found.count(False)
    assert len(page["tags"]["evidence found"]) == study.evidence_found.count(True)
    names = [name for name, _ in page["documents"]]
    for claim in study.pipeline.test:
        item = rows[str(claim.id)]
        fields = dict(item["fields"])
        spans = [f"characters {atom.start} to {atom.end}" for atom in claim.atoms]
        decisive = [place for place, _ in fields.get(DECISIVE, ())]
        assert [names[place].rpartition(", ")[2] for place in decisive] == spans
        is_found = page["items"].index(item) in page["tags"]["evidence found"]
        assert not decisive or is_found is (set(decisive) <= set(item["marked"]))
    # Where a stance is of several passages, the page does not give it to one of them.
    evidence = [one for result in study.pipeline.results for one in result.evidence]
    joint = sum(one.together > 1 and one.stance != "neutral" for one in evidence)
    roles = [role for item in page["items"] for _, role in dict(item["fields"]).get(CITED, ())]
    assert sum("together with" in role for role in roles) == joint > 100


def test_wrong_claims_come_first_and_without_permission_ids_remain(study, page, monkeypatch):
    wrong = set(page["system_tags"][0]["wrong verdict"])
    assert wrong == set(range(len(wrong)))
    monkeypatch.setattr("casebook.runs.items.may_show", lambda _: frozenset())
    hidden = claim_items(study)
    assert {item["text"] for item in hidden["items"]} == {None} and hidden["documents"] == []
    text = items_json(hidden)
    for words in (*study.texts, *(part.text for part in study.pipeline.results[0].subclaims)):
        assert words not in text
