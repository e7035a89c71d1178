"""A new log of answers against an old one: the gate of an assistant."""

import math

import pandas as pd

from casebook.assistant.log import checked_log, not_answered
from casebook.assistant.study import (
    ANSWER_MEASURES,
    JUDGE_SCORE,
    score_answers,
    system_differences,
)
from casebook.errors import InputError
from casebook.frames import gate_of_row
from casebook.stats.samples import check_choice
from casebook.verdicts import INCOMPARABLE, MARGINS, worst_verdict

GATED = ("answered", "faithfulness", "token F1")  # answered: nothing passes by answering less


def gate_logs(
    new,
    old,
    measures=None,
    *,
    margin=MARGINS["share"],
    common=False,
    collection=None,
    judge=None,
    seed=0,
    **said,
):
    """Decide whether a new log is not worse than an old one by more than a margin, by question.

    Parameters
    ----------
    new, old : path-like
        Logs of the same questions, see `casebook.assistant.log.read_log`; paired by id where both
        name ids, else by question. With several systems those of one name are compared, or of one
        ending after the last comma.
    measures : sequence of str, optional
        Keys of `ANSWER_MEASURES`; by default those of `GATED` that both logs have. All must pass.
    margin : float, default 0.05
        Loss that is tolerated.
    common : bool
        Compare the questions that both have, if they are not the same ones.
    collection : str or path-like, optional
        Where contexts are ids of it.
    judge : str, optional
        What scores the answers besides, see `casebook.assistant.judge.load_judge`; each of its
        scores is a measure that must pass.
    seed : int
        Of the sign patterns.
    said : dict
        What is said of both logs: ``columns``, ``values``, ``rows`` and ``lists`` of `read_log`.

    Returns
    -------
    dict
        ``verdict`` (``pass``, ``fail``, ``undecided`` or ``incomparable``), ``rows`` (a contrast
        per measure and system with its own verdict: the lower bound of the 95 % interval lies above
        minus the margin, or the upper one below), ``notes`` and ``readings`` (what was read of the
        logs). Of answers that failed only
        ``answered`` says anything: without it the logs are incomparable, unless ``common``.

    Raises
    ------
    InputError
        If a log cannot be read or a measure is unknown.

    Examples
    --------
    >>> from casebook.assistant.gate import gate_logs
    >>> from casebook.paths import DATA
    >>> log = DATA / "assistant" / "answers.jsonl"
    >>> gate_logs(log, log, ["token F1"])["verdict"]
    'pass'
    """
    _check_gate(measures, margin)
    new_log = checked_log(new, collection, **said)
    old_log = checked_log(old, collection, **said)
    readings = new_log.attrs["readings"] + old_log.attrs["readings"]
    notes = [f"new: {note}" for note in not_answered(new_log["no_answer"])]
    notes += [f"old: {note}" for note in not_answered(old_log["no_answer"])]
    something_failed = any("not answered" in note for note in notes)
    if not (new_log.attrs["named"] and old_log.attrs["named"]):
        new_log = new_log.assign(id=new_log["question"])
        old_log = old_log.assign(id=old_log["question"])
    new_systems = new_log["system"].unique().tolist()
    old_systems = old_log["system"].unique().tolist()
    partners, alone = _partners(new_systems, old_systems)
    notes += [f"system {system!r} has no partner in the other log" for system in alone]
    incomparable = {"verdict": INCOMPARABLE, "rows": pd.DataFrame(), "notes": notes}
    incomparable["readings"] = readings
    if not partners:
        notes.append("no system is in both logs")
        return incomparable
    if measures and "answered" not in measures and something_failed and not common:
        notes.append("no measure counts what was not answered: gate 'answered' too")
        return incomparable
    rows = []
    for new_system, old_system in partners:
        new_answers = new_log[new_log["system"] == new_system]
        old_answers = old_log[old_log["system"] == old_system]
        same, different = _same_questions(new_answers, old_answers)
        if len(different) and not (common and len(same)):
            notes.append(
                f"{len(different)} questions differ, such as {min(different)[:60]!r}; "
                f"{len(same)} are the same"
            )
            return incomparable | {"rows": pd.DataFrame(rows)}
        if len(different):
            notes.append(f"{len(different)} questions differ and are left out")
        differences = _log_differences(
            new_answers, old_answers, same, measures or GATED, judge, margin=margin, seed=seed
        )
        notes += differences.attrs["notes"]
        differences = differences.assign(system=new_system, against=old_system)
        rows += differences.to_dict("records")
    if not rows:
        notes.append("no measure is in both logs")
        return incomparable
    for row in rows:
        row["verdict"] = gate_of_row(row, margin)
    verdict = worst_verdict([row["verdict"] for row in rows])
    return incomparable | {"verdict": verdict, "rows": pd.DataFrame(rows)}


def _check_gate(measures, margin):
    for measure in measures or ():
        check_choice("measure", measure, ANSWER_MEASURES)
    if not 0 <= margin < math.inf:
        raise InputError(f"margin {margin}: give a number from 0 on")


def _partners(new_systems, old_systems):
    """Pair the systems of two logs, and give those without a partner.

    They are paired by name, as the only ones, or as another model with and without retrieval.
    """
    by_ending = {system.rpartition(", ")[2]: system for system in old_systems}
    endings = {system: system.rpartition(", ")[2] for system in new_systems}
    if set(new_systems) & set(old_systems):
        partners = [(system, system) for system in new_systems if system in old_systems]
    elif len(new_systems) == len(old_systems) == 1:
        partners = [(new_systems[0], old_systems[0])]
    else:
        partners = [
            (system, by_ending[ending]) for system, ending in endings.items() if ending in by_ending
        ]
    paired = {system for pair in partners for system in pair}
    alone = [system for system in [*new_systems, *old_systems] if system not in paired]
    return partners, alone


def _same_questions(new, old):
    """Give the ids under which both ask the same question, and all others."""
    merged = new.merge(old, on="id", how="outer")
    same = merged["question_x"] == merged["question_y"]
    return merged.loc[same, "id"], merged.loc[~same, "id"]


def _log_differences(new, old, questions, measures, judge, *, margin, seed):
    """Paired differences of new and old answers to the same questions, with notes on the judge."""
    scores = []
    notes = []
    for name, answers in {"new": new, "old": old}.items():
        answers = answers[answers["id"].isin(questions)].assign(system=name)
        table = score_answers(answers, foreign=0, seed=seed)
        if judge is not None:
            from casebook.assistant.judge import judge_answers  # with models, which few need

            judge_scores = judge_answers(answers, judge, foreign=0, seed=seed)
            notes += [f"{name}: {note}" for note in judge_scores.attrs["notes"]]
            table = table.join(judge_scores)
        scores.append(table)
    rows = pd.concat(scores, ignore_index=True)
    rows["group"] = rows["id"].map(new.set_index("id")["group"])
    of_judge = [column for column in rows if column.startswith(JUDGE_SCORE)]
    if judge is not None and not of_judge:
        reasons = [note for note in notes if "gave no score" in note] or ["no answer to judge"]
        raise InputError(f"--judge {judge}: {'; '.join(reasons)}")
    measures = [*measures, *of_judge]
    differences = system_differences(
        rows, measures, pairs=[("new", "old")], margin=margin, seed=seed
    )
    differences.attrs["notes"] = notes
    return differences
