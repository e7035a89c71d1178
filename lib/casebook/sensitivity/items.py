"""Single edits: what they and placebos of their size did to the lists of every system."""

import pandas as pd

from casebook.data.cards import card_of
from casebook.runs.items import MOST_BYTES, item_page, word_changes
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT
from casebook.sensitivity.study import NAMES, RANDOM_ORDER
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE
from casebook.tables import FACTS

BEYOND = "rank change beyond its placebos"
MOVED = "rank change (normalised footrule)"
DISPLACED = "mean rank displacement"
BEFORE = "cases before the edit; ✓ should be found"
AFTER = "cases after it"
BY_PLACEBOS = "rank change by placebos"
PLACEBO = "placebo of the same size"
TAGS = ["fact", "depth", "decides"]
OF_CASE = "edit of the case"
DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}
ABOVE = f"above {DECISIVE_DISPLACEMENT:g}"
MOVED_MORE = "moved more than its placebos"
MOVED_NO_MORE = "moved no more than its placebos"
LOST_ALL = "lost every precedent"
_OPERATIONS = {"add": "{new} added", "remove": "{old} removed"}


def edit_items(study, focus, most_bytes=MOST_BYTES):
    """The edits that change a query: of the cases as they are, which moved most, first.

    An edit is identified by its case and by the query before and after it. Systems try the same
    edits of a case, but may expand different ones.
    """
    precedents = study.cases.precedents
    decisive = study.annotations.set_index(["case_id", "fact_type"])["dispositive"].to_dict()
    names = {}
    items = {}
    results = []
    for system in sorted(study.systems, key=lambda name: name != focus):
        edges = study.edges[system].set_index(["case_id", "node"]).to_dict("index")
        for case, node, placebos in _edits(study.trees[system]):
            edit = (case, node.parent.query, node.query)
            if edit not in names:
                name = f"{case} {node.name}"
                names[edit] = f"{name} ({system})" if name in items else name
                decides = DECIDES[decisive.get((case, node.edit.fact_type))]
                items[names[edit]] = _described(case, node, placebos) | {
                    "decides": decides,
                    "marked": sorted(precedents.get(case, ())),
                }
            row = edges[case, node.name]
            before, after = node.parent.ranking.cases, node.ranking.cases
            wanted = set(precedents.get(case, ()))
            lost = wanted.intersection(before) and not wanted.intersection(after)
            is_blind = system == RANDOM_ORDER
            result = {
                "id": names[edit],
                "system": NAMES.get(system, system),
                BEYOND: row[FOOTRULE] - row[f"placebo_{FOOTRULE}"],
                MOVED: row[FOOTRULE],
                BY_PLACEBOS: row[f"placebo_{FOOTRULE}"],
                DISPLACED: row[DISPLACEMENT],
                BEFORE: None if is_blind else list(before),
                AFTER: None if is_blind else list(after),
                LOST_ALL: bool(lost) and not node.ranking.error,
            }
            results.append(result)
    results = pd.DataFrame(results)
    results[MOVED_MORE] = results[BEYOND] > 0
    results[MOVED_NO_MORE] = results[BEYOND] <= 0
    results[ABOVE] = results[DISPLACED] > DECISIVE_DISPLACEMENT
    items = pd.DataFrame(items.values(), index=list(items))
    beyond = results.drop_duplicates("id").set_index("id")[BEYOND]
    order = items.assign(deeper=items["depth"] != OF_CASE, moved=-beyond)
    items = items.loc[order.sort_values(["deeper", "moved"], kind="stable").index]
    tags = pd.get_dummies(items[TAGS], prefix="", prefix_sep="").astype(bool)
    first = results["system"].iloc[0]
    return item_page(
        items.drop(columns=TAGS).join(tags).rename_axis("id").reset_index(),
        results,
        noun="edit",
        ready=[(tag, first, None) for tag in (MOVED_MORE, ABOVE, LOST_ALL) if results[tag].any()],
        card=card_of(study.name),
        documents=_texts(study.cases.documents),
        item_texts=["query", PLACEBO],
        most_bytes=most_bytes,
    )


def _edits(trees):
    """Case, node and placebos of its size of every edit that changes the query."""
    for tree in trees:
        placebos = {}
        for node in tree.placebos:
            if not node.ranking.error:
                placebos.setdefault(_size(node), []).append(node)
        for node in tree.nodes[1:]:
            if not node.edit.noop:
                yield tree.case_id, node, placebos.get(_size(node), [])


def _size(node):
    return node.parent.name, node.edit.removed, node.edit.added


def _described(case, node, placebos):
    edit = node.edit
    fact = FACTS.get(edit.fact_type, edit.fact_type)
    change = _OPERATIONS.get(edit.operation, "{old} becomes {new}")
    before = node.parent.query
    return {
        "text": f"{fact}: {change.format(old=edit.old, new=edit.new)}",
        "case": case,
        "query": word_changes(before, node.query),
        PLACEBO: word_changes(before, placebos[0].query) if placebos else None,
        "fact": f"part: {fact}",
        "depth": OF_CASE if node.depth == 1 else "edit of an edited case",
    }


def _texts(documents):
    """The planted facts of each document, or its text."""
    texts = {}
    for row in documents.to_dict("records"):
        facts = [str(row[name]) for name in FACT_TYPES if name in row]
        texts[row["doc_id"]] = ", ".join(facts) or row["text"]
    return texts
