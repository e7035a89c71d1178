"""A new log of answers against an old one: the gate of an assistant."""

import pandas as pd

from casebook.assistant.log import checked_log, not_answered
from casebook.assistant.study import ANSWER_MEASURES, JUDGED, pair_contrasts, score_answers
from casebook.frames import gate_of_row
from casebook.stats.samples import check_choice
from casebook.verdicts import INCOMPARABLE, MARGINS, worst_verdict

GATED = ("answered", "faithfulness", "token F1")  # answered: nothing passes by answering less
VERSIONS = ("new", "old")
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
        Logs of the same questions, see `casebook.assistant.log.read_log`; paired by id. Systems of
        one name are compared, the only ones, or those of one ending after the last comma.
    measures : sequence of str, optional
        Keys of `ANSWER_MEASURES`; by default those of `GATED` that both logs have. All must pass,
        and ``answered`` always.
    margin : float, default 0.05
        Loss that is tolerated.
    common : bool
        Compare the questions that both have, if they are not the same ones.
    collection : str or path-like, optional
        Where contexts are ids of it.
    judge : str, optional
        What scores the answers besides, see `casebook.assistant.judge`; its score must pass too.
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
        logs).

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
    chosen = dict.fromkeys(["answered", *(measures or GATED), *([JUDGED] if judge else [])])
    logs = [checked_log(log, collection, **said) for log in (new, old)]
    notes = []
    readings = []
    for name, log in zip(VERSIONS, logs, strict=True):
        notes += [f"{name}: {note}" for note in not_answered(log["no_answer"])]
        readings += log.attrs["readings"]
    gate = {"verdict": INCOMPARABLE, "rows": pd.DataFrame(), "notes": notes, "readings": readings}
    tables = []
    for systems in _partners(*(log["system"].unique() for log in logs)):
        if None in systems:
            notes.append(f"system {systems[0]!r} has no partner in the old log")
            continue
        answers = []
        for log, system in zip(logs, systems, strict=True):
            answers.append(log[log["system"] == system].set_index("id"))
        texts = pd.concat([log["question"] for log in answers], axis=1, keys=VERSIONS)
        is_same = texts["new"] == texts["old"]
        different = texts.index[~is_same]
        if len(different):
            notes.append(f"{len(different)} questions differ, such as {different[0]!r:.60}")
        if len(different) and not (common and is_same.any()):
            return gate
        scored = []
        for name, log in zip(VERSIONS, answers, strict=True):
            same = log.loc[texts.index[is_same]].reset_index()
            scored.append(_scored(same, judge, seed, notes).assign(system=name))
        settings = {"dataset": "", "margin": margin, "neutral": False, "seed": seed}
        found = pair_contrasts(pd.concat(scored), chosen, [VERSIONS], **settings)
        tables.append(found.assign(system=systems[0], against=systems[1]))
    if not tables:
        return gate
    rows = pd.concat(tables, ignore_index=True)[COLUMNS]
    rows["measure"] = rows["measure"].replace({name: key for key, name in ANSWER_MEASURES.items()})
    rows["verdict"] = [gate_of_row(row, margin) for row in rows.to_dict("records")]
    return gate | {"verdict": worst_verdict(rows["verdict"].tolist()), "rows": rows}


def _scored(answers, judge, seed, notes):
    """Scores of answers; notes of the judge are added."""
    table = score_answers(answers, foreign=0, seed=seed)
    if judge is not None:
        from casebook.assistant.judge import judge_answers  # with models, which few need

        judged = judge_answers(answers, judge, foreign=0, seed=seed)
        notes += judged.attrs["notes"]
        table = table.assign(**judged)
    return table


def _partners(new, old):
    """Systems of two logs by name, as the only ones, or by what follows the last comma."""
    if len(new) == len(old) == 1:
        return [(new[0], old[0])]
    by_ending = {system.rpartition(", ")[2]: system for system in old}
    named = {system: system for system in old}
    return [
        (system, named.get(system, by_ending.get(system.rpartition(", ")[2]))) for system in new
    ]
