"""Single explanations: what they rest on, and copies with a defect, scored by every detector."""

import pandas as pd

from casebook.data.cards import may_show
from casebook.explain.study import DETECTORS, FAITHFULNESS, PLANTED_DEFECTS, SWAPPED, corrupt
from casebook.measures.faithfulness import MATCHED, RULES
from casebook.runs.items import ALL_TEXTS, item_page, one_line, word_changes

STANDARD = "corrected faithfulness"
DEFECTS = [SWAPPED, *PLANTED_DEFECTS]
MARKED = ("number changed", "negation turned")  # defects of a word or two: their change is marked
SCORE = "score of the explanation"
UNGROUNDED = "sentence not grounded"
MISSED = "{}: missed"
NOTICED = "{}: noticed"
MOST_BYTES = 450_000


def explanation_items(explained, scored, copies, *, card, seed=0):
    """Collect single explanations, those first whose defects the standard measure misses most.

    ``copies`` are those of `casebook.explain.study.scored_copies` with the same seed.
    """
    spoilt = corrupt(explained.explanations, seed=seed)
    matched = scored.rows[scored.rows["condition"] == MATCHED]
    shares = matched.groupby(["explanation", "rule"])["share"].apply(list).to_dict()
    rows = []
    for key, text in explained.explanations.items():
        row = {"id": str(key), "text": one_line(text), "source": [_name(explained.source_of[key])]}
        for rule, name in RULES.items():
            row[f"words in the source, {name}"] = _listed(shares.get((key, rule), ()))
        for defect in MARKED:
            if key in spoilt[defect]:
                row[f"copy: {defect}"] = word_changes(text, spoilt[defect][key])
        rows.append(row)
    items = pd.DataFrame(rows)
    results = _results(explained.explanations, copies)
    of_standard = results[results["system"] == DETECTORS[STANDARD]].filter(like=MISSED.format(""))
    n_missed = of_standard.sum(axis=1).reset_index(drop=True)
    copied = copies[~copies["original"]].groupby("defect")["key"].agg(set)
    for defect, keys in copied.items():
        items[defect] = [key in keys for key in explained.explanations]
    marked = [f"copy: {defect}" for defect in MARKED]
    return item_page(
        items.iloc[n_missed.sort_values(ascending=False, kind="stable").index],
        results,
        noun="explanation",
        ready=[(MISSED.format(defect), DETECTORS[STANDARD], None) for defect in DEFECTS],
        card=card,
        shown=may_show(card) if card else ALL_TEXTS,
        documents={_name(source): text for source, text in explained.sources.items()},
        item_texts=marked,
        document_texts=["text", *marked],  # an explanation quotes its source
        most_bytes=MOST_BYTES,
    )


def _results(keys, copies):
    """Give the scores of every explanation and of its copies, a row a detector, standard first."""
    scores = copies.melt(["key", "defect", "original"], list(DETECTORS), "system", SCORE)
    of_copies = scores[~scores["original"]].pivot_table(SCORE, ["key", "system"], "defect")
    of_originals = scores[scores["original"]].groupby(["key", "system"])[SCORE].first()
    detectors = sorted(DETECTORS, key=lambda name: name != STANDARD)
    index = pd.MultiIndex.from_product([keys, detectors], names=["id", "system"])
    results = of_copies.reindex(index, columns=DEFECTS)
    results.insert(0, SCORE, of_originals)
    for defect in DEFECTS:
        results[MISSED.format(defect)] = results[defect] >= results[SCORE]
        results[NOTICED.format(defect)] = results[defect] < results[SCORE]
    results = results.reset_index()
    results[UNGROUNDED] = results["system"].isin(FAITHFULNESS) & (results[SCORE] < 1)
    return results.assign(system=results["system"].map(DETECTORS))


def _name(source):
    return source.replace("\0", ", ")


def _listed(shares):
    return "; ".join("none" if pd.isna(share) else f"{share:.3f}" for share in shares) or None
