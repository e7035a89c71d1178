"""Single edits: what they did to the lists of every system, beyond placebos of their size."""

import pandas as pd

from casebook.data.cards import card_of
from casebook.runs.items import MOST_BYTES, item_page, word_changes
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT
from casebook.sensitivity.study import NAMES
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE, excess
from casebook.tables import FACTS

BEYOND = "rank change beyond its placebos"
MOVED = "rank change (normalised footrule)"
DISPLACED = "mean rank displacement"
ABOVE = f"above {DECISIVE_DISPLACEMENT:g}"
MOVED_MORE = "moved more than its placebos"
BEFORE = "cases before the edit; ✓ should be found"
AFTER = "cases after it"


def edit_items(study, focus, most_bytes=MOST_BYTES):
    """The edits that change a query, those first that moved most.

    An edit is identified by its case and by the query before and after it. Systems try the same
    edits of a case, but may expand different ones.
    """
    items = {}
    results = []
    for system in sorted(study.systems, key=lambda name: name != focus):
        nodes = [node for tree in study.trees[system] for node in tree.nodes[1:]]
        for node in nodes:
            case = node.sheet.case_id
            fact = FACTS.get(node.edit.fact_type, node.edit.fact_type)
            item = {"id": f"{case} {node.name} ({NAMES.get(system, system)})", "case": case}
            item["text"] = node.edit.description.replace(node.edit.fact_type, fact, 1)
            item["query"] = word_changes(node.parent.query, node.query)
            item["marked"] = sorted(study.cases.precedents.get(case, ()))
            item[f"part: {fact}"] = True
            item = items.setdefault((case, node.parent.query, node.query), item)
            lists = {BEFORE: node.parent.ranking.cases, AFTER: node.ranking.cases}
            row = {"id": item["id"], "system": NAMES.get(system, system), "case_id": case}
            results.append(row | {name: list(cases) for name, cases in lists.items()})
            results[-1] |= {"node": node.name, "key": system}
    edges = pd.concat(study.edges, names=["key"]).reset_index("key")
    edges = edges.assign(**{BEYOND: excess(edges), MOVED: edges[FOOTRULE]})
    edges[DISPLACED] = edges[DISPLACEMENT]
    edges = edges[["key", "case_id", "node", BEYOND, MOVED, DISPLACED]]
    results = pd.DataFrame(results).merge(edges, "left", ["key", "case_id", "node"])
    results = results.drop(columns=["key", "case_id", "node"])
    results[MOVED_MORE] = results[BEYOND] > 0
    results[ABOVE] = results[DISPLACED] > DECISIVE_DISPLACEMENT
    items = pd.DataFrame(items.values()).set_index("id")
    parts = items.filter(like="part: ").columns
    items[parts] = items[parts].eq(True)
    order = results.groupby("id")[BEYOND].first().sort_values(ascending=False, kind="stable")
    texts = study.cases.documents.set_index("doc_id")["text"].to_dict()
    return item_page(
        items.loc[order.index].reset_index(),
        results,
        noun="edit",
        ready=[(tag, results["system"].iloc[0], None) for tag in (MOVED_MORE, ABOVE)],
        card=card_of(study.cases.name),
        documents=texts,
        item_texts=["query"],
        most_bytes=most_bytes,
    )
