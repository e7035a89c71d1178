"""Logs of an assistant's answers: a table with a row per question and system."""

from pathlib import Path

import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import listed, read_roles, read_table, refusal, short
from casebook.errors import InputError
from casebook.paths import data_folder
from casebook.readers import did_you_mean, read_yaml
from casebook.text import UNSPACED, printable

ASSISTANT_WORDS = read_yaml(Path(__file__).with_name("names.yml"))
SCORE = "_score"  # ending of the columns that are scores where none is named
FLAGS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}
KEYS = ["id", "system"]


def read_log(
    paths, collection=None, columns=None, scores=(), *, values=None, rows=None, lists="json"
):
    """Answers of one or several systems to questions.

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
        ``attrs["notes"]`` says what was left out, and ``attrs["named"]`` whether questions have
        ids.

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
    read = [log_of(table, scores, columns, values, lists) for table in tables]
    logs, readings = zip(*read, strict=True)
    further = list(dict.fromkeys(name for reading in readings for name in reading.further))
    for score in [name for name in scores if name not in further][:1]:
        problem = f"has no score {short(score)}; not read: {listed(readings[0].unread)}"
        raise refusal(paths[0], problem)
    log = pd.concat(logs, ignore_index=True)
    if collection:
        log = _with_texts(log, documents_of(collection))
    is_tried_again = log["no_answer"].notna() & log.duplicated(KEYS, keep="last")
    log = log[~is_tried_again]
    notes = not_answered(log["no_answer"])
    log = _one_row_each(log, ["human", *further])
    log["scores"] = log[further].to_dict("records")
    log = log.drop(columns=[*further, "where"])
    objects = log.select_dtypes(object, exclude="str")
    log[objects.columns] = objects.where(objects.notna(), None)
    log.attrs = {
        "readings": [reading.record() for reading in readings],
        "notes": notes,
        "named": all("id" in reading for reading in readings),
    }
    return log


def log_of(table, scores=(), columns=None, values=None, lists="json"):
    """Rows of one table under our names, and its reading; scores may be in other tables."""
    there = [name for name in scores if name in table or name.partition(".")[0] in table]
    if not scores:
        there = [name for name in table if name.endswith(SCORE)]
    needed = ["question", "answer"]
    reading = read_roles(table, "log", needed, columns, FLAGS | (values or {}), lists, there)
    log = pd.DataFrame({"id": reading.texts("id" if "id" in reading else "question")})
    log["question"] = reading.texts("question")
    log["answer"] = reading.texts("answer", may_be_empty=True)
    for role in ("contexts", "context_ids", "relevant"):
        log[role] = reading.lists(role)
    n_parts = log[["contexts", "context_ids"]].map(len, na_action="ignore").dropna()
    for row in n_parts.index[n_parts["contexts"] != n_parts["context_ids"]][:1]:
        reading.refuse(row, "has not as many contexts as context ids: give one id a context")
    log["references"] = reading.lists("reference", may_be_text=True)
    log["reference"] = log["references"].str[0]
    log["system"] = reading.path.name.split(".")[0]
    if "system" in reading:
        log["system"] = reading.names("system")
    group = reading.texts("group", may_be_empty=True)
    log["group"] = group.where(group != "", log["id"])
    for name in ("seconds", "cost", "human", *reading.further):
        log[name] = reading.numbers(name)
    abstained = reading.labels("abstained", ("1", "0"))
    log["abstained"] = abstained.map({"1": True, "0": False}).astype(object)
    reasons = reading.texts("no_answer", may_be_empty=True).map(printable)
    log["no_answer"] = reasons.where((reasons != "") & (log["answer"] == ""))
    contexts = log["contexts"]
    reading.notes.append(
        f"{log['id'].nunique()} questions; systems {', '.join(log['system'].unique())}; "
        f"{(log['answer'] == '').sum()} answers empty; {contexts.notna().sum()} rows with "
        f"contexts, {contexts.explode().count()} contexts"
    )
    return log.assign(where=[f"{reading.path}:{row}" for row in log.index]), reading


def _with_texts(log, documents):
    """Texts of a collection in place of the ids of contexts."""
    texts = documents.set_index("doc_id")["text"]
    ids = log["context_ids"].where(log["context_ids"].notna(), log["contexts"])
    names = ids.explode().dropna()
    for row, name in names[~names.isin(texts.index)][:1].items():
        problem = f"context {short(name)} is no id of the collection: check --collection"
        raise refusal(log["where"][row], problem)
    contexts = ids.map(lambda found: texts[found].tolist(), na_action="ignore")
    return log.assign(context_ids=ids, contexts=contexts)


def _one_row_each(log, numbers):
    """A row a question and system: repeats are joined, and refused if they contradict another."""
    of_question = ["question", "references", "relevant"]
    columns = [*of_question, "answer", "contexts", "context_ids", *numbers]
    for column in columns:
        said = log[log[column].notna()]
        keys = ["id"] if column in of_question else KEYS
        first = said.groupby(keys)[[column, "where"]].transform("first")
        for row in said.index[said[column].map(str) != first[column].map(str)][:1]:
            problem = f"{column} of {short(said['id'][row])} differs from {first['where'][row]}"
            remedy = "an id names one question, and a system answers it once"
            raise refusal(said["where"][row], f"{problem}: {remedy}")
    log[columns] = log.groupby(KEYS)[columns].transform("first")
    return log.drop_duplicates(KEYS, ignore_index=True)


def not_answered(reasons):
    """How many rows have a reason instead of an answer, and the commonest ones: a line or none."""
    counts = reasons.value_counts()
    commonest = "; ".join(f"{n} × {reason[:100]}" for reason, n in counts.head(3).items())
    return [f"not answered: {counts.sum()} ({commonest})"] if commonest else []


# --- what is asked of a log


def checked_log(paths, collection=None, columns=None, scores=(), **said):
    """Read a log in which there is something to measure, see `read_log`."""
    log = read_log(paths, collection, columns, scores, **said)
    contexts = log["contexts"].explode().dropna()
    is_text = contexts.str.contains(rf"\S +\S|{UNSPACED.pattern}")  # a blank, or no need of one
    if len(contexts) and not collection and not is_text.any():
        raise InputError(
            f"{paths}: contexts such as {contexts.iloc[0][:40]!r} are no texts: write the texts, "
            "or name the data set or folder that they are ids of as collection"
        )
    has_something = log["contexts"].map(bool) | log["reference"].notna() | log["scores"].map(bool)
    if not has_something.any() and log["system"].nunique() < 2:
        raise InputError(
            f"{paths}: has neither contexts nor references nor a second system, so nothing can be "
            "measured: add a column 'contexts' or 'reference', name a second log, or say with "
            "columns= which of yours they are"
        )
    return log


def check_systems(log, **systems):
    """Refuse systems that parameters name and that have no answers in a log."""
    there = log["system"].unique().tolist()
    for name, system in systems.items():
        if system and system not in there:
            near = did_you_mean(system, there)
            has = f"has no system {system!r}{near}; it has {', '.join(there)}"
            raise InputError(f"{name}: the log {has}")
    if len(set(systems.values())) < len(systems) and any(systems.values()):
        raise InputError(f"{' and '.join(systems)} are the same system: choose another one")


def documents_of(name):
    """Read the documents of a folder, whatever its name, or of a data set."""
    folder = (name, name) if Path(name).is_dir() else data_folder(name)
    return read_collection(Path(folder[1])) if folder else load(str(name)).documents
