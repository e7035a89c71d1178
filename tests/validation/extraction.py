"""How well patterns read the facts of texts whose sheets somebody wrote.

``python tests/validation/extraction.py`` writes the table that the methods page shows. Facts are
compared as sets per text, without contexts and descriptions; texts are the clusters of Wilson's
interval. The baseline compares with the sheet of the next text. Sides and outcomes are left out:
these texts have no cause title, and no pattern reads an outcome.
"""

import hashlib

import numpy as np
import pandas as pd
from annotated_texts import ANNOTATED_TEXTS, GoldText, read_gold

from casebook.paths import ROOT
from casebook.readers import read_jsonl
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import facts_of, from_dict
from casebook.stats.intervals import clustered_wilson

TABLE = ROOT / "book" / "methods" / "extraction.csv"
KINDS = {
    "numbers": {"amounts", "ages", "durations"},
    "sections": {"sections_cited"},
    "evidence": {"evidence_items"},
}
KINDS["all"] = set.union(*KINDS.values())
SETS = {
    "dev": "ours, for the patterns",
    "heldout": "ours, held out",
    "elsewhere": "ours, US and UK",
}


def facts_of_kind(sheet, kind):
    return {fact.key for fact in facts_of(sheet) if fact.kind in KINDS[kind]}


def counts(extracted, written):
    pairs = zip(extracted, written, strict=True)
    return np.array([(len(ours & gold), len(ours), len(gold)) for ours, gold in pairs])


def measured(texts, kind, extract=extract_sheet):
    extracted = [facts_of_kind(extract(text.text, text.id).sheet, kind) for text in texts]
    written = [facts_of_kind(text.sheet, kind) for text in texts]
    of_text = counts(extracted, written)
    hits, n_extracted, n_written = of_text.sum(axis=0)
    shuffled = counts(extracted, written[1:] + written[:1]).sum(axis=0)
    f1 = clustered_wilson(2 * of_text[:, 0], of_text[:, 1:].sum(axis=1))
    return {
        "precision": hits / n_extracted if n_extracted else np.nan,
        "recall": hits / n_written if n_written else np.nan,
        "F1": f1.estimate,
        "low": f1.low,
        "high": f1.high,
        "facts": n_written,
        "baseline": 2 * shuffled[0] / shuffled[1:].sum(),
    }


def table_of(texts):
    rows = []
    for split, title in SETS.items():
        of_split = [text for text in texts if text.split == split]
        for kind in KINDS:
            row = {"texts": title, "kind of fact": kind, "n": len(of_split)}
            rows.append(row | measured(of_split, kind))
    return pd.DataFrame(rows).round(3)


def read_passages(texts):
    """Annotated passages of judgments that are not ours; ``texts`` are the judgments by id."""
    passages = []
    columns = {"document": str, "sha256": str}
    for _, record in read_jsonl(ANNOTATED_TEXTS / "passages.jsonl", columns):
        text = texts[record["document"]][record["start"] : record["end"]]
        assert hashlib.sha256(text.encode()).hexdigest() == record["sha256"]
        sheet = from_dict({"case_id": record["id"], **record["sheet"]}, empty=True)
        passages.append(GoldText(record["id"], record["split"], text, sheet))
    return passages


if __name__ == "__main__":
    table = table_of(read_gold())
    table.to_csv(TABLE, index=False, lineterminator="\n")
    print(table.to_string(index=False))
