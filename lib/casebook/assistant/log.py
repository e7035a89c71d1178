"""Logs of an assistant's answers: a table with a row per question and system."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import read_roles, read_table, refusal, short
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.readers import did_you_mean, parse_cells, read_yaml
from casebook.text import UNSPACED, printable

ASSISTANT_WORDS = read_yaml(Path(__file__).with_name("names.yml"))
SCORE = "_score"  # ending of the columns that are scores where none is named
FLAGS = {"": None, "true": True, "false": False}
_KEYS = ["id", "system"]
_MOST_REASONS = 3  # that a note names


def read_log(
    paths, collection=None, columns=None, scores=(), *, values=None, rows=None, lists="json"
):
    """Read the answers of one or several systems to questions.

    Parameters
    ----------
    paths : path-like or list of path-like
        JSON lines, JSON, CSV, TSV, workbooks or parquet with columns ``question`` and ``answer``;
        see the methods page for all names that are read. Without a column ``system``, the name of
        a file is that of its system.
    collection : str or path-like, optional
        Data set or BEIR folder, where the contexts are ids of it instead of texts.
    columns : dict, optional
        Role to the column that has it, ``{"answer": "system_answer"}``; ``outputs.0.text`` leads
        into objects and lists, ``docs.*.text`` to each of a list, and ``-`` is no column.
    scores : sequence of str, optional
        Columns with scores of a tool or a judge; by default those that end in ``_score``.
    values : dict, optional
        Words in place of numbers to what they mean, ``{"pass": "1", "n/a": ""}``.
    rows : str, optional
        Path of the list in a JSON file that is an object, or sheet of a workbook.
    lists : str
        How a cell of a CSV holds several texts: ``json``, ``python``, ``one`` (a single text), or
        the mark between them.

    Returns
    -------
    pandas.DataFrame
        A row per question and system: ``id``, ``question``, ``answer``, ``contexts`` (list of
        texts, None without retrieval), ``context_ids``, ``reference``, ``relevant`` (list of ids),
        ``system``, ``group`` (the question's id where none is named), ``abstained``, ``seconds``,
        ``cost``, ``human`` (what people say of the answer, a number; NaN where they say nothing),
        ``references`` (all, where a question has several), ``no_answer`` (why a run failed that
        gave none; its ``answer`` is then empty and is not scored), ``scores`` (name to number, NaN
        where undefined: what a tool or a judge wrote, on its own scale).
        ``attrs["readings"]`` says of each file what was read and what was not,
        ``attrs["copies"]`` lists rows left out because they repeat another one, ``attrs["notes"]``
        says what was left out, and ``attrs["named"]`` whether questions have ids.

    Raises
    ------
    InputError
        With file, row and what to type, if a file or a row cannot be read, has no question, or
        contradicts another.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> line = {"user_input": "May I cancel?", "response": "Yes."}
    >>> line["retrieved_contexts"] = ["You may cancel."]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "ragas.jsonl")
    ...     _ = path.write_text(json.dumps(line))
    ...     log = read_log(path)
    >>> log.loc[0, ["question", "answer", "system"]].tolist(), log["contexts"][0]
    (['May I cancel?', 'Yes.', 'ragas'], ['You may cancel.'])
    """
    paths = [paths] if isinstance(paths, str | Path) else list(paths)
    scores = [scores] if isinstance(scores, str) else list(scores or ())
    tables = [read_table(path, rows) for path in paths]
    _check_scores(tables, scores)
    logs = []
    readings = []
    for table in tables:
        reading = _roles_of(table, columns, values, lists, scores)
        logs.append(_log_of(reading))
        reading.notes += _counts(logs[-1])
        readings.append(reading)
    log = pd.concat(logs, ignore_index=True)
    if collection:
        log = _with_texts(log, documents_of(collection))
    further = list(dict.fromkeys(name for reading in readings for name in reading.further))
    log, copies = _without_copies(_last_tries(log), ["human", *further])
    _refuse_two_wordings(log)
    log["scores"] = log[further].to_dict("records") if further else [{} for _ in log.index]
    log = log.drop(columns=[*further, "where", "cut_off"])
    log.attrs = {
        "readings": [reading.record() for reading in readings],
        "copies": copies,
        "notes": _notes(logs, log, copies),
        "named": all("id" in reading for reading in readings),
    }
    return log


def _check_scores(tables, scores):
    """Refuse a score that stands in no file: scores may have a file of their own."""
    names = {name for table in tables for name in table}
    for score in scores:
        if not names & {score, score.partition(".")[0]}:
            guess = did_you_mean(score, names)
            raise refusal(tables[0].attrs["path"], f"has no score {short(score)}{guess}")


def _roles_of(table, columns=None, values=None, lists="json", scores=()):
    """What is read of a table: question and answer, other roles, and the scores that it has."""
    there = [score for score in scores if score in table or score.partition(".")[0] in table]
    if not scores:
        there = [name for name in table if name.endswith(SCORE)]
    return read_roles(table, "log", ["question", "answer"], columns, values, lists, there)


def _log_of(reading):
    """Rows of one file under our names."""
    log = pd.DataFrame({"id": reading.texts("id" if "id" in reading else "question")})
    log["question"] = reading.texts("question")
    log["answer"] = reading.texts("answer", may_be_empty=True)
    log["contexts"], log["context_ids"] = contexts_of(reading)
    log["references"] = _references(reading)
    log["reference"] = log["references"].str[0]
    log["reference"] = log["reference"].astype(object).where(log["reference"].notna(), None)
    log["relevant"] = reading.lists("relevant")
    log["system"] = reading.path.name.split(".")[0]
    if "system" in reading:
        log["system"] = reading.names("system")
    group = reading.texts("group", may_be_empty=True)
    log["group"] = group.where(group != "", log["id"])
    for role in ("abstained", "cut_off"):
        log[role] = _flags(reading, role)
    for role in ("seconds", "cost"):
        log[role] = reading.numbers(role)
        for row in log.index[log[role] < 0][:1]:
            reading.refuse(row, f"{role} {log.loc[row, role]:g} is below 0")
    reasons = reading.texts("no_answer", may_be_empty=True)
    failed = (reasons != "") & (log["answer"] == "")
    log["no_answer"] = reasons.map(printable).where(failed, None)
    for name in ("human", *reading.further):
        log[name] = reading.numbers(name)
    return log.assign(where=[f"{reading.path}:{row}" for row in log.index])


def contexts_of(reading):
    """Texts and ids of contexts; one that is an object has a ``text`` and may have an ``id``."""
    ids = reading.lists("context_ids")
    cells = reading.table.get("contexts", ids)
    objects = cells[cells.map(_are_objects)]
    if "contexts" in reading:
        reading.table["contexts"] = cells.where(
            ~cells.index.isin(objects.index), objects.map(_texts)
        )
    contexts = reading.lists("contexts")
    for row, cell in objects.items():
        if all("id" in context for context in cell):
            ids[row] = [str(context["id"]) for context in cell]
    for row, texts in contexts.items():
        if texts is not None and ids[row] is not None and len(texts) != len(ids[row]):
            problem = f"{len(texts)} contexts and {len(ids[row])} context ids: give one id a"
            reading.refuse(row, f"{problem} context")
    return contexts, ids


def _are_objects(cell):
    is_list = isinstance(cell, list) and len(cell) > 0
    return is_list and all(isinstance(each, dict) and "text" in each for each in cell)


def _texts(objects):
    return [each["text"] for each in objects]


def _references(reading):
    """Lists of reference answers: a cell is one text, or a list."""
    if "reference" in reading:
        cells = reading.table["reference"]
        is_list = cells.map(lambda cell: isinstance(cell, list) or cell.startswith(('["', "['")))
        single = cells[~is_list].map(lambda cell: [cell] if cell else "")
        reading.table["reference"] = cells.where(is_list, single)
    references = reading.lists("reference")
    return references.where(references.map(bool), None)


def _flags(reading, role):
    """Cells that are true, false or empty."""
    words = reading.texts(role, may_be_empty=True)
    words = words.map(lambda word: reading.values.get(word, word)).str.lower()
    for row in words.index[~words.isin(list(FLAGS))][:1]:
        problem = f"{role} {short(words[row])} is neither true nor false"
        reading.refuse(row, f"{problem}: type --values WORD=true or WORD=false")
    return words.map(FLAGS).astype(object).where(words != "", None)


def _counts(log):
    """Say how much of everything a file has."""
    contexts = log["contexts"].dropna()
    yield (
        f"{log['id'].nunique()} questions; systems {', '.join(log['system'].unique())}; "
        f"{(log['answer'] == '').sum()} answers empty; {len(contexts)} rows with contexts, "
        f"{contexts.map(len).sum()} contexts"
    )


def read_row(record):
    """One reply under our names, or its refusal: what passes here `read_log` reads."""
    content = parse_cells(json.dumps(record, allow_nan=False))
    table = pd.DataFrame([content], [1], dtype=object)
    table.attrs["path"] = Path("reply")
    return _log_of(_roles_of(table)).iloc[0].to_dict()


def _with_texts(log, documents):
    """Texts of a collection in place of the ids of contexts."""
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    log["context_ids"] = log["context_ids"].where(log["context_ids"].notna(), log["contexts"])
    for where, ids in zip(log["where"], log["context_ids"], strict=True):
        for name in ids or ():
            if name not in texts:
                problem = f"context {short(name)} is no id of the collection"
                raise refusal(where, f"{problem}: check --collection")
    log["contexts"] = [ids and [texts[name] for name in ids] for ids in log["context_ids"]]
    return log


# --- rows that belong together


def _last_tries(log):
    """Leave out the failures of what was asked again later."""
    is_last = ~log.duplicated(_KEYS, keep="last")
    return log[log["no_answer"].isna() | is_last]


def _without_copies(log, numbers):
    """Leave out rows that repeat another; their numbers join it, and contradictions are refused."""
    log = log.reset_index(drop=True)
    copies = []
    repeats = log[log.duplicated(_KEYS, keep=False)]
    for (name, system), same in repeats.groupby(_KEYS, sort=False):
        first = same.iloc[0]
        for _, row in same.iloc[1:].iterrows():
            for column in ("answer", "contexts", "context_ids"):
                if first[column] != row[column]:
                    problem = (
                        f"{short(system)} answered {short(name)} otherwise in {first['where']}"
                    )
                    raise refusal(row["where"], f"{problem}: keep one, or name two systems")
            copies.append(f"{row['where']}, as in {first['where']}")
        for column in numbers:
            told = same[column].dropna()
            if told.min() < told.max():
                problem = f"{column} of {short(name)} is {told.iloc[-1]:g}, and {told.iloc[0]:g} in"
                where = same.loc[told.index, "where"]
                raise refusal(where.iloc[-1], f"{problem} {where.iloc[0]}: keep one of them")
            log.loc[same.index, column] = told.iloc[0] if len(told) else float("nan")
    return log.drop_duplicates(_KEYS).reset_index(drop=True), copies


def _refuse_two_wordings(log):
    """Refuse an id that names two questions, or a question with two references."""
    for column in ("question", "references", "relevant"):
        told = log[log[column].notna()]
        words = told[column].map(str)
        first = words.groupby(told["id"]).transform("first")
        for position in told.index[words != first][:1]:
            row = told.loc[position]
            other = told.loc[(told["id"] == row["id"]).idxmax(), "where"]
            name = column.rstrip("s")
            problem = f"{name} of id {short(row['id'])} differs from that in {other}"
            raise refusal(row["where"], f"{problem}: one id names one question")


def _notes(logs, log, copies):
    """Say what was left out of a log, and what is not read as somebody might think."""
    notes = not_answered(log["no_answer"])
    if copies:
        notes.append(f"{len(copies)} repeated rows are left out")
    cut_off = sum((each["cut_off"] == True).sum() for each in logs)  # noqa: E712
    if cut_off:
        notes.append(f"{cut_off} answers were cut off at the model's limit")
    ids = log.drop_duplicates("id")["question"]
    n_twice = ids[ids.duplicated()].nunique()
    if n_twice:
        notes.append(f"{n_twice} questions stand under several ids")
    return notes


def not_answered(reasons):
    """Say how many rows have a reason instead of an answer, and the commonest reasons.

    Gives a list of one line, or of none.
    """
    counts = Counter(reason for reason in reasons if isinstance(reason, str))
    if not counts:
        return []
    reasons = [f"{count} × {reason[:100]}" for reason, count in counts.most_common(_MOST_REASONS)]
    if len(counts) > _MOST_REASONS:
        reasons.append(f"and {len(counts) - _MOST_REASONS} other reasons")
    return [f"not answered: {counts.total()} ({'; '.join(reasons)})"]


# --- what is asked of a log


def checked_log(paths, collection=None, columns=None, scores=(), **said):
    """Read a log in which there is something to measure, see `read_log`."""
    log = read_log(paths, collection, columns, scores, **said)
    contexts = [text for texts in log["contexts"].dropna() for text in texts]
    if contexts and not collection and not any(map(_is_text, contexts)):
        raise InputError(
            f"{paths}: contexts such as {contexts[0][:40]!r} are no texts: write the texts, or "
            "name the data set or folder that they are ids of as collection"
        )
    if not (
        log["contexts"].map(bool).any()
        or log["reference"].notna().any()
        or log["scores"].map(bool).any()
        or len(log["system"].unique()) > 1
    ):
        raise InputError(
            f"{paths}: has neither contexts nor references nor a second system, so nothing can be "
            "measured: add a column 'contexts' or 'reference', name a second log, or say with "
            "columns= which of yours they are"
        )
    return log


def _is_text(context):
    """Whether a context has blanks, or a script that puts none."""
    return " " in context.strip() or UNSPACED.search(context)


def check_systems(log, **systems):
    """Refuse systems that parameters name and that have no answers in a log."""
    there = log["system"].unique().tolist()
    for name, system in systems.items():
        if system and system not in there:
            raise InputError(
                f"{name}: the log has no system {system!r}{did_you_mean(system, there)}; "
                f"it has {', '.join(there)}"
            )
    if len(set(systems.values())) < len(systems) and any(systems.values()):
        raise InputError(f"{' and '.join(systems)} are the same system: choose another one")


def documents_of(name):
    """Read the documents of a folder, whatever its name, or of a data set."""
    if Path(name).is_dir():
        return read_collection(Path(name))
    folder = data_folder(name)
    if folder:
        return read_collection(folder[1])
    return load(str(name)).documents
