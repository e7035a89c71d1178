"""Scores of a tool, of a judge and of people: means, contrasts, agreement; held against scipy."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from casebook.assistant.judge import Case, Judge, judge_answers, load_judge
from casebook.assistant.log import read_log
from casebook.assistant.scores import log_scores, people_agreement, rank_correlation
from casebook.assistant.study import (
    foreign_contrasts,
    levels,
    measure_name,
    pair_contrasts,
    score_answers,
)
from casebook.errors import InputError
from casebook.models.entailment import EntailmentModel
from casebook.verdicts import INTERVAL_BY_UNIT

FACTS = [
    ("Who pays the deposit?", "The tenant pays the deposit.", "five weeks"),
    ("When is rent due?", "Rent is due on Monday.", "Monday"),
    ("May I keep a cat?", "One cat may be kept.", "one cat"),
    ("Who repairs the boiler?", "The landlord repairs the boiler.", "landlord"),
    ("Where are bicycles?", "Bicycles stand in the cellar.", "cellar"),
    ("May I sublet?", "Subletting needs written consent.", "consent"),
    ("Who shares the garden?", "All flats share the garden.", "all flats"),
    ("Who tests alarms?", "Alarms are tested every year.", "yearly"),
]


def write_log(path, scores, systems=("good",), **columns):
    """Write a log whose answers are their contexts; ``scores(system, number)`` adds fields."""
    rows = []
    for system in systems:
        for number, (question, context, reference) in enumerate(FACTS):
            answer = context if system == "good" else "Ask somebody else."
            row = {"id": f"q{number}", "question": question, "answer": answer, "system": system}
            row |= {"contexts": [context], "reference": reference, **columns}
            rows.append(row | scores(system, number))
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    named = scores(systems[0], 0).keys() - {"human", "stars"}
    return read_log(path, scores=sorted(named), values={"fail": 0})


def with_scores(log):
    return score_answers(log).join(log_scores(log))


# --- scores of the log


ABOUT = {"dataset": "facts", "n_resamples": 200}


def test_a_score_keeps_its_name_apart_from_a_measure_of_ours(tmp_path):
    log = write_log(tmp_path / "a.jsonl", lambda _, number: {"faithfulness": number / 10})
    rows = with_scores(log)
    assert rows["faithfulness"].tolist() == [1.0] * 8  # ours: every answer is its context
    mean = levels(rows, ["log: faithfulness"], **ABOUT).iloc[0]
    assert measure_name(mean["measure"]) == "score in the log: faithfulness"
    assert mean["value"] == pytest.approx(0.35) and mean["low"] < 0.35 < mean["high"]
    assert mean["n"] == 8 and np.isnan(mean["control"])


def test_an_undefined_score_is_not_zero(tmp_path):
    log = write_log(
        tmp_path / "a.jsonl", lambda _, number: {"recall": None if number < 2 else 1 + number % 2}
    )
    mean = levels(with_scores(log), ["log: recall"], **ABOUT).iloc[0]
    assert (mean["value"], mean["n"], mean["undefined"]) == (1.5, 6, 2)


def test_whether_more_is_better_only_the_tool_knows(tmp_path):
    log = write_log(
        tmp_path / "a.jsonl",
        lambda system, _: {"hallucination": 1.0 if system == "good" else 0.0, "score": 4},
        systems=("good", "bad"),
    )
    scores = ["log: hallucination", "log: score"]
    table = pair_contrasts(with_scores(log), scores, [("good", "bad")], **ABOUT)
    table = table.set_index("measure")
    row = table.loc["log: hallucination"]
    assert (row["difference"], row["verdict"], row["better"]) == (1.0, "higher", 8)
    assert table.loc["log: score", "verdict"] == "no difference"


# --- agreement


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=6, max_size=40).filter(
        lambda pairs: all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    )
)
@settings(max_examples=50)
def test_correlation_is_that_of_scipy(pairs):
    x, y = zip(*pairs, strict=True)
    interval = rank_correlation(x, y, n_resamples=100)
    assert interval.estimate == pytest.approx(spearmanr(x, y).statistic)
    if interval.low is not None:
        assert -1 <= interval.low < interval.high <= 1


def test_resamples_of_a_correlation_are_those_of_whole_clusters():
    """Each row copied four times: over rows the interval is half as wide as over clusters."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=60)
    y = x + generator.normal(size=60)
    once = rank_correlation(x, y, n_resamples=2000)
    copies = np.repeat(np.arange(60), 4)
    clustered = rank_correlation(x[copies], y[copies], clusters=copies, n_resamples=2000)
    rowwise = rank_correlation(x[copies], y[copies], n_resamples=2000)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high))
    assert rowwise.high - rowwise.low < 0.6 * (once.high - once.low)
    few = rank_correlation(x, y, clusters=np.arange(60) // 20)
    assert few.reason == INTERVAL_BY_UNIT
    assert rank_correlation([1] * 9, range(9)).reason == "no_variation"


def test_a_score_is_held_against_people(tmp_path):
    people = ["fail", 1, 0, 1, 1, 0, 1, 0]
    marks = [0.1, 0.9, 0.4, 0.8, 0.3, 0.2, 0.7, 0.35]

    def fields(_, number):
        return {"human": people[number], "score": marks[number]}

    rows = with_scores(write_log(tmp_path / "a.jsonl", fields))
    agreement = people_agreement(rows, ["faithfulness", "log: score", "people"], **ABOUT)
    blind, row = agreement.to_dict("records")
    assert (row["measure"], row["null"], row["n"]) == ("AUROC, log: score and people", 0.5, 8)
    assert row["value"] == pytest.approx(roc_auc_score([0, 1, 0, 1, 1, 0, 1, 0], marks))
    assert blind["value"] == 0.5  # all answers are grounded
    people[:] = range(8)
    rows = with_scores(write_log(tmp_path / "a.jsonl", fields))
    row = people_agreement(rows, ["log: score"], **ABOUT).iloc[0]
    assert row["value"] == pytest.approx(spearmanr(marks, people).statistic)
    assert row["measure"] == "Spearman's correlation, log: score and people"


# --- a judge


JUDGES = """
import numpy as np

asked = []

def support(row):
    asked.append(sorted(row))
    return float(row["answer"] in row["contexts"])

def several(row):
    answer = row["answer"]
    return {"support": np.any([answer == text for text in row["contexts"]]), "brief": np.float32(0.5), "none": None}

def moody(row):
    if "cat" in row["question"]:
        raise ValueError("no key sk-abcdefghijklmnopqrstuvwxyz0123456789\\nat all")
    return 7 if "boiler" in row["question"] else 0.25

class Strict:
    def __call__(self, row):
        return 1

async def later(row): return 1
def nothing(): return 1
number = 3
"""


@pytest.fixture
def judges(tmp_path, monkeypatch):
    """Name of a module of judges."""
    name = "judges_" + tmp_path.name.replace("-", "_")
    (tmp_path / f"{name}.py").write_text(JUDGES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    load_judge.cache_clear()


def test_a_judge_scores_answers_and_the_same_answers_in_other_material(tmp_path, judges):
    log = write_log(tmp_path / "a.jsonl", lambda *_: {}, systems=("good", "bad"))
    judged = judge_answers(log, f"{judges}:support", foreign=3)
    rows = score_answers(log).join(judged)
    means = levels(rows, ["judge: support"], **ABOUT).set_index("system")
    assert means.loc["good", ["value", "control"]].tolist() == [1, 0]
    assert means.loc["bad", ["value", "control"]].tolist() == [0, 0]
    assert means.loc["good", "control_name"] == "contexts and references of other questions"
    row = foreign_contrasts(rows, "good", ["judge: support"], **ABOUT).iloc[-1]
    assert (row["difference"], row["verdict"]) == (1, "better")
    asked = __import__(judges).asked
    assert judged.attrs["notes"] == [
        f"the judge {judges}:support was given 64 inputs in 64 calls; equal ones are asked once"
    ]
    assert asked == [["answer", "contexts", "question", "reference"]] * 64  # no system: it is blind
    again = judge_answers(log, f"{judges}:support", foreign=3)
    assert len(asked) == 64 and again.equals(judged)  # a cell that runs twice asks nothing twice
    assert again.attrs == judged.attrs


def test_what_a_judge_cannot_score_is_undefined_with_the_reason(tmp_path, judges, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-abcdefghijklmnopqrstuvwxyz0123456789")
    log = write_log(tmp_path / "a.jsonl", lambda *_: {})
    judged = judge_answers(log, f"{judges}:moody", foreign=1)
    column = judged["judge: moody"]
    assert column.isna().tolist() == [False, False, True, True, False, False, False, False]
    note = judged.attrs["notes"][1]
    assert note.startswith("the judge gave no score 4 times: 2 × ")
    assert "2 × gave 7, which is no number from 0 to 1" in note
    assert "raised ValueError" in note and "sk-abc" not in note and "\n" not in note
    several = judge_answers(log, f"{judges}:several", foreign=1)
    assert several["judge: support"].eq(1).all() and several["judge: brief"].eq(0.5).all()
    assert "judge: none" not in several
    assert judge_answers(log, f"{judges}:Strict", foreign=1)["judge: Strict"].eq(1).all()


def test_an_answer_that_failed_is_not_judged(tmp_path, judges):
    log = write_log(tmp_path / "a.jsonl", lambda *_: {})
    log.loc[0, ["answer", "no_answer"]] = ["", "timeout"]
    judged = judge_answers(log, f"{judges}:several", foreign=2)
    assert judged["judge: support"].isna().tolist() == [True] + [False] * 7


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("number", "expected a callable"),
        ("absent", "has no attribute 'absent'"),
    ],
)
def test_the_door_of_a_judge(judges, judge, message):
    with pytest.raises(InputError, match=message):
        Judge(f"{judges}:{judge}")


# --- judges of evidence


@pytest.fixture
def entailment(tmp_path, make_classifier, fresh_answers):
    """Name of a judge that is a random model of three classes."""
    yield f"entailment:{make_classifier(tmp_path / 'nli', 3, NLI)}"
    load_judge.cache_clear()


NLI = ("NEUTRAL", "CONTRADICTION", "ENTAILMENT")


def test_support_is_the_mean_over_sentences_of_the_largest_entailment(entailment):
    model = EntailmentModel(entailment.partition(":")[2])
    answer = "You may sue the court [1]. It is so. Cancel the contract."
    contexts = ["The court may refund you.", "You can cancel the contract."]
    case = Case("?", answer, tuple(contexts), None)
    judge = load_judge(entailment)
    scores, reason = judge.scores(case)
    means = []
    for sentence in ("You may sue the court.", "Cancel the contract."):
        premises = [*contexts, " ".join(contexts)]
        means.append(model.probabilities(premises, [sentence] * 3)[:, 0].max())
    assert scores == {"support by the contexts": pytest.approx(np.mean(means))}
    assert reason is None
    assert judge.scores(case._replace(contexts=())) == ({}, "no context to judge")
    assert judge.scores(case._replace(answer="Is it? [2]"))[1] == "no sentence to judge"


def test_an_endpoint_judges_a_sentence_in_one_question(
    tmp_path, endpoint, monkeypatch, fresh_answers
):
    pytest.importorskip("openai")
    url, asked = endpoint('{"verdict": "neutral", "probability": 0.6}')
    monkeypatch.setenv("CASEBOOK_LLM_URL", url)
    log = write_log(tmp_path / "a.jsonl", lambda *_: {})
    judged = judge_answers(log, "endpoint:m", foreign=1)
    load_judge.cache_clear()
    assert judged["judge: support by the contexts"].tolist() == pytest.approx([0.2] * len(FACTS))
    assert len(asked) == 2 * len(FACTS)
    assert "it was asked 16 questions, 0 from the cache, 16 requests" in judged.attrs["notes"][1]


def test_a_gate_takes_a_judge(tmp_path, casebook):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    write_log(good, lambda *_: {})
    text = good.read_text()
    wrong = [json.loads(line) for line in text.splitlines()]
    wrong = [row | {"answer": row["answer"].rstrip(".") + " never."} for row in wrong]
    bad.write_text("\n".join(map(json.dumps, wrong)))
    gate = ("gate", "log", bad, "--against", good, "-m", "answered", "--json")
    assert casebook(*gate)[0] == 0
    code, text, _ = casebook(*gate, "--judge", "public")
    rows = {row["measure"]: row["verdict"] for row in json.loads(text)["rows"]}
    assert (code, rows["judge: support by the contexts"]) == (2, "fail")
    code, _, error = casebook(*gate, "--judge", "nope")
    assert code == 1 and "give entailment:MODEL" in error and error.count("\n") == 1
    bad.write_text("\n".join(json.dumps(row | {"contexts": None}) for row in wrong))
    code, _, error = casebook("gate", "log", bad, "--against", bad, "--judge", "public")
    assert code == 1 and "new: the judge gave no score 8 times: 8 × no context to judge" in error
