"""Single edits, to be inspected one by one: the cases that entered and left, and the placebos."""

from collections import defaultdict

import pandas as pd

from casebook.data.cards import card_of, may_show
from casebook.runs.outputs import MOST_BYTES, items_within, one_line, stored_number, word_changes
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT
from casebook.sensitivity.study import RANDOM_ORDER
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE

OPENING_LENGTHS = (160, 80)  # characters of a document; the second where room is short


def edit_items(study, precedents, focus=None, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single edits: how they and placebos changed the lists.

    An edit is identified by its case and by the query before and after it. Systems try the same
    edits of a case, but may expand different ones. The page begins with the system `focus`.
    """
    card = card_of(study.name)
    permitted = may_show(card)
    items = _items(study, precedents, with_queries="items" in permitted)
    texts = _document_texts(study.documents) if "documents" in permitted else {}
    n_noops = len(_noops(study))
    head = {
        "kind": "edits",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(permitted),
        "systems": study.systems,
        "controls": [RANDOM_ORDER],
        "focus": focus,
        "depth": study.trees[RANDOM_ORDER][0].k,
        "threshold": DECISIVE_DISPLACEMENT,
        "precedents": bool(precedents),
        "asked": len(items),
        "remark": None,
    }
    if n_noops:
        head["remark"] = f"{n_noops} edits leave the query as it was and are not among them."

    def collect(chosen, opening_length):
        positions = {}
        chosen_items = [_with_positions(items[number], positions) for number in chosen]
        documents = []
        for document in positions:
            opening = one_line(texts[document], opening_length) if document in texts else None
            documents.append([document, opening])
        return head | {"documents": documents, "items": chosen_items}

    return items_within(collect, _of_interest(items), OPENING_LENGTHS, most_bytes)


def _noops(study):
    noops = set()
    for trees in study.trees.values():
        for tree in trees:
            for parent, edit in tree.noops:
                noops.add((tree.case_id, parent.query, edit.description))
    return noops


def _document_texts(documents):
    """Give the planted facts of each document, or its text."""
    texts = {}
    for row in documents.to_dict("records"):
        facts = [str(row[name]) for name in FACT_TYPES if name in row]
        texts[row["doc_id"]] = ", ".join(facts) or row["text"]
    return texts


def _of_interest(items):
    """Give the numbers of the items: all edits of the cases as they are, then the deeper ones.

    Of these the cases have a turn each, with the one that moved results most beyond its placebos.
    """
    frame = pd.DataFrame(
        {
            "case": [item["case"] for item in items],
            "deeper": [item["depth"] > 1 for item in items],
            "distance": [_distance_from_placebo(item) for item in items],
        }
    )
    frame = frame.sort_values("distance", ascending=False, kind="stable")
    turns = frame.groupby(["case", "deeper"]).cumcount().where(frame["deeper"], -1)
    return turns.sort_values(kind="stable").index.tolist()


def _distance_from_placebo(item):
    result = item["results"][0] or {}
    moved = result.get("moved")
    placebo_moved = result.get("placebo_moved")
    if moved is None or placebo_moved is None:
        return 0.0
    return abs(moved - placebo_moved)


def _items(study, precedents, with_queries):
    """Give every edit that changes a query, with document ids."""
    placebos = _placebos_by_size(study)
    nodes_by_edit = _nodes_by_edit(study)
    edits_by_name = defaultdict(set)
    for edit, nodes in nodes_by_edit.items():
        for node in nodes.values():
            edits_by_name[edit[0], node.name].add(edit)
    rows = {
        system: study.edges[system].set_index(["case_id", "node"]).to_dict("index")
        for system in study.systems
    }
    decisive = {
        (row.case_id, row.fact_type): row.dispositive for row in study.annotations.itertuples()
    }
    items = []
    for (case, query_before, query_after), nodes in nodes_by_edit.items():
        results = dict.fromkeys(study.systems)
        for system, node in nodes.items():
            of_same_size = placebos[_size_key(system, case, node)]
            results[system] = _effect(
                node,
                rows[system][case, node.name],
                [placebo.ranking for placebo in of_same_size],
                precedents.get(case),
                is_control=system == RANDOM_ORDER,
            )
        system, node = next(iter(nodes.items()))
        item = _description(case, node, decisive.get((case, node.edit.fact_type)))
        item["results"] = list(results.values())
        if len(edits_by_name[case, node.name]) > 1:
            item["id"] += f" ({system})"
        if with_queries:
            item["change"] = word_changes(query_before, query_after)
            of_same_size = placebos[_size_key(system, case, node)]
            if of_same_size:
                item["placebo"] = word_changes(query_before, of_same_size[0].query)
        items.append(item)
    return items


def _description(case, node, is_decisive):
    edit = node.edit
    return {
        "id": f"{case} {node.name}",
        "case": case,
        "fact_type": edit.fact_type,
        "operation": edit.operation,
        "old": edit.old,
        "new": edit.new,
        "depth": node.depth,
        "decides": is_decisive,
        "change": None,
        "placebo": None,
    }


def _placebos_by_size(study):
    placebos = defaultdict(list)
    for system, trees in study.trees.items():
        for tree in trees:
            for node in tree.placebos:
                if not node.ranking.error:
                    placebos[_size_key(system, tree.case_id, node)].append(node)
    return placebos


def _size_key(system, case, node):
    """Key of the placebos that an edit is compared with."""
    return system, case, node.parent.name, node.edit.removed, node.edit.added


def _nodes_by_edit(study):
    """Give the nodes of each edit, ``(case, query before, query after)``, by system."""
    nodes = defaultdict(dict)
    for system, trees in study.trees.items():
        for tree in trees:
            for node in tree.nodes[1:]:
                if not node.edit.noop:
                    edit = (tree.case_id, node.parent.query, node.query)
                    nodes[edit].setdefault(system, node)
    return nodes


def _effect(node, row, placebo_rankings, precedents, is_control):
    """Say what one edit did under one system, beside its placebos."""
    before = node.parent.ranking
    after = node.ranking
    error = before.error or after.error
    if error:
        return {"error": error}
    effect = {
        "error": None,
        "moved": stored_number(row[FOOTRULE]),
        "placebo_moved": stored_number(row[f"placebo_{FOOTRULE}"]),
        "displacement": stored_number(row[DISPLACEMENT]),
        "left": None,
        "entered": None,
        "new": len(_only_in(after, before)),
        "placebo_new": [len(_only_in(placebo, before)) for placebo in placebo_rankings],
        "found": _precedents_in(before, precedents),
        "still_found": _precedents_in(after, precedents),
        "placebo_found": [_precedents_in(placebo, precedents) for placebo in placebo_rankings],
    }
    if not is_control:
        effect["left"] = _only_in(before, after, precedents)
        effect["entered"] = _only_in(after, before, precedents)
    return effect


def _only_in(ranking, baseline, precedents=None):
    """List the cases that stand in one ranking only: case, rank, 1 if it is a precedent."""
    return [
        [case, rank, int(case in (precedents or ()))]
        for rank, case in enumerate(ranking.cases, 1)
        if case not in baseline.cases
    ]


def _precedents_in(ranking, precedents):
    """Give the best rank of the precedents, None if none is listed, and their number."""
    if not precedents:
        return None
    ranks = [rank for rank, case in enumerate(ranking.cases, 1) if case in precedents]
    return [min(ranks, default=None), len(ranks)]


def _with_positions(item, positions):
    """Write positions in the list of documents for the ids of an item."""
    results = []
    for result in item["results"]:
        if result is not None and result["error"] is None:
            left = _numbered(result["left"], positions)
            entered = _numbered(result["entered"], positions)
            result = result | {"left": left, "entered": entered}
        results.append(result)
    return item | {"results": results}


def _numbered(cases, positions):
    if cases is None:
        return None
    return [[positions.setdefault(case, len(positions)), *rest] for case, *rest in cases]
