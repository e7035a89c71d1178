"""The assembled report, its join by id, and the command that prints it."""

import functools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from casebook.errors import InputError
from casebook.factcheck.score import compare_verdicts, is_right, join_labels, read_labels, score_files, score_joined
from casebook.inference.mcnemar import mcnemar

S, N, NEI = "SUPPORTED", "NOT_SUPPORTED", "INSUFFICIENT"


@pytest.fixture
def write(tmp_path):
    def write(name, rows):
        path = tmp_path / name
        if name.endswith("csv"):
            pd.DataFrame(rows).to_csv(path, index=False)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def labels(*values, start=1, **more):
    return [{"id": start + i, "label": label} | {k: v[i] for k, v in more.items()} for i, label in enumerate(values)]


def test_order_does_not_matter_and_formats_mix(write):
    gold = write("gold.jsonl", labels(S, N, S, N))
    rows = labels(S, N, N, N)
    one = score_files(gold, write("a.csv", rows))
    two = score_files(gold, write("b.jsonl", rows[::-1]))
    assert one.scores.measures == two.scores.measures
    assert one.scores["accuracy"].estimate == 0.75
    assert two.as_dict()["parity"]["zipped"]["accuracy"] == 0.25


def test_missing_extra_and_doubled_ids_are_listed_and_none_vanishes(write):
    gold = write("gold.jsonl", labels(S, N, S, N))
    predicted = labels(S, "maybe", None) + labels(S, start=1) + labels(S, start=9)
    report = score_files(gold, write("pred.jsonl", predicted))
    account = report.joined.account
    assert (account["matched"], account["missing"], account["extra"]) == (3, 1, 1)
    assert account["listed"] == {"missing": ["4"], "extra": ["9"], "doubled_gold": [], "doubled_predictions": ["1"]}
    assert report.scores.counts.to_numpy().sum() == 4
    assert report.scores.counts["no_verdict"].sum() == 2
    assert report.scores.foreign == {"maybe": 1}


def test_two_answers_to_one_claim_are_refused(write):
    gold = read_labels(write("gold.jsonl", labels(S, N)))
    twice = read_labels(write("p.jsonl", labels(S, N) + labels(N)))
    with pytest.raises(InputError, match=r"p: 1 ids .* different labels \(first: 1\)"):
        join_labels(gold, twice, ("g", "p"))


def test_sections_parity_and_corrected(write):
    gold = write("gold.jsonl", labels(S, S, N, N, NEI, hops=[2, 2, 3, 3, 3]))
    rows = labels(S, NEI, N, "UNKNOWN", S, confidence=[0.9, 0.2, 0.8, 0.4, 0.6])
    report = score_files(gold, write("p.csv", rows), groups=["hops"])
    found = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert found["parity"]["L"]["tn"] == 2
    assert found["parity"]["groups"]["hops"]["3"]["n"] == 3
    corrected = found["corrected"]
    assert corrected["excluded"]["gold_insufficient"] == 1
    assert corrected["measures"]["accuracy"]["value"] == 0.5
    assert corrected["measures"]["accuracy"]["control"] == 0.5
    assert corrected["calibration"]["n"] == 4
    assert corrected["groups"]["hops"]["2"]["accuracy"]["n"] == 2
    assert "no_not_supported" not in report.as_text()


def test_a_claim_only_baseline_is_tested_on_the_same_claims(write):
    gold = write("gold.jsonl", labels(*[S] * 20, *[N] * 20))
    system = write("p.jsonl", labels(*[S] * 20, *[N] * 20))
    blind = write("b.jsonl", labels(*[S] * 40))
    report = score_files(gold, system, baseline=blind)
    row = report.comparisons.set_index("rival").loc["claim_only"]
    assert (row["system_only"], row["rival_only"]) == (20, 0)
    assert row["mcnemar"] == pytest.approx(2 * 0.5**20)
    assert row["p_adjusted"] >= row["p"] > 0 and row["verdict"] == "better"
    assert report.scores.baselines["claim_only"]["accuracy"].estimate == 0.5


def test_right_and_wrong_follow_the_policies():
    gold, predicted = [S, N, NEI, N, S], [S, "?", NEI, NEI, None]
    assert is_right(gold, predicted).tolist() == [True, False, None, False, False]
    policy = {"off_label": "drop", "nei": "three_class"}
    dropped = is_right(gold, predicted, policy=policy).tolist()
    assert dropped == [True, None, True, False, None]
    negative = is_right(gold, predicted, policy={"off_label": "negative"}).tolist()
    assert negative == [True, True, None, True, False]


def test_rows_that_do_not_count_are_left_out_of_both():
    table = compare_verdicts([True, None, False, True], {"x": [False, True, None, True]})
    assert table.loc[0, ["n", "system_only", "rival_only"]].tolist() == [2, 1, 0]


DESIGNS = {
    "6 groups of 20": [20] * 6,
    "15 groups of 8": [8] * 15,
    "10 groups of 1 to 30": [1, 2, 3, 4, 6, 8, 12, 16, 22, 30],
}


@pytest.mark.parametrize("sizes", DESIGNS.values(), ids=list(DESIGNS))
def test_groups_that_lean_do_not_decide_between_equals(sizes):
    """Each group leans to one of two equal systems; McNemar's test takes that for more.

    Through the report that the command prints, as it stands under ``comparisons``.
    """
    rng, studies = np.random.default_rng(5), 200
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rejected = excluded = mcnemar_rejected = 0
    for seed in range(studies):
        lean = 0.3 * rng.choice([-1, 1], len(sizes))[labels]
        ours, theirs = (rng.random(len(labels)) < 0.5 + side for side in (lean, -lean))
        gold = pd.DataFrame({"id": np.arange(len(labels)), "label": S, "page": labels})
        joined = join_labels(gold.astype({"id": str}), _answers(ours), ("gold", "predictions"))
        report = score_joined(
            joined, baselines={"rival": _answers(theirs)["label"]}, cluster="page", n_boot=300, seed=seed
        )
        row = report.comparisons.set_index("rival").loc["rival"]
        rejected += row["p"] <= 0.05
        low, high = row["difference low"], row["difference high"]
        excluded += row["verdict"] in ("better", "worse") or low > 0 or high < 0
        assert np.isnan(row["mcnemar"])
        mcnemar_rejected += (mcnemar(ours, theirs).pvalue or 1) <= 0.05
    assert rejected <= 0.07 * studies
    assert excluded <= 0.07 * studies
    assert mcnemar_rejected > 0.2 * studies


def _answers(right):
    ids = [str(n) for n in range(len(right))]
    return pd.DataFrame({"id": ids, "label": np.where(right, S, N)})


def test_without_groups_the_test_is_mcnemars():
    rng = np.random.default_rng(2)
    ours, theirs = rng.random(60) < 0.7, rng.random(60) < 0.5
    table = compare_verdicts(ours, {"x": theirs}, n_resamples=100_000)
    n, k = (ours != theirs).sum(), (ours & ~theirs).sum()
    expected = stats.binomtest(int(k), int(n)).pvalue
    assert table.loc[0, "mcnemar"] == pytest.approx(expected)
    assert table.loc[0, "p"] == pytest.approx(expected, abs=0.005)
    assert table.loc[0, "p"] == table.loc[0, "p_adjusted"]


def test_what_is_dropped_is_dropped_for_the_controls_too(write):
    """The unclear answers are the unsupported claims: without them majority is 3/4."""
    gold = write("gold.jsonl", labels(*[S] * 6, *[N] * 6))
    answers = labels(*[S] * 5, N, S, N, *["unclear"] * 4)
    blind = write("b.jsonl", labels(*[S] * 11, "unclear"))
    report = score_files(gold, write("p.jsonl", answers), baseline=blind, policy={"off_label": "drop"})
    found = report.scores
    assert (found["accuracy"].n, found["accuracy"].estimate) == (8, 6 / 8)
    for name in ("majority", "prior", "claim_only"):
        assert found.baselines[name]["accuracy"].n == 8, name
    assert found.baselines["majority"]["accuracy"].estimate == 6 / 8
    assert found.baselines["prior"]["accuracy"].estimate == (36 + 4) / 64
    assert report.comparisons["n"].eq(8).all()
    assert report.comparisons.set_index("rival").loc["majority", "difference"] == 0
    kept = score_files(gold, write("p.jsonl", answers)).scores
    assert kept.baselines["majority"]["accuracy"].estimate == 0.5


def test_the_majority_is_that_of_the_classes_as_they_are_scored(write):
    """Two kinds of negatives are together more than the supported claims."""
    gold = write("gold.jsonl", labels(*[S] * 4, *[N] * 3, *[NEI] * 3))
    report = score_files(gold, write("p.jsonl", labels(*[S] * 10)), policy={"nei": "negative"})
    row = report.comparisons.set_index("rival").loc["majority"]
    assert row["rival accuracy"] == 0.6
    assert report.scores.baselines["majority"]["accuracy"].estimate == 0.6


def test_resamples_and_seed_reach_the_comparisons(write):
    rng = np.random.default_rng(1)
    gold = write("gold.jsonl", labels(*[S] * 30, *[N] * 30))
    answers = write("p.jsonl", labels(*rng.choice([S, N], 60)))
    options = {"n_boot": 200, "seed": 1}
    one, same = (score_files(gold, answers, **options) for _ in range(2))
    other = score_files(gold, answers, n_boot=200, seed=2)
    assert one.comparisons.equals(same.comparisons)
    assert one.comparisons["p"].tolist() != other.comparisons["p"].tolist()


@pytest.fixture
def score(casebook):
    return functools.partial(casebook, "factcheck", "score")


def test_command_prints_both_sections(score, write):
    gold = write("gold.csv", labels("SUPPORTS", "REFUTES"))
    pred = write("pred.csv", labels("SUPPORTS", "SUPPORTS"))
    spellings = ["--label", f"SUPPORTS={S}", "--label", f"REFUTES={N}"]
    code, out, _ = score(gold, pred, "--json", *spellings)
    found = json.loads(out)
    assert code == 0
    assert {"parity", "corrected"} == set(found)
    assert found["corrected"]["measures"]["accuracy"]["value"] == 0.5
    code, out, _ = score(gold, pred, *spellings)
    assert code == 0 and "majority" in out


@pytest.mark.parametrize(
    ("gold", "pred", "message"),
    [
        (labels("yes", N), labels(S, N), "gold.jsonl:1: 1 of 2 gold labels .*here 'yes'"),
        ([{"id": 1}], labels(S), "gold.jsonl:1: has no field 'label'"),
        ([{"id": None, "label": S}], labels(S), "neither text nor a number"),
        (labels(S), labels(["a"]), "field 'label' is no label"),
        (labels(S), labels(S, confidence=[1.4]), "1 confidences lie outside"),
        (labels(S), labels(S, confidence=["high"]), "field 'confidence'"),
        (labels(S), [], "holds no records"),
        (labels(S), labels(S, start=7), "no id in common .first: '1' and '7'"),
    ],
)
def test_bad_files_end_with_one_line(score, write, gold, pred, message):
    code, _, error = score(write("gold.jsonl", gold), write("pred.jsonl", pred))
    assert code == 1
    assert re.search(message, error)
    assert error.count("\n") == 1


def test_unknown_column_and_spelling_are_named(score, write):
    gold = write("gold.jsonl", labels(S))
    code, _, error = score(gold, gold, "--group", "hops")
    assert code == 1 and "no column 'hops'" in error
    code, _, error = score(gold, gold, "--label", "yes")
    assert code == 1 and "write SPELLING=LABEL" in error
