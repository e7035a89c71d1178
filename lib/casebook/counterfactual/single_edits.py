"""Single edits of a case: which precedents entered and left the list, and the placebo.

An edit is known by its case and by the query before and after it. Systems try the same
edits of a case, but may go on from different ones.
"""

from collections import Counter, defaultdict

from casebook.counterfactual.edit_effects import effect, placebos_of, size
from casebook.counterfactual.facts import FACT_TYPES
from casebook.counterfactual.study import CONTROL
from casebook.datasets.cards import card_of
from casebook.datasets.shown import may_show
from casebook.runs.outputs import MOST_BYTES, changed, fitting, shortened

OPENINGS = (160, 80)  # characters of a document; the second where room is short
FURTHER = 3  # edits of an edited case that are kept of each case


def drill_down(study, precedents, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single edits."""
    card = card_of(study.name)
    shown = may_show(card)
    items = _items(study, precedents, "items" in shown)
    known = {
        "kind": "edits",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(shown),
        "systems": study.systems,
        "controls": [CONTROL],
        "depth": next(iter(study.trees.values()))[0].k,
        "precedents": bool(precedents),
        "asked": len(items),
        "remark": _unchanged(study),
    }

    def collect(chosen, opening):
        places = {}
        kept = [_numbered(items[row], places) for row in chosen]
        texts = _openings(study.documents, opening) if "documents" in shown else {}
        documents = [[name, texts.get(name)] for name in places]
        return known | {"documents": documents, "items": kept}

    return fitting(collect, _of_interest(items), OPENINGS, most_bytes)


def _of_interest(items):
    """Give the places of the edits to keep, the most wanted first."""
    places = range(len(items))
    order = sorted(places, key=lambda row: (-_excess(items[row]), row))
    further, kept = Counter(), []
    for row in order:
        case, deep = items[row]["case"], items[row]["depth"] > 1
        further[case] += deep
        if not deep or further[case] <= FURTHER:
            kept.append(row)
    return sorted(kept, key=lambda row: items[row]["depth"])


def _excess(item):
    """Give how far the first system moved beyond the placebos, either way."""
    result = item["results"][0]
    if result is None or None in (result["moved"], result["placebo_moved"]):
        return 0.0
    return abs(result["moved"] - result["placebo_moved"])


def _unchanged(study):
    """Say how many edits leave the query as it was."""
    trees = [tree for grown in study.trees.values() for tree in grown]
    found = {(tree.case_id, parent.query, edit.description) for tree in trees for parent, edit in tree.noops}
    if not found:
        return None
    return f"{len(found)} edits leave the query as it was and are not among them."


def _items(study, precedents, shown):
    """Give every edit that changes a query, with document ids."""
    decides = {(row.case_id, row.fact_type): row.dispositive for row in study.annotations.itertuples()}
    rows = {system: _rows(study, system) for system in study.systems}
    placebos = {s: placebos_of(trees) for s, trees in study.trees.items()}
    items, tried = [], _tried(study)
    alike = _alike(tried)
    for (case, before, after), nodes in tried.items():
        system, node = next(iter(nodes.items()))
        name = f"{case} {node.name}"
        name += f" ({system})" if len(alike[case, node.name]) > 1 else ""
        known = precedents.get(case)
        edit, blank = node.edit, placebos[system].get(size(case, node), [])
        results = [effect(case, nodes.get(s), rows[s], placebos[s], known, s == CONTROL) for s in study.systems]
        items.append(
            {
                "id": name,
                "case": case,
                "fact_type": edit.fact_type,
                "operation": edit.operation,
                "old": edit.old,
                "new": edit.new,
                "depth": node.depth,
                "decides": decides.get((case, edit.fact_type)),
                "change": changed(before, after) if shown else None,
                "placebo": changed(before, blank[0].query) if shown and blank else None,
                "results": results,
            }
        )
    return items


def _tried(study):
    """Give the nodes by case and texts, then by system, as they were first met."""
    found = defaultdict(dict)
    for system, trees in study.trees.items():
        for tree in trees:
            for node in tree.nodes[1:]:
                if not node.manual and not node.edit.noop:
                    key = (tree.case_id, node.parent.query, node.query)
                    found[key].setdefault(system, node)
    return found


def _alike(tried):
    """Give the edits that some system knows by the same case and node."""
    found = defaultdict(set)
    for edit, nodes in tried.items():
        for node in nodes.values():
            found[edit[0], node.name].add(edit)
    return found


def _rows(study, system):
    """Give what was measured of the edits of a system, by case and node."""
    return study.edges[system].set_index(["case_id", "node"]).to_dict("index")


def _numbered(item, places):
    """Put places in the list of documents for their ids."""
    results = []
    for result in item["results"]:
        lists = {
            name: [[places.setdefault(case, len(places)), *rest] for case, *rest in listed]
            for name in ("left", "entered")
            if (listed := (result or {}).get(name)) is not None
        }
        results.append(result and result | lists)
    return item | {"results": results}


def _openings(documents, most):
    """Give the beginning of each document, or its facts where they have columns."""
    texts = {}
    for row in documents.to_dict("records"):
        facts = [str(row[name]) for name in FACT_TYPES if name in row]
        texts[row["doc_id"]] = shortened(", ".join(facts) or row["text"], most)
    return texts
