"""The tree of edited cases, one fact per edge, and its edges as tidy rows."""

from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property, partial

import pandas as pd

from casebook.errors import InputError
from casebook.measures import rankshift
from casebook.retrieval.ablation import scores_by_callable
from casebook.sensitivity import edits
from casebook.sensitivity.domain import SHIPPED_DOMAIN
from casebook.sensitivity.facts import sheet_hash
from casebook.sensitivity.plausibility import ACCEPT, rules

# Mean rank displacement at which a state is expanded, documented.
EXPANSION_THRESHOLD = 1.0

# Settings by name, with what they are by default.
SETTINGS = {
    "max_depth": 2,
    "children": 5,
    "threshold": EXPANSION_THRESHOLD,
    "placebo_draws": 4,
    "original": False,
    "seed": 0,
}


class TreeSettings(namedtuple("TreeSettings", SETTINGS, defaults=SETTINGS.values())):
    """How a tree grows: its size, its budget, its placebos, and what its queries contain.

    `original` are the documented edits: the first of the list, states may return, numbers without
    bounds, no placebo, and queries that state the outcome.
    """


#: Cases that one query retrieves, the document that stands for each, and its score.
CaseRanking = namedtuple("CaseRanking", "cases documents scores", defaults=[(), (), ()])
NOTHING = CaseRanking()


@dataclass
class Node:
    name: str
    parent: object
    edit: object
    sheet: object
    query: str
    depth: int = 0
    ranking: CaseRanking = NOTHING

    def displacement(self, k):
        return rankshift.mean_displacement(
            self.parent.ranking.cases, self.ranking.cases, k
        )

    def child(self, name, edit):
        return Node(
            f"{self.name}.{name}", self, edit, edit.sheet, edit.query, self.depth + 1
        )


_FIELDS = "k settings domain write terms nodes states placebos noops decisions"


class Tree(namedtuple("Tree", _FIELDS)):
    """The tree of one case: its nodes, hashes of their sheets, and what was not searched."""

    @property
    def case_id(self):
        return self.nodes[0].sheet.case_id

    @property
    def poor(self):
        if len(self.terms) < edits.LEAST_TERMS:
            return f"{len(self.terms)} informative term(s) in the query: too poor to be scored"
        return None

    @property
    def no_placebo(self):
        if self.settings.original or not self.settings.placebo_draws:
            return "no placebos were asked for"
        return "no matched placebo" if self.write.context else edits.NO_INERT_WORDS


def grow_trees(
    sheets,
    search,
    settings=None,
    neighbours=None,
    validator=None,
    *,
    domain=SHIPPED_DOMAIN,
):
    """Grow the trees of many cases, all of one level in one batch of retrieval.

    Parameters
    ----------
    sheets : list of FactSheet
        Cases of different names.
    search : CaseSearch
        Retriever of cases.
    settings : TreeSettings, optional
        Size, budget and placebos.
    neighbours : callable, optional
        Gives the sections that may replace one.
    validator : callable, optional
        Judges an edit of a sheet, by default by `plausibility.rules`; only accepted edits are
        tried.
    domain : Domain, optional
        Acts and fact types of your own, as `read_domain` gives them.

    Returns
    -------
    list of Tree
        One a case: ``nodes``, ``placebos``, ``noops`` and ``decisions``; `edge_frame` measures
        their edges.

    Examples
    --------
    >>> from casebook.retrieval.pipeline import HybridRetriever
    >>> from casebook.sensitivity.cases import planted_cases
    >>> planted = planted_cases("planted_small")
    >>> search = CaseSearch(HybridRetriever(planted.documents, mode="bm25"))
    >>> settings = TreeSettings(max_depth=1)
    >>> (tree,) = grow_trees(planted.sheets[:1], search, settings, planted.neighbours)
    >>> len(tree.nodes), tree.nodes[1].edit.description
    (6, 'Numerical: 21 to 60')
    """
    settings = settings or TreeSettings()
    validator = validator or partial(rules, domain=domain)
    inert = edits.NO_WORDS
    if settings.placebo_draws and not settings.original:
        inert = edits.inert_words(search.vocabulary, sheets, domain)
    trees = []
    for sheet in sheets:
        write = edits.with_context(
            sheet.case_id, inert, settings.seed, settings.original
        )
        terms = search.vocabulary.terms(sheet)
        root = Node("r", None, None, sheet, write(sheet))
        grown = [root], {sheet_hash(sheet)}, [], [], []
        trees.append(Tree(search.k, settings, domain, write, terms, *grown))
    level = [(tree, tree.nodes[0]) for tree in trees]
    _search_level(search, level)
    for _ in range(settings.max_depth):
        grown = []
        placebos = []
        for tree, node in level:
            children = _children(tree, node, neighbours, validator)
            grown += [(tree, child) for child in children]
            placebos += [
                (tree, placebo) for placebo in _placebos(tree, node, children, inert)
            ]
        _search_level(search, grown + placebos)
        level = []
        for tree, node in grown:
            moved = node.displacement(tree.k)
            if moved is None or moved >= settings.threshold:
                level.append((tree, node))
    return trees


def _search_level(search, level):
    queries = [node.query for _, node in level]
    rankings = search(queries, exclude=[tree.case_id for tree, _ in level])
    for (_, node), ranking in zip(level, rankings, strict=True):
        node.ranking = ranking


def _children(tree, node, neighbours, validator):
    """Accepted edits of one node within its budget."""
    # The original takes the first ones, of any state.
    original = tree.settings.original
    candidates = edits.single_fact_edits(
        node.sheet, neighbours, tree.write, not original, tree.domain
    )
    if not original:
        tree.noops.extend((node, edit) for edit in candidates if edit.noop)
        changing = [edit for edit in candidates if not edit.noop]
        candidates = edits.order_edits(changing, tree.settings.seed)
    children = []
    for edit in candidates:
        if len(children) == tree.settings.children:
            break
        state = sheet_hash(edit.sheet)
        if state in tree.states and not original:
            continue
        decision = validator(node.sheet, edit)
        tree.decisions.append((node.name, edit.fact_type, *decision))
        if decision.outcome == ACCEPT:
            tree.states.add(state)
            children.append(node.child(len(children) + 1, edit))
    tree.nodes.extend(children)
    return children


def _placebos(tree, node, children, inert):
    """A few placebos for each size that the edits of a node have."""
    sizes = {(child.edit.removed, child.edit.added) for child in children}
    draws, seed = tree.settings.placebo_draws, tree.settings.seed
    placebos = []
    if tree.write.context:
        for size in sorted(sizes - {(0, 0)}):
            placebos += edits.placebo_edits(
                node.sheet, tree.write, *size, inert, draws, seed
            )
    placebos = [node.child(edit.item, edit) for edit in placebos]
    tree.placebos.extend(placebos)
    return placebos


# ---- retrieval of distinct cases


class CaseSearch:
    """Search for distinct cases, each by its best document; that of the query is left out.

    A case is what the column ``case_id`` of the documents says, else a document.
    """

    def __init__(self, retriever, k=10, documents=None):
        self.retriever = retriever
        self.k = k
        self.documents = retriever.index.documents if documents is None else documents
        column = "case_id" if "case_id" in self.documents else "doc_id"
        cases = self.documents.set_index("doc_id", drop=False)[column].astype(str)
        self._case_of = cases.to_dict()
        sizes = cases.value_counts()
        # So many documents hold k cases and that of the query.
        self._fetch = int(min(k * sizes.max() + 1, len(cases)))
        if len(sizes) < k:
            few = f"the collection holds {len(sizes)} cases, fewer than the {k} to be compared"
            raise InputError(f"{few}: lower K or add documents")

    @cached_property
    def vocabulary(self):
        return edits.Vocabulary(self.documents["text"])

    def __call__(self, queries, exclude=None):
        if not queries:
            return []
        exclude = exclude or [None] * len(queries)
        if hasattr(self.retriever, "retrieve_many"):
            fetch = self._fetch
            result = self.retriever.retrieve_many(queries, top_k=fetch, depth=fetch)
            lists = result.run(range(len(queries))).values()
        else:  # a function of one's own
            lists = scores_by_callable(
                self.retriever, queries, self._fetch, self._case_of
            )
        return [self._distinct(*both) for both in zip(lists, exclude, strict=True)]

    def _distinct(self, scores, excluded):
        found = {}
        for document, score in scores.items():
            case = self._case_of[document]
            if case != excluded:
                found.setdefault(case, (case, document, float(score)))
        rows = list(found.values())[: self.k]
        return CaseRanking(*zip(*rows, strict=True))


# ---- edges as rows

FOOTRULE = "footrule"
DISPLACEMENT = "displacement"
EDGE_MEASURES = (FOOTRULE, DISPLACEMENT)

# Status of an edge; only those that are ok are measured.
OK = "ok"
NOOP = "noop"
POOR_QUERY = "poor_query"
_FACT = ("fact_type", "item", "old", "new", "removed", "added")
_COLUMNS = [
    "case_id",
    "parent",
    "node",
    "depth",
    *_FACT,
    "status",
    "reason",
    *EDGE_MEASURES,
]
_SIZE = ["case_id", "parent", "removed", "added"]


def edge_frame(trees):
    """Every edge of some trees, no-ops included, with how far it moved the list.

    Beside each edge is the mean of the placebos of its parent and size.
    """
    edges = []
    for tree in trees:
        edges += [(tree, node) for node in tree.nodes[1:]]
        for count, (parent, edit) in enumerate(tree.noops, 1):
            unmoved = parent.child(f"noop{count}", edit)
            unmoved.ranking = parent.ranking
            edges.append((tree, unmoved))
    placebos = placebo_frame(trees)
    valid = placebos[placebos["status"] == OK].groupby(_SIZE)
    means = valid[[*EDGE_MEASURES]].mean().astype(float).add_prefix("placebo_")
    frame = _rows(edges).join(means, on=_SIZE)
    why = (
        frame["case_id"]
        .map({tree.case_id: tree.no_placebo for tree in trees})
        .astype(object)
    )
    frame["no_placebo"] = why.where(frame[f"placebo_{FOOTRULE}"].isna(), None)
    return frame


def placebo_frame(trees):
    return _rows([(tree, node) for tree in trees for node in tree.placebos])


def excess(edges, measure=FOOTRULE):
    """How much further each edge moved the list than its placebos."""
    return edges[measure] - edges[f"placebo_{measure}"].astype(float)


def _rows(edges):
    """Edges as a frame: what was changed, whether it counts, and how far the list moved."""
    rows = []
    for tree, node in edges:
        lists = node.parent.ranking.cases, node.ranking.cases
        status = NOOP if node.edit.noop else OK
        if not any(lists):
            status = "both_empty"
        elif tree.poor:
            status = POOR_QUERY
        reason = tree.poor if status == POOR_QUERY else None
        moved = rankshift.normalised_footrule(*lists, tree.k), node.displacement(tree.k)
        fact = [getattr(node.edit, column) for column in _FACT]
        names = tree.case_id, node.parent.name, node.name, node.depth
        rows.append([*names, *fact, status, reason, *moved])
    types = dict.fromkeys(EDGE_MEASURES, float) | dict.fromkeys(
        ["depth", "removed", "added"], int
    )
    return pd.DataFrame(rows, columns=_COLUMNS).astype(types)
