"""Scores of a tool, of a judge and of people: means, contrasts, agreement; held against sklearn."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from casebook.assistant.judge import AnswerJudge
from casebook.assistant.log import read_log
from casebook.assistant.study import (
    foreign_contrasts,
    levels,
    pair_contrasts,
    people_agreement,
    score_answers,
)
from casebook.models.entailment import EntailmentModel

TEXTS = """
Who pays the deposit?|The tenant pays the deposit.
When is rent due?|Rent is due on Monday.
May I keep a cat?|One cat may be kept.
Who repairs the boiler?|The landlord repairs the boiler.
Where are bicycles?|Bicycles stand in the cellar.
May I sublet?|Subletting needs written consent.
Who shares the garden?|All flats share the garden.
Who tests alarms?|Alarms are tested every year.
"""
FACTS = [line.split("|") for line in TEXTS.strip().splitlines()]
ABOUT = {"dataset": "facts", "n_resamples": 200}
SCORE = "score in the log: "
SUPPORT = "support by the contexts"


def write_log(path, scores, systems=("good",)):
    """Write a log whose answers are their contexts; ``scores(system, number)`` adds fields."""
    rows = []
    for system in systems:
        for number, (question, context) in enumerate(FACTS):
            answer = context if system == "good" else "Ask somebody else."
            row = {"id": f"q{number}", "question": question, "answer": answer, "system": system}
            rows.append(row | {"contexts": [context]} | scores(system, number))
    path.write_text("\n".join(map(json.dumps, rows)))
    named = scores(systems[0], 0).keys() - {"human"}
    return read_log(path, scores=sorted(named), values={"fail": 0})


def test_a_score_keeps_its_name_apart_from_a_measure_of_ours(tmp_path):
    log = write_log(tmp_path / "a.jsonl", lambda _, number: {"faithfulness": number / 10})
    rows = score_answers(log)
    assert rows["faithfulness"].tolist() == [1.0] * 8  # ours: every answer is its context
    mean = levels(rows, [f"{SCORE}faithfulness"], **ABOUT).iloc[0]
    assert mean["measure"] == "score in the log: faithfulness"
    assert mean["value"] == pytest.approx(0.35) and mean["low"] < 0.35 < mean["high"]
    assert mean["n"] == 8 and np.isnan(mean["control"])


def test_whether_more_is_better_only_the_tool_knows(tmp_path):
    def fields(system, _):
        return {"hallucination": float(system == "good"), "score": 4}

    log = write_log(tmp_path / "a.jsonl", fields, ("good", "bad"))
    scores = [f"{SCORE}hallucination", f"{SCORE}score"]
    table = pair_contrasts(score_answers(log), scores, [("good", "bad")], **ABOUT)
    assert table["verdict"].tolist() == ["higher", "no difference"]
    assert table["difference"].tolist() == [1, 0]


def test_a_score_is_held_against_people(tmp_path):
    """Ratings of two kinds, or of several, of which those above the mean are good."""
    marks = [0.1, 0.9, 0.4, 0.8, 0.3, 0.2, 0.7, 0.35]
    for people, good in [
        (["fail", 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0, 1, 0]),
        (list(range(8)), [0, 0, 0, 0, 1, 1, 1, 1]),
        ([1, 2, 3, 2, 3, 1, 2, 2], [0, 0, 1, 0, 1, 0, 0, 0]),
    ]:
        ratings = dict(enumerate(people))
        log = write_log(
            tmp_path / "a.jsonl",
            lambda _, number, ratings=ratings: {"human": ratings[number], "mark": marks[number]},
        )
        agreement = people_agreement(score_answers(log), ["faithfulness", f"{SCORE}mark"], **ABOUT)
        blind, row = agreement.to_dict("records")
        assert (row["system"], row["null"], row["n"]) == (f"{SCORE}mark of good", 0.5, 8)
        assert row["value"] == pytest.approx(roc_auc_score(good, marks))
        assert blind["value"] == 0.5  # all answers are grounded


# --- judges

JUDGE = """
def judge(claim, passages):
    if "cat" in claim:
        raise ValueError("no key sk-abcdefghijklmnopqrstuvwxyz0123456789\\nat all")
    return [("supports" if claim in passage.text else "neutral", None) for passage in passages]
"""


@pytest.fixture
def own_judge(tmp_path, monkeypatch):
    """Name of a judge of one's own."""
    (tmp_path / "my_judges.py").write_text(JUDGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "my_judges:judge"


def test_a_judge_scores_answers_in_their_own_contexts_and_in_others(
    tmp_path, own_judge, monkeypatch
):
    monkeypatch.setenv("JUDGE_KEY", "sk-abcdefghijklmnopqrstuvwxyz0123456789")
    log = write_log(tmp_path / "a.jsonl", lambda *_: {}, ("good", "bad"))
    log.loc[0, ["answer", "no_answer"]] = ["", "timeout"]
    judge = AnswerJudge(own_judge)
    rows = score_answers(log, judge=judge)
    means = levels(rows, ["support"], **ABOUT).set_index("system")
    assert means["measure"].unique() == [SUPPORT]
    assert means[["value", "control", "n"]].loc["good"].tolist() == [1, 0, 6]
    assert means[["value", "control", "n"]].loc["bad"].tolist() == [0, 0, 8]
    row = foreign_contrasts(rows, "good", **ABOUT).iloc[-1]
    assert (row["measure"], row["difference"], row["verdict"]) == (SUPPORT, 1, "better")
    (note,) = judge.notes
    assert "raised ValueError" in note
    assert "sk-abc" not in note and "\n" not in note


def test_support_is_the_mean_over_sentences_of_the_largest_entailment(
    tmp_path, make_classifier, fresh_answers
):
    labels = ("NEUTRAL", "CONTRADICTION", "ENTAILMENT")
    name = f"entailment:{make_classifier(tmp_path / 'nli', 3, labels)}"
    model = EntailmentModel(name.partition(":")[2])
    judge = AnswerJudge(name)
    contexts = ["The court may refund you.", "You can cancel the contract."]
    found = judge("You may sue the court. It is so. Cancel the contract.", contexts)
    means = []
    for sentence in ("You may sue the court.", "Cancel the contract."):
        premises = [*contexts, " ".join(contexts)]
        means.append(model.probabilities(premises, [sentence] * 3)[:, 0].max())
    assert found == pytest.approx(np.mean(means))
    for answer, texts in (("Is it?", contexts), ("Cancel the contract.", ())):
        assert judge(answer, texts) is None
    assert "2 × no sentence or no context to judge" in judge.notes[0]


def test_a_gate_takes_a_judge(tmp_path, casebook):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    write_log(good, lambda *_: {})
    rows = [json.loads(line) for line in good.read_text().splitlines()]
    rows = [row | {"answer": row["answer"].rstrip(".") + " never."} for row in rows]
    bad.write_text("\n".join(map(json.dumps, rows)))
    gate = ("gate", "log", bad, "--against", good, "-m", "answered", "--json")
    assert casebook(*gate)[0] == 0
    code, text, _ = casebook(*gate, "--judge", "public")
    verdicts = {row["measure"]: row["verdict"] for row in json.loads(text)["rows"]}
    assert (code, verdicts["support"]) == (2, "fail")
    code, _, error = casebook(*gate, "--judge", "nope")
    assert code == 1 and "entailment:MODEL" in error and error.count("\n") == 1
