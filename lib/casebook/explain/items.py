"""Single explanations: what they rest on, and copies with a defect, scored by every measure."""

import pandas as pd

from casebook.data.cards import may_show
from casebook.explain.defects import DEFECTS, DETECTORS, FAITHFULNESS, drops
from casebook.runs.items import ALL_TEXTS, item_page, one_line

SCORE = "score of the explanation"
MISSED = "{}: missed"
MOST_BYTES = 450_000


def explanation_items(explained, copies, focus=FAITHFULNESS[0]):
    """Single explanations, those first whose defects the measure `focus` misses most."""
    measures = sorted(DETECTORS, key=lambda name: name != focus)
    tables = {SCORE: copies[copies["original"]].groupby("key")[measures].first()}
    items = pd.DataFrame(index=pd.Index(explained.explanations, name="id"))
    items["text"] = pd.Series(explained.explanations).map(one_line)
    items["source"] = [[source.replace("\0", ", ")] for source in explained.source_of.values()]
    n_missed = pd.Series(0, items.index)
    for defect, name in DEFECTS.items():
        versions = copies[copies["defect"] == defect]
        spoilt = versions[~versions["original"]].set_index("key")
        missed = drops(versions, measures) == 0
        tables[name] = spoilt[measures]
        tables[MISSED.format(name)] = missed
        items[f"part: {name}"] = items.index.isin(spoilt.index)
        n_missed = n_missed.add(missed[focus], fill_value=0)
    columns = {name: table.stack(future_stack=True) for name, table in tables.items()}  # noqa: PD013
    results = pd.concat(columns, axis=1)
    results.index.names = ["id", "system"]
    tags = results.filter(like=MISSED.format(""))
    results[tags.columns] = tags.eq(True)
    results = results.reindex(measures, level="system").reset_index()
    order = n_missed.loc[items.index].sort_values(ascending=False, kind="stable").index
    documents = {source.replace("\0", ", "): text for source, text in explained.sources.items()}
    return item_page(
        items.loc[order].reset_index(),
        results.assign(system=results["system"].map(DETECTORS)),
        noun="explanation",
        ready=[(MISSED.format(name), DETECTORS[focus], None) for name in DEFECTS.values()],
        card=explained.card,
        shown=may_show(explained.card) if explained.card else ALL_TEXTS,
        documents=documents,
        document_texts=["text"],  # an explanation quotes its source
        most_bytes=MOST_BYTES,
    )
