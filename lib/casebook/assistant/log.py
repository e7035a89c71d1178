"""Logs of an assistant's answers: a table with a row per question and system."""

from pathlib import Path

import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.registry import load
from casebook.data.tables import read_roles, read_table, refusal, short
from casebook.paths import data_folder
from casebook.readers import read_yaml
from casebook.text import printable

ASSISTANT_WORDS = read_yaml(Path(__file__).with_name("names.yml"))
SCORE = "_score"  # ending of the columns that are scores where none is named
FLAGS = {
    "true": "1",
    "True": "1",
    "TRUE": "1",
    "false": "0",
    "False": "0",
    "FALSE": "0",
}
KEYS = ["id", "system"]


def read_log(
    paths,
    collection=None,
    columns=None,
    scores=(),
    *,
    values=None,
    rows=None,
    lists="json",
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
        A row per question and system: ``id`` (the question where none is named), ``question``,
        ``answer``, ``contexts`` (list of texts, None without retrieval),
        ``references`` (list of texts) and ``reference``, the first of them, ``system``, ``group``
        (by default the id), ``abstained``, ``seconds``, ``cost``, ``human`` (what people say of
        the answer, a number), ``no_answer`` (why a run failed; its ``answer`` is then empty and is
        not scored), ``scores`` (name to number, on the tool's own scale). ``attrs["readings"]``
        says of each file what was read and what was not.

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
    scores = [scores] if isinstance(scores, str) else list(scores or ())
    meanings = FLAGS | (values or {})
    needed = ["question", "answer"]
    logs = []
    readings = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        table = read_table(path, rows)
        named = scores or [name for name in table if name.endswith(SCORE)]
        reading = read_roles(table, "log", needed, columns, meanings, lists, named)
        logs.append(_log_of(reading))
        readings.append(reading.record())
    log = pd.concat(logs, ignore_index=True)
    if collection:
        log = _with_texts(log, documents_of(collection))
    log = _one_row_each(log).drop(columns="where").reset_index(drop=True)
    objects = log.select_dtypes(object, exclude="str")
    log[objects.columns] = objects.where(objects.notna(), None)
    log.attrs["readings"] = readings
    return log


def _log_of(reading):
    """Rows of one table under our names."""
    named = "system" in reading
    columns = {
        "question": reading.texts("question"),
        "id": reading.texts("id" if "id" in reading else "question"),
        "answer": reading.texts("answer", may_be_empty=True),
        "contexts": reading.lists("contexts"),
        "references": reading.lists("reference", may_be_text=True),
        "system": reading.names("system") if named else reading.path.name.split(".")[0],
    }
    log = pd.DataFrame(columns)
    log["reference"] = log["references"].str[0]
    group = reading.texts("group", may_be_empty=True)
    log["group"] = group.replace("", None).fillna(log["id"])
    for role in ("seconds", "cost", "human"):
        log[role] = reading.numbers(role)
    scores = {name: reading.numbers(name) for name in reading.further}
    log["scores"] = pd.DataFrame(scores, log.index).to_dict("records")
    flags = reading.labels("abstained", ("1", "0"))
    log["abstained"] = flags.map({"1": True, "0": False}).astype(object)
    reasons = reading.texts("no_answer", may_be_empty=True).map(printable)
    log["no_answer"] = reasons.where((reasons != "") & (log["answer"] == "")).astype(
        object
    )
    reading.notes.append(f"systems {', '.join(log['system'].unique())}")
    log["where"] = [f"{reading.path}:{row}" for row in log.index]
    return log


def _with_texts(log, documents):
    """Texts of a collection in place of the ids of contexts."""
    texts = documents.set_index("doc_id")["text"]
    names = log["contexts"].explode().dropna()
    for row, name in names[~names.isin(texts.index)][:1].items():
        problem = (
            f"context {short(name)} is no id of the collection: check --collection"
        )
        raise refusal(log["where"][row], problem)
    contexts = log["contexts"].map(lambda ids: texts[ids].tolist(), na_action="ignore")
    return log.assign(contexts=contexts)


def _one_row_each(log):
    """A row a question and system: of tries that failed the last, all else is refused."""
    is_tried_again = log["no_answer"].notna() & log.duplicated(KEYS, keep="last")
    log = log[~is_tried_again]
    for row in log.index[log.duplicated(KEYS)][:1]:
        name = short(log["id"][row])
        raise refusal(
            log["where"][row], f"{name} has a second answer of a system: keep one"
        )
    for column in ("question", "references"):
        texts = log[column].dropna().map(str)
        first = texts.groupby(log["id"]).transform("first")
        for row in texts.index[texts != first][:1]:
            problem = f"{column} of {short(log['id'][row])} differs from an earlier row"
            raise refusal(log["where"][row], f"{problem}: an id names one question")
    return log


def not_answered(reasons):
    """How many rows have a reason instead of an answer, with the commonest: a line, or none."""
    counts = reasons.value_counts()
    commonest = counts.head(1).items()
    return [
        f"not answered: {counts.sum()} ({n} × {text[:100]})" for text, n in commonest
    ]


# --- what is asked of a log


def documents_of(name):
    """Read the documents of a folder, whatever its name, or of a data set."""
    folder = (name, name) if Path(name).is_dir() else data_folder(name)
    return read_collection(Path(folder[1])) if folder else load(str(name)).documents
