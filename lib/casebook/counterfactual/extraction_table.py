"""The extraction of facts on each set of annotated texts that is at hand."""

from dataclasses import replace

import pandas as pd

from casebook.counterfactual.acts import INDIA, SINGAPORE
from casebook.counterfactual.cases import read_cases
from casebook.counterfactual.extraction import extract_sheet
from casebook.counterfactual.extraction_gold import case_texts, read_gold, read_passages, read_sides
from casebook.counterfactual.extraction_scores import IN_PASSAGES, TYPES, extraction_scores
from casebook.data.registry import load
from casebook.inference.intervals import bounded
from casebook.inference.proportions import wilson

SETS = {
    "dev": "ours, for the rules",
    "heldout": "ours, held out",
    "elsewhere": "ours, US and UK",
    "cases": "restated cases",
    "real_dev": "real passages, for the rules",
    "real_heldout": "real passages, held out",
}
_COUNTRY, _OTHER = {INDIA: "India", SINGAPORE: "Singapore"}, "US and UK"
_HALVES = {"real_dev": "for the rules", "real_heldout": "held out"}
POOLED = "all facts"
ABSENT = "the judgments were not asked for"
MEASURES = ("precision", "recall", "F1")


def extraction_table(judgments="", seed=0):
    """Measure the extraction rules on every set of annotated texts."""
    parts = [extraction_scores(texts, seed=seed, types=TYPES) for texts in (read_gold(), case_texts(read_cases()))]
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


def country_table(seed=0):
    """Measure the extraction rules by country, on texts they were not mended on."""
    gold = [one for one in read_gold() if one.split in ("heldout", "elsewhere")]
    gold += case_texts(read_cases())
    gold = [replace(one, split=_COUNTRY.get(one.country, _OTHER)) for one in gold]
    table = extraction_scores(sorted(gold, key=lambda one: one.split), seed=seed)
    table = table[table["measure"] == "F1"].drop(columns="measure")
    names = {"split": "country", "value": "F1"}
    names |= {"ci_low": "F1 low", "ci_high": "F1 high"}
    table = table.rename(columns=names).reset_index(drop=True)
    return table.astype(dict.fromkeys(["F1", "F1 low", "F1 high", "control"], float))


def sides_table(judgments=""):
    """Measure how often the sides of whole judgments are found, and found right."""
    columns = ["judgments", "side", "right", "right low", "right high", "told", "n"]
    if not judgments:
        return pd.DataFrame(columns=[*columns, "control"])
    queries = load(judgments).queries
    texts = dict(zip(queries["query_id"], queries["text"], strict=True))
    rows = []
    for record, text in read_sides(texts):
        parties = extract_sheet(text, record["document"]).sheet.parties
        for side in ("petitioner", "respondent"):
            found = getattr(parties, f"{side}_type")
            if record[side]:
                rows.append((_HALVES[record["split"]], side, record[side], found))
    frame = pd.DataFrame(rows, columns=["judgments", "side", "kind", "found"])
    table = []
    for (split, side), part in frame.groupby(["judgments", "side"], sort=False):
        hits = int((part["kind"] == part["found"]).sum())
        row = {"judgments": split, "side": side}
        row |= bounded("right", wilson(hits, len(part)))
        row |= {"told": (part["found"] != "Unknown").mean(), "n": len(part)}
        row["control"] = part["kind"].value_counts(normalize=True).iloc[0]
        table.append(row)
    return pd.DataFrame(table)


def pooled_extraction(table):
    """Take the rows of all facts together."""
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
