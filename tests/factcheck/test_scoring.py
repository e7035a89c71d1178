"""The assembled report, its join by id, and the command that prints it."""

import functools
import json
import re

import pandas as pd
import pytest

from casebook.errors import InputError
from casebook.factcheck.comparing import compare_verdicts, is_right
from casebook.factcheck.joining import join_labels, read_labels
from casebook.factcheck.scoring import score_files

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
    return [
        {"id": start + i, "label": label} | {k: v[i] for k, v in more.items()}
        for i, label in enumerate(values)
    ]


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
    assert account["listed"] == {
        "missing": ["4"],
        "extra": ["9"],
        "doubled_gold": [],
        "doubled_predictions": ["1"],
    }
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
    table = compare_verdicts(
        [True, None, False, True], {"x": [False, True, None, True]}
    )
    assert table.loc[0, ["n", "system_only", "rival_only"]].tolist() == [2, 1, 0]


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
        (
            labels("yes", N),
            labels(S, N),
            "gold.jsonl:1: 1 of 2 gold labels .*here 'yes'",
        ),
        ([{"id": 1}], labels(S), "gold.jsonl:1: has no field 'label'"),
        ([{"id": None, "label": S}], labels(S), "neither text nor a number"),
        (labels(S), labels(["a"]), "field 'label' is no label"),
        (labels(S), labels(S, confidence=[1.4]), "1 confidences lie outside"),
        (labels(S), labels(S, confidence=["high"]), "field 'confidence'"),
        (labels(S), [], "holds no records"),
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
