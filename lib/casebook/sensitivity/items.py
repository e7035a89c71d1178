"""Single edits: what they and placebos of their size did to the lists of every system."""

from collections import defaultdict

import pandas as pd

from casebook.data.cards import card_of
from casebook.runs.items import MOST_BYTES, item_page, word_changes
from casebook.sensitivity.domain import FACT_TYPES
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT
from casebook.sensitivity.study import RANDOM_ORDER
from casebook.sensitivity.tree import DISPLACEMENT, FOOTRULE, NOOP
from casebook.tables import FACTS

BEYOND = "rank change beyond its placebos"
OF_CASE = "the case"
PLACEBO = "placebo of the same size"
DESCRIPTION = ["text", "case", "kind of fact", "edited", "query", PLACEBO, "tags"]
MOVED = "rank change (normalised footrule)"
EFFECT = [BEYOND, MOVED, "rank change by placebos", "mean rank displacement", "left", "entered"]
FOUND = ["precedents before", "precedents after", "precedents after placebos"]
DECIDES = {True: "decides", False: "does not decide", None: "not annotated"}
ABOVE = f"above {DECISIVE_DISPLACEMENT:g}"
MOVED_MORE = "moved more than its placebos"
MOVED_NO_MORE = "moved no more than its placebos"
LOST_ALL = "lost every precedent"
_OPERATIONS = {"add": "{new} added", "remove": "{old} removed"}


def edit_items(study, precedents, focus=None, most_bytes=MOST_BYTES):
    """Collect single edits: those of the cases as they are, which moved the focus most, first.

    An edit is identified by its case and by the query before and after it. Systems try the same
    edits of a case, but may expand different ones.
    """
    systems = sorted(study.systems, key=lambda name: name != focus)
    decisive = study.annotations.set_index(["case_id", "fact_type"])["dispositive"].to_dict()
    names = {}
    items = {}
    results = []
    for system in systems:
        edges = study.edges[system].set_index(["case_id", "node"]).to_dict("index")
        for tree, node, placebos in _edits(study.trees[system]):
            case = tree.case_id
            edit = (case, node.parent.query, node.query)
            if edit not in names:
                name = f"{case} {node.name}"
                names[edit] = f"{name} ({system})" if name in items else name
                decides = DECIDES[decisive.get((case, node.edit.fact_type))]
                items[names[edit]] = _described(case, node, placebos, decides)
            effect = _effect(node, edges[case, node.name], placebos, precedents.get(case, ()))
            results.append({"id": names[edit], "system": system} | effect)
    frame = pd.DataFrame(items.values(), index=list(items), columns=DESCRIPTION)
    frame = frame.rename_axis("id").reset_index()
    frame["marked"] = [sorted(precedents.get(case, ())) for case in frame["case"]]
    results = pd.DataFrame(results, columns=["id", "system", *EFFECT, *FOUND, "failed", "tags"])
    results.loc[results["system"] == RANDOM_ORDER, ["left", "entered"]] = None
    moved = results.drop_duplicates("id").set_index("id")[BEYOND]
    order = pd.DataFrame({"deeper": frame["edited"] != OF_CASE, "moved": -frame["id"].map(moved)})
    n_noops = (study.edges[systems[0]]["status"] == NOOP).sum()
    tags = set().union(*results.loc[results["system"] == systems[0], "tags"])
    return item_page(
        frame.loc[order.sort_values(["deeper", "moved"], kind="stable").index],
        results,
        noun="edit",
        ready=[(tag, systems[0], None) for tag in (MOVED_MORE, ABOVE, LOST_ALL) if tag in tags],
        card=card_of(study.name),
        documents=_texts(study.documents),
        item_texts=["query", PLACEBO],
        note=f"{n_noops} more edits leave the query as it was." if n_noops else None,
        most_bytes=most_bytes,
    )


def _edits(trees):
    """Yield tree, node and placebos of its size of every edit that changes the query."""
    for tree in trees:
        placebos = defaultdict(list)
        for node in tree.placebos:
            if not node.ranking.error:
                placebos[_size(node)].append(node)
        for node in tree.nodes[1:]:
            if not node.edit.noop:
                yield tree, node, placebos[_size(node)]


def _size(node):
    return node.parent.name, node.edit.removed, node.edit.added


def _described(case, node, placebos, decides):
    """Give the fields of an edit."""
    edit = node.edit
    fact = FACTS.get(edit.fact_type, edit.fact_type)
    change = _OPERATIONS.get(edit.operation, "{old} becomes {new}")
    edited = OF_CASE if node.depth == 1 else "an edited case"
    before = node.parent.query
    placebo = word_changes(before, placebos[0].query) if placebos else None
    text = f"{fact}: {change.format(old=edit.old, new=edit.new)}"
    kind = f"{fact} ({decides})"
    query = word_changes(before, node.query)
    tags = [fact, decides, f"edit of {edited}"]
    return [text, case, kind, edited, query, placebo, tags]


def _effect(node, row, placebos, precedents):
    """Give what an edit did to the list of one system, beside placebos of its size."""
    before = node.parent.ranking
    after = node.ranking
    error = before.error or after.error
    if error:
        return {"failed": error, "tags": []}
    beyond = row[FOOTRULE] - row[f"placebo_{FOOTRULE}"]
    tags = [MOVED_MORE if beyond > 0 else MOVED_NO_MORE] if pd.notna(beyond) else []
    if row[DISPLACEMENT] > DECISIVE_DISPLACEMENT:
        tags.append(ABOVE)
    if set(precedents) & set(before.cases) and not set(precedents) & set(after.cases):
        tags.append(LOST_ALL)
    values = [beyond, row[FOOTRULE], row[f"placebo_{FOOTRULE}"], row[DISPLACEMENT]]
    lists = [_only_in(before, after), _only_in(after, before)]
    effect = dict(zip(EFFECT, values + lists, strict=True)) | {"tags": tags}
    if precedents:
        of_placebos = "; ".join(_found(placebo.ranking, precedents) for placebo in placebos)
        found = [_found(before, precedents), _found(after, precedents), of_placebos]
        effect |= dict(zip(FOUND, found, strict=True))
    return effect


def _only_in(ranking, other):
    """List the cases that stand in one of two rankings only, with their ranks."""
    return [
        (case, f"rank {rank}")
        for rank, case in enumerate(ranking.cases, 1)
        if case not in other.cases
    ]


def _found(ranking, precedents):
    """Say how many precedents a ranking has, and the best rank."""
    ranks = [rank for rank, case in enumerate(ranking.cases, 1) if case in precedents]
    return f"{len(ranks)}, best at rank {ranks[0]}" if ranks else "none"


def _texts(documents):
    """Give the planted facts of each document, or its text."""
    texts = {}
    for row in documents.to_dict("records"):
        facts = [str(row[name]) for name in FACT_TYPES if name in row]
        texts[row["doc_id"]] = ", ".join(facts) or row["text"]
    return texts
