"""The answers that chapter 10 shows without a log: PDPABench's, or a demonstration on templates."""

import os
from pathlib import Path

import pandas as pd

from casebook.assistant import ANSWERED, DEMONSTRATION
from casebook.assistant.log import ASSISTANT_WORDS, read_log
from casebook.data.cards import card_of
from casebook.data.registry import load
from casebook.data.sources import MIRROR_VARIABLE
from casebook.paths import DATA
from casebook.stats.samples import check_choice


def log_or_shipped(log, dataset, collection=None, columns=None, scores=(), **said):
    """A log, or the one of a data set; what its rows are of; whether it is a demonstration.

    See `casebook.assistant.log.read_log` for the options.
    """
    if log:
        answers = read_log(log, collection, columns, scores, **said)
        files = [log] if isinstance(log, str | Path) else log
        name = title = "log " + ", ".join(Path(file).name for file in files)
    else:
        answers, name = shipped_log(dataset)
        title = card_of(name).title
    is_demonstration = name == DEMONSTRATION
    if is_demonstration:
        title = f"a demonstration on templates, {title}"
    has_groups = answers["group"].ne(answers["id"]).any()
    about = {
        "dataset": name,
        "title": title,
        "cluster": "groups" if has_groups else None,
    }
    return answers, about, is_demonstration


def shipped_log(name):
    """Log of a data set, and its name: PDPABench's where a mirror has it, else our templates."""
    check_choice("dataset", name, [DEMONSTRATION, ANSWERED])
    folder = Path(os.environ.get(MIRROR_VARIABLE) or ".") / ANSWERED / "generation"
    if name == ANSWERED and folder.is_dir():
        return _published_answers(folder), name
    return read_log(DATA / "assistant" / "answers.jsonl"), DEMONSTRATION


def _published_answers(folder):
    """PDPABench's answers to its test questions, with the passages that the model saw."""
    documents = load(ANSWERED, "test", titles=False).documents.set_index("doc_id")
    passages = documents["citation"] + ": " + documents["text"]
    logs = []
    for system, run in ASSISTANT_WORDS["published"].items():
        columns = dict(ASSISTANT_WORDS["columns"])
        if system.endswith("no RAG"):
            columns["contexts"] = "-"  # without retrieval there is no list
        log = read_log(folder / run / "detailed_results.jsonl", columns=columns)
        texts = log["contexts"].map(passages.reindex, na_action="ignore")
        log["contexts"] = texts.map(
            lambda of_row: of_row.dropna().tolist(), na_action="ignore"
        )
        logs.append(log.assign(system=system))
    log = pd.concat(logs, ignore_index=True)
    log["group"] = "section " + log["group"].str.extract(r"(\d+[A-Z]*)")[0].fillna(
        "none"
    )
    log.attrs["readings"] = []
    return log
