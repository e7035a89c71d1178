"""A new log of answers against an old one: the gate of an assistant."""

import pandas as pd

from casebook.assistant.log import not_answered, read_log
from casebook.assistant.study import (
    ANSWER_MEASURES,
    JUDGED,
    pair_contrasts,
    score_answers,
)
from casebook.frames import gate_of_row
from casebook.stats.samples import check_choice
from casebook.verdicts import INCOMPARABLE, MARGINS, worst_verdict

# With answered, so that nothing passes by answering less.
GATED = ("answered", "faithfulness", "token F1")
VERSIONS = ("new", "old")
COLUMNS = [
    *("system", "against", "measure", "level", "baseline", "difference", "low", "high"),
    *("n", "groups", "p", "verdict", "reason"),
]


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
    chosen = ["answered", *(measures or GATED)]
    if judge is not None:
        from casebook.assistant.judge import AnswerJudge  # with models, which few need

        judge = AnswerJudge(judge)
        chosen.append(JUDGED)
    logs = [read_log(log, collection, **said) for log in (new, old)]
    notes = []
    readings = []
    for name, log in zip(VERSIONS, logs, strict=True):
        notes += [f"{name}: {note}" for note in not_answered(log["no_answer"])]
        readings += log.attrs["readings"]
    gate = {
        "verdict": INCOMPARABLE,
        "rows": pd.DataFrame(),
        "notes": notes,
        "readings": readings,
    }
    settings = {"dataset": "", "margin": margin, "neutral": False, "seed": seed}
    tables = []
    for systems in _partners(*(log["system"].unique() for log in logs)):
        if None in systems:
            notes.append(f"system {systems[0]!r} has no partner in the old log")
            continue
        pairs = zip(logs, systems, strict=True)
        answers = [
            log[log["system"] == system].set_index("id") for log, system in pairs
        ]
        texts = pd.concat([log["question"] for log in answers], axis=1, keys=VERSIONS)
        is_same = texts["new"] == texts["old"]
        if not is_same.all():
            first = is_same.idxmin()
            notes.append(f"{(~is_same).sum()} questions differ, such as {first!r:.60}")
            if not (common and is_same.any()):
                return gate
        scored = []
        for name, log in zip(VERSIONS, answers, strict=True):
            same = log.loc[texts.index[is_same]].reset_index()
            found = score_answers(same, foreign=0, seed=seed, judge=judge)
            scored.append(found.assign(system=name))
        found = pair_contrasts(
            pd.concat(scored), dict.fromkeys(chosen), [VERSIONS], **settings
        )
        tables.append(found.assign(system=systems[0], against=systems[1]))
    if judge is not None:
        notes += judge.notes
    if not tables:
        return gate
    rows = pd.concat(tables, ignore_index=True)[COLUMNS]
    keys = {name: key for key, name in ANSWER_MEASURES.items()}
    rows["measure"] = rows["measure"].replace(keys)
    rows["verdict"] = [gate_of_row(row, margin) for row in rows.to_dict("records")]
    return gate | {"verdict": worst_verdict(rows["verdict"].tolist()), "rows": rows}


def _partners(new, old):
    """Systems of two logs by name, as the only ones, or by what follows the last comma."""
    if len(new) == len(old) == 1:
        return [(new[0], old[0])]
    partners = {ending_of(system): system for system in old} | dict(
        zip(old, old, strict=True)
    )
    return [
        (system, partners.get(system, partners.get(ending_of(system))))
        for system in new
    ]


def ending_of(system):
    return system.rpartition(", ")[2]
