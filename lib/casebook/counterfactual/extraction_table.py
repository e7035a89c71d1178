"""The extraction of facts on each set of annotated texts that is at hand."""

import pandas as pd

from casebook.counterfactual.cases import read_cases
from casebook.counterfactual.extraction_gold import (
    case_texts,
    read_gold,
    read_passages,
)
from casebook.counterfactual.extraction_scores import (
    IN_PASSAGES,
    TYPES,
    extraction_scores,
)
from casebook.datasets.registry import load

SETS = {
    "dev": "ours, for the rules",
    "heldout": "ours, held out",
    "cases": "restated cases",
    "real_dev": "real passages, for the rules",
    "real_heldout": "real passages, held out",
}
POOLED = "all facts"
ABSENT = "the judgments were not asked for"
MEASURES = ("precision", "recall", "F1")


def extraction_table(judgments="", seed=0):
    """Measure the extraction rules on every set of annotated texts.

    Parameters
    ----------
    judgments : str
        Dataset that holds the real judgments, ``fire2017_irled``; empty for none.
    seed : int
        Of the shuffles of the control.

    Returns
    -------
    pandas.DataFrame
        Column set, then type, measure, value, ``value low``, ``value high``, n, texts,
        control and reason, as of `extraction_scores`; sets in the order of ``SETS``.
        Without judgments their sets have rows for all facts, no value, and the reason.

    Raises
    ------
    InputError
        If the dataset is not here or holds other texts.
    """
    parts = [
        extraction_scores(texts, seed=seed, types=TYPES)
        for texts in (read_gold(), case_texts(read_cases()))
    ]
    if judgments:
        documents = load(judgments).documents
        texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
        passages = read_passages(texts)
        parts.append(extraction_scores(passages, seed=seed, types=IN_PASSAGES))
    else:
        parts.append(_absent())
    table = pd.concat([part.astype(object) for part in parts], ignore_index=True)
    table.insert(0, "set", table.pop("split").map(SETS))
    names = {"ci_low": "value low", "ci_high": "value high"}
    table = table.rename(columns=names)
    return table.astype(dict.fromkeys(["value", *names.values(), "control"], float))


def pooled_extraction(table):
    """Take the rows of all facts together.

    Parameters
    ----------
    table : pandas.DataFrame
        From `extraction_table`.

    Returns
    -------
    pandas.DataFrame
        One row per set and measure.
    """
    pooled = table[table["type"] == POOLED].drop(columns="type")
    return pooled.reset_index(drop=True)


def _absent():
    """Say of each measure on real passages why it is missing."""
    rows = [
        {"split": split, "type": POOLED, "measure": measure, "n": 0, "texts": 0}
        for split in SETS
        if split.startswith("real")
        for measure in MEASURES
    ]
    return pd.DataFrame(rows).assign(reason=ABSENT)
