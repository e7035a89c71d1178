"""Runs that exist: what a system that is not here returned for the questions of a data set.

A file is a TREC run, a JSON object ``{query: {document: score}}`` (BEIR, ranx, pytrec_eval), or a
table with a column each for query, document and score (`casebook.data.rankings`).
"""

from pathlib import Path

from casebook.data.rankings import read_rankings
from casebook.data.tables import ENDINGS
from casebook.errors import InputError
from casebook.paths import valid_name
from casebook.readers import OPENERS
from casebook.retrieval.pipeline import EVALUATION_DEPTH
from casebook.retrieval.settings import SYSTEM_NAMES
from casebook.trec import ranked

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
    runs = {}
    for path in [paths] if isinstance(paths, str | Path) else paths or []:
        name = run_name(Path(path))
        if name.casefold() in map(str.casefold, runs):
            raise InputError(
                f"{path}: an earlier file has its system's name, {name!r}: rename it"
            )
        runs[name], _ = read_rankings(path, "run")
    return runs


def run_name(path):
    file = path.with_suffix("") if path.suffix in OPENERS else path
    name = file.stem if file.suffix.lower() in _ENDINGS else file.name
    if name in SYSTEM_NAMES:
        name = f"{name}.run"
    return valid_name(name, f"{path}: the name of a run, which is that of its file,")


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
            scores = {
                document: score
                for document, score in scores.items()
                if document in pool
            }
        rows.append(dict(ranked(scores)[:depth]))
    return rows


def coverage_of_run(dataset, run):
    """What a run holds of the questions and documents of a data set, with counts.

    Extra questions are not in this split. An unknown document counts by its judgement, if there is
    one. Entries that are not ranked are below the depth, or no candidates.
    """
    documents = set(dataset.documents["doc_id"])
    questions = set(dataset.queries["query_id"])
    found = {query: run[query] for query in run if query in questions and run[query]}
    lists = ranked_run(dataset, run)
    entries = sum(map(len, found.values()))
    unknown = sum(len(row.keys() - documents) for row in found.values())
    tied = [row for row in lists if len(set(row.values())) < len(row)]
    return {
        "questions matched": len(found),
        "questions missing (each counts as 0)": len(questions) - len(found),
        "questions of no use here": len(run.keys() - questions),
        "questions with tied scores": len(tied),
        "entries": entries,
        "entries that name unknown documents": unknown,
        "entries that are not ranked": entries - sum(map(len, lists)),
    }


def coverage_text(counts):
    return ", ".join(f"{what}: {n}" for what, n in counts.items() if n)


def runs_on(dataset, paths, max_missing):
    """Read run files, and refuse those that have no question of the data set.

    At most that share of their documents may be none of its.
    """
    runs = read_runs(paths)
    for system, run in runs.items():
        counts = coverage_of_run(dataset, run)
        if not counts["questions matched"]:
            first = dataset.queries["query_id"][0]
            problem = f"has no question of {dataset.name}, such as {first!r}"
            raise InputError(f"runs: {system} {problem}; it has {next(iter(run))!r}")
        n_unknown = counts["entries that name unknown documents"]
        if n_unknown > max_missing * counts["entries"]:
            share = f"{n_unknown} of {counts['entries']} entries, max_missing is {max_missing:.0%}"
            problem = f"names documents that {dataset.name} lacks: {share}"
            raise InputError(f"runs: {system} {problem}: is it a run on other data?")
    return runs
