"""Runs that exist: what a system that is not here returned for the questions of a data set.

A file is a TREC run, a JSON object ``{query: {document: score}}`` (BEIR, ranx, pytrec_eval), or a
table with a column each for query, document and score (`casebook.data.rankings`).
"""

from pathlib import Path

import pandas as pd

from casebook.data.rankings import is_table, read_rankings
from casebook.data.tables import ENDINGS
from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import OPENERS
from casebook.retrieval.pipeline import EVALUATION_DEPTH
from casebook.retrieval.settings import SYSTEM_NAMES
from casebook.trec import read_run

_ENDINGS = (*ENDINGS, ".res", ".run", ".trec", ".txt")  # left out of a system's name


def read_runs(paths):
    """Read run files.

    Parameters
    ----------
    paths : path-like, list of path-like or None
        TREC runs, plain or gzip-compressed, ``.json``, ``.jsonl``, ``.csv``, ``.tsv``,
        ``.parquet``.

    Returns
    -------
    dict of str to dict
        System to its run, ``{query: {document: score}}``. A system is named after its file
        without endings, or after the whole file where a system of ours has that name.

    Raises
    ------
    InputError
        With file and line, if a file cannot be read, holds a document twice for a query or a
        score that is no finite number, or if two files have one name.
    """
    if paths is None:
        paths = []
    elif isinstance(paths, str | Path):
        paths = [paths]
    runs = {}
    file_of = {}
    for path in map(Path, paths):
        name = run_name(path)
        earlier = file_of.setdefault(name.casefold(), path)
        if earlier != path or name in runs:
            raise InputError(f"{path}: its system {name!r} is that of {earlier}: rename the file")
        runs[name] = read_run_file(path)
    return runs


def run_name(path):
    """Name the system of a run file."""
    path = Path(path)
    file = path.with_suffix("") if path.suffix in OPENERS else path
    name = file.stem if file.suffix.lower() in _ENDINGS else file.name
    if name in SYSTEM_NAMES:
        name = file.name if file.name != name else f"{name}.run"
    try:
        return valid_name(name, "the name of a run")
    except InputError as error:
        raise InputError(f"{path}: {error}: rename the file") from None


def read_run_file(path):
    """Read one run, ``{query: {document: score}}``."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name the run files in it")
    return read_rankings(path, "run")[0] if is_table(path, "run") else read_run(path)


# --- a run on a data set


def ranked_run(dataset, run):
    """Rank what a run holds for the questions of a data set: best first, ties by id descending.

    As deep as systems of ours rank for evaluation; where a question has candidates, of them only.
    """
    rows = []
    for query in dataset.queries["query_id"]:
        scores = run.get(query, {})
        depth = EVALUATION_DEPTH
        if dataset.candidates is not None:
            pool = set(dataset.candidates[query])
            depth = max(depth, len(pool))
            scores = {document: score for document, score in scores.items() if document in pool}
        ranked = sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)
        rows.append(dict(ranked[:depth]))
    return rows


def coverage_of_runs(dataset, runs):
    """Count what runs hold of the questions and documents of a data set: a row for each run.

    ``missing`` questions are those that the run has no document for; they count as 0. ``extra``
    ones are not in this split. ``entries`` are pairs of question and document; ``unknown`` of them
    name a document that the collection lacks, which counts by its judgement, if there is one.
    ``unranked`` entries are below the depth, or no candidates. ``tied`` questions have equal
    scores, which are ranked by document id.
    """
    documents = set(dataset.documents["doc_id"])
    questions = dataset.queries["query_id"].tolist()
    rows = []
    for system, run in runs.items():
        matched_queries = [query for query in questions if run.get(query)]
        scores = [run[query] for query in matched_queries]
        ranked = ranked_run(dataset, run)
        entries = sum(map(len, scores))
        rows.append(
            {
                "system": system,
                "questions": len(questions),
                "matched": len(matched_queries),
                "missing": len(questions) - len(matched_queries),
                "extra": len(run.keys() - set(questions)),
                "entries": entries,
                "unknown": sum(len(row.keys() - documents) for row in scores),
                "unranked": entries - sum(map(len, ranked)),
                "tied": sum(len(set(row.values())) < len(row) for row in ranked),
            }
        )
    return pd.DataFrame(rows)


def runs_on(datasets, paths, max_missing):
    """Read run files, and refuse those that are not of all of some data sets.

    Each needs a question of each, and at most that share of documents which they lack.
    """
    runs = read_runs(paths)
    for dataset in datasets:
        rows = coverage_of_runs(dataset, runs).to_dict("records")
        for (system, run), row in zip(runs.items(), rows, strict=True):
            _check_run(dataset, system, run, row, max_missing)
    return runs


def _check_run(dataset, system, run, row, max_missing):
    questions = dataset.queries["query_id"].tolist()
    if not row["matched"]:
        raise InputError(
            f"runs: {system} has none of the {len(questions)} questions of {dataset.name}, such as "
            f"{questions[0]!r}; it has {len(run)}, such as {next(iter(run))!r}"
        )
    if row["unknown"] > max_missing * row["entries"]:
        documents = set(dataset.documents["doc_id"])
        names = [name for query in questions for name in run.get(query, ())]
        example = next(name for name in names if name not in documents)
        raise InputError(
            f"runs: {system} names documents that {dataset.name} lacks, such as {example!r}: "
            f"{row['unknown']} of {row['entries']} entries, max_missing is {max_missing:.0%}: "
            "is it a run on another collection?"
        )


def coverage_text(row):
    """What a run holds, in one line, from a row of `coverage_of_runs`."""
    text = f"{row['matched']} of {row['questions']} questions matched"
    parts = {
        "missing, which count as 0": row["missing"],
        "extra": row["extra"],
        "with tied scores": row["tied"],
    }
    counts = [f"{count} {name}" for name, count in parts.items() if count]
    text = ", ".join([text, *counts])
    of_entries = {"name unknown documents": row["unknown"], "are not ranked": row["unranked"]}
    for name, count in of_entries.items():
        if count:
            text += f", {count} of {row['entries']} entries {name}"
    return text
