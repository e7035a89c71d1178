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
        name = run_name(path)
        if name.casefold() in map(str.casefold, runs):
            raise InputError(f"{path}: an earlier file has its system's name, {name!r}: rename it")
        runs[name] = read_run_file(path)
    return runs


def run_name(path):
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
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder: name the run files in it")
    return read_rankings(path, "run")[0]


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
        rows.append(dict(ranked(scores)[:depth]))
    return rows


def coverage_of_run(dataset, run):
    """Counts of what a run holds of the questions and documents of a data set.

    ``missing`` questions are those that the run has no document for; they count as 0. ``extra``
    ones are not in this split. ``entries`` are pairs of question and document; ``unknown`` of them
    name a document that the collection lacks, which counts by its judgement, if there is one.
    ``unranked`` entries are below the depth, or no candidates. ``tied`` questions have equal
    scores, which are ranked by document id.
    """
    documents = set(dataset.documents["doc_id"])
    questions = dataset.queries["query_id"].tolist()
    found = [run[query] for query in questions if run.get(query)]
    lists = ranked_run(dataset, run)
    entries = sum(map(len, found))
    return {
        "questions": len(questions),
        "matched": len(found),
        "missing": len(questions) - len(found),
        "extra": len(run.keys() - set(questions)),
        "entries": entries,
        "unknown": sum(len(row.keys() - documents) for row in found),
        "unranked": entries - sum(map(len, lists)),
        "tied": sum(len(set(row.values())) < len(row) for row in lists),
    }


def runs_on(dataset, paths, max_missing):
    """Read run files, and refuse those that have no question of the data set.

    At most that share of their documents may be none of its.
    """
    runs = read_runs(paths)
    questions = dataset.queries["query_id"].tolist()
    for system, run in runs.items():
        counts = coverage_of_run(dataset, run)
        if not counts["matched"]:
            raise InputError(
                f"runs: {system} has none of the {len(questions)} questions of {dataset.name}, "
                f"such as {questions[0]!r}; it has {len(run)}, such as {next(iter(run))!r}"
            )
        if counts["unknown"] > max_missing * counts["entries"]:
            raise InputError(
                f"runs: {system} names documents that {dataset.name} lacks: {counts['unknown']} of "
                f"{counts['entries']} entries, max_missing is {max_missing:.0%}: is it a run on "
                "another collection?"
            )
    return runs


def coverage_text(counts):
    parts = {
        "{missing} missing, which count as 0": counts["missing"],
        "{extra} extra": counts["extra"],
        "{tied} with tied scores": counts["tied"],
        "{unknown} of {entries} entries name unknown documents": counts["unknown"],
        "{unranked} of {entries} entries are not ranked": counts["unranked"],
    }
    said = ["{matched} of {questions} questions matched", *(part for part in parts if parts[part])]
    return ", ".join(said).format_map(counts)
