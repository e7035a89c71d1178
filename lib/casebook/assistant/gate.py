"""A new log of answers against an old one: the gate of an assistant."""

import math

import pandas as pd

from casebook.assistant.log import checked_log, not_answered
from casebook.assistant.study import (
    ANSWER_MEASURES,
    JUDGE_SCORE,
    pair_contrasts,
    score_answers,
)
from casebook.errors import InputError
from casebook.frames import gate_of_row
from casebook.stats.samples import check_choice
from casebook.verdicts import INCOMPARABLE, MARGINS, worst_verdict

GATED = ("answered", "faithfulness", "token F1")  # answered: nothing passes by answering less
COLUMNS = ["system", "against", "measure", "level", "baseline", "difference", "low", "high", "n"]
COLUMNS += ["groups", "p", "verdict", "reason"]


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
    for measure in measures or ():
        check_choice("measure", measure, ANSWER_MEASURES)
    if not 0 <= margin < math.inf:
        raise InputError(f"margin {margin}: give a number from 0 on")
    new_log = checked_log(new, collection, **said)
    old_log = checked_log(old, collection, **said)
    notes = [f"new: {note}" for note in not_answered(new_log["no_answer"])]
    notes += [f"old: {note}" for note in not_answered(old_log["no_answer"])]
    gate = {"verdict": INCOMPARABLE, "rows": pd.DataFrame(), "notes": notes}
    gate["readings"] = new_log.attrs["readings"] + old_log.attrs["readings"]
    if notes and measures and "answered" not in measures and not common:
        notes.append("no measure counts what was not answered: gate 'answered' too")
        return gate
    if not (new_log.attrs["named"] and old_log.attrs["named"]):
        new_log = new_log.assign(id=new_log["question"])
        old_log = old_log.assign(id=old_log["question"])
    partners, alone = _partners(new_log["system"].unique(), old_log["system"].unique())
    notes += [f"system {system!r} has no partner in the other log" for system in alone]
    tables = []
    for new_system, old_system in partners:
        logs = {
            "new": new_log[new_log["system"] == new_system],
            "old": old_log[old_log["system"] == old_system],
        }
        merged = logs["new"].merge(logs["old"], on="id", how="outer")
        is_same = merged["question_x"] == merged["question_y"]
        same = merged.loc[is_same, "id"]
        different = merged.loc[~is_same, "id"]
        if len(different) and not (common and len(same)):
            notes.append(
                f"{len(different)} questions differ, such as {min(different)[:60]!r}; "
                f"{len(same)} are the same"
            )
            return gate
        if len(different):
            notes.append(f"{len(different)} questions differ and are left out")
        rows = _scored(logs, same, judge, seed, notes)
        of_judge = [column for column in rows if column.startswith(JUDGE_SCORE)]
        chosen = [*(measures or GATED), *of_judge]
        settings = {"dataset": "", "margin": margin, "neutral": False, "seed": seed}
        found = pair_contrasts(rows, chosen, [("new", "old")], **settings)
        tables.append(found.assign(system=new_system, against=old_system))
    tables = [table for table in tables if "difference" in table]
    if not tables:
        notes.append("no measure is in both logs" if partners else "no system is in both logs")
        return gate
    rows = pd.concat(tables, ignore_index=True)[COLUMNS]
    rows["verdict"] = [gate_of_row(row, margin) for row in rows.to_dict("records")]
    return gate | {"verdict": worst_verdict(rows["verdict"].tolist()), "rows": rows}


def _scored(logs, questions, judge, seed, notes):
    """Scores of new and old answers to the same questions; notes on the judge are added."""
    tables = []
    for name, answers in logs.items():
        answers = answers[answers["id"].isin(questions)].assign(system=name)
        table = score_answers(answers, foreign=0, seed=seed)
        if judge is not None:
            from casebook.assistant.judge import judge_answers  # with models, which few need

            judged = judge_answers(answers, judge, foreign=0, seed=seed)
            notes += [f"{name}: {note}" for note in judged.attrs["notes"]]
            table = table.join(judged)
        tables.append(table)
    rows = pd.concat(tables, ignore_index=True)
    if judge is not None and not any(column.startswith(JUDGE_SCORE) for column in rows):
        reasons = [note for note in notes if "gave no score" in note] or ["no answer to judge"]
        raise InputError(f"--judge {judge}: {'; '.join(reasons)}")
    groups = logs["new"].set_index("id")["group"]
    return rows.assign(group=rows["id"].map(groups))


def _partners(new_systems, old_systems):
    """Pairs of systems of two logs, and those without a partner.

    They are paired by name, as the only ones, or as another model with and without retrieval.
    """
    partners = [(system, system) for system in new_systems if system in old_systems]
    if not partners and len(new_systems) == len(old_systems) == 1:
        partners = [(new_systems[0], old_systems[0])]
    elif not partners:
        by_ending = {system.rpartition(", ")[2]: system for system in old_systems}
        endings = {system: system.rpartition(", ")[2] for system in new_systems}
        partners = [(new, by_ending[end]) for new, end in endings.items() if end in by_ending]
    paired = {system for pair in partners for system in pair}
    return partners, [name for name in [*new_systems, *old_systems] if name not in paired]
