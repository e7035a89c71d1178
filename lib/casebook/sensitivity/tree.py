"""The tree of edited cases: one fact per edge, one batch of retrieval per level, and its edges as tidy rows."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from casebook.errors import CasebookError, InputError
from casebook.measures import rankshift
from casebook.retrieval.ablation import own_answers
from casebook.sensitivity import edits
from casebook.sensitivity.edits import BUDGETS, order_edits, single_fact_edits
from casebook.sensitivity.facts import contradictions, present_types, sheet_hash
from casebook.sensitivity.plausibility import ACCEPT, rules
from casebook.stats.samples import check_choice, check_count

EXPANSION_THRESHOLD = 1.0
"""Mean rank displacement from which a state is gone into, documented."""


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows: its size, its budget, its placebos, and what the query tells."""

    max_depth: int = 2
    children: int | None = 5
    threshold: float = EXPANSION_THRESHOLD
    budget: str = "stratified"
    placebo_draws: int = 4
    context_words: int = edits.CONTEXT_WORDS
    revisit: bool = False
    bounded: bool = True
    outcome: bool = False
    caps: bool = True
    seed: int = 0

    def __post_init__(self):
        check_count("max_depth", self.max_depth)
        check_choice("budget", self.budget, BUDGETS)

    @classmethod
    def documented(cls, **changes):
        """Give the documented settings: the first five edits, states may return, any number, no placebo."""
        own = {
            "budget": "first",
            "placebo_draws": 0,
            "revisit": True,
            "bounded": False,
            "outcome": True,
        }
        return cls(**own | changes)


@dataclass(frozen=True)
class CaseRanking:
    """Cases that one query retrieves, the document that stands for each, and its score."""

    cases: tuple = ()
    documents: tuple = ()
    scores: tuple = ()
    error: str | None = None


@dataclass
class Node:
    """One state of a case."""

    name: str
    parent: object
    edit: object
    sheet: object
    query: str
    depth: int
    ranking: CaseRanking = field(default_factory=CaseRanking)

    def displacement(self, k):
        """Mean displacement from the parent's list: float, or None if undefined."""
        if self.parent is None or self.ranking.error or self.parent.ranking.error:
            return None
        return rankshift.mean_displacement(self.parent.ranking.cases, self.ranking.cases, k)


@dataclass
class Tree:
    """The tree of one case, its placebos, and what was left out."""

    case_id: str
    k: int
    settings: TreeSettings
    write: edits.Writer
    terms: tuple
    nodes: list
    states: set = field(repr=False)
    placebos: list = field(default_factory=list)
    noops: list = field(default_factory=list)
    decisions: list = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)

    @property
    def root(self):
        """The unedited case."""
        return self.nodes[0]

    @property
    def poor(self):
        """Why the case is too poor to be a query: str, or None."""
        if len(self.terms) >= edits.LEAST_TERMS:
            return None
        few = f"the query has {len(self.terms)} informative term(s) in the collection, fewer than {edits.LEAST_TERMS}"
        return f"{few}: too poor to be scored"

    @property
    def no_placebo(self):
        """Why an edge without placebos has none: str."""
        if not self.settings.placebo_draws:
            return "no placebos were asked for"
        return "no matched placebo" if self.write.context else edits.NO_INERT_WORDS


def grow_tree(sheet, search, **options):
    """Grow the tree of one case; see `grow_trees`."""
    return grow_trees([sheet], search, **options)[0]


def grow_trees(sheets, search, settings=None, neighbours=None, validator=rules, inert=None):
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
    validator : callable
        Judges an edit of a sheet; only accepted edits are tried.
    inert : Inert, optional
        Words of placebos; by default those that tell the documents of the collection apart.

    Returns
    -------
    list of Tree
        One a case: ``nodes``, ``placebos``, ``noops`` and ``decisions``; `edge_frame` measures their edges.

    Raises
    ------
    InputError
        If a case has no fact, contradicts itself, or comes twice.

    Examples
    --------
    >>> from casebook.retrieval.pipeline import HybridRetriever
    >>> from casebook.sensitivity.cases import plant_cases
    >>> planted = plant_cases(1, 2, 4)
    >>> search = CaseSearch(HybridRetriever(planted.documents, mode="bm25"))
    >>> (tree,) = grow_trees(planted.sheets[:1], search, TreeSettings(max_depth=1), planted.neighbours)
    >>> len(tree.nodes), tree.nodes[1].edit.description
    (6, 'Evidence: Confession removed')
    """
    settings = settings or TreeSettings()
    inert = edits.inert_words(search.vocabulary) if inert is None else inert
    trees = [_rooted(sheet, search, settings, inert) for sheet in sheets]
    counts = Counter(tree.case_id for tree in trees)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"case {twice[0]!r} comes {counts[twice[0]]} times")
    _search_level(search, [(tree, tree.root) for tree in trees])
    level = [(tree, tree.root) for tree in trees if not tree.root.ranking.error]
    for _ in range(settings.max_depth):
        grown = []
        placebos = []
        for tree, node in level:
            children = _children(tree, node, neighbours, validator)
            sizes = {(child.edit.removed, child.edit.added) for child in children}
            grown += [(tree, child) for child in children]
            placebos += [(tree, child) for child in _placebos(tree, node, sizes, inert)]
        _search_level(search, grown + placebos)
        for tree, node in grown:
            tree.nodes.append(node)
        for tree, node in placebos:
            tree.placebos.append(node)
        level = [(tree, node) for tree, node in grown if _expands(tree, node)]
    return trees


def _rooted(sheet, search, settings, inert):
    if not present_types(sheet):
        raise InputError(f"{sheet.case_id}: the fact sheet has no fact to change")
    if problems := contradictions(sheet):
        raise InputError(f"{sheet.case_id}: {problems[0]}")
    told = {"outcome": settings.outcome, "caps": settings.caps}
    write = edits.Writer(**told)
    if settings.placebo_draws and any(inert):
        write = edits.with_context(
            sheet.case_id, inert, settings.seed, settings.context_words, **told
        )
    root = Node("r", None, None, sheet, write(sheet), 0)
    terms = search.vocabulary.terms(sheet)
    return Tree(sheet.case_id, search.k, settings, write, terms, [root], {sheet_hash(sheet)})


def _search_level(search, level):
    found = search([node.query for _, node in level], [tree.case_id for tree, _ in level])
    for (_, node), result in zip(level, found, strict=True):
        node.ranking = result


def _children(tree, node, neighbours, validator):
    """Choose the edits of one node within its budget."""
    settings = tree.settings
    found = single_fact_edits(node.sheet, neighbours, tree.write, bounded=settings.bounded)
    tree.counts["candidates"] += len(found)
    if not settings.revisit:
        tree.noops += [(node, edit) for edit in found if edit.noop]
        found = [edit for edit in found if not edit.noop]
    children = []
    for edit in order_edits(found, settings.budget, settings.seed):
        if len(children) == settings.children:
            break
        state = sheet_hash(edit.sheet)
        if state in tree.states and not settings.revisit:
            tree.counts["revisited"] += 1
            continue
        decision = validator(node.sheet, edit)
        tree.decisions.append((node.name, edit.fact_type, decision.outcome, decision.reason))
        if decision.outcome == ACCEPT:
            tree.states.add(state)
            name = f"{node.name}.{len(children) + 1}"
            children.append(Node(name, node, edit, edit.sheet, edit.query, node.depth + 1))
    return children


def _placebos(tree, node, sizes, inert):
    """Make the placebos of one node: a few for each size that its edits have."""
    found = []
    draws = tree.settings.placebo_draws
    seed = tree.settings.seed
    for removed, added in sorted(sizes - {(0, 0)}) if tree.write.context else ():
        made = edits.placebo_edits(node.sheet, tree.write, removed, added, inert, draws, seed)
        tree.counts["unmatched"] += not made
        found += [
            Node(f"{node.name}.{e.item}", node, e, node.sheet, e.query, node.depth + 1)
            for e in made
        ]
    return found


def _expands(tree, node):
    moved = node.displacement(tree.k)
    if moved is None:
        return tree.settings.revisit  # documented: nodes without results are expanded
    return moved >= tree.settings.threshold


# ---- retrieval of distinct cases, each query once


class CaseSearch:
    """Search for distinct cases, remembering what was asked already.

    A case is what the column ``case_id`` of the documents says, else a document; documents are fetched until `k` cases
    are found, the case that asks left out.
    """

    def __init__(self, retriever, k=10, documents=None):
        self.retriever = retriever
        self.k = k
        self._known = {}
        self.documents = documents = retriever.index.documents if documents is None else documents
        self._case = (
            documents["case_id" if "case_id" in documents else "doc_id"]
            .astype(str)
            .to_numpy(dtype=object)
        )
        self._document = documents["doc_id"].to_numpy(dtype=object)
        if (cases := len(set(self._case))) < k:
            few = f"the collection holds {cases} cases, fewer than the {k} to be compared"
            raise InputError(f"{few}: lower K or add documents")

    @cached_property
    def vocabulary(self):
        """Words of the collection: `Vocabulary`."""
        return edits.Vocabulary(self.documents["text"])

    def __call__(self, queries, exclude=None):
        """Retrieve cases for queries, those not seen before in one batch: list of CaseRanking."""
        keys = list(zip(queries, exclude or [None] * len(queries), strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._search(new), strict=True))
        return [self._known[key] for key in keys]

    def _search(self, keys):
        """Search one batch; if it fails, one by one, to know which query it was."""
        try:
            return self._batch(keys)
        except CasebookError as error:
            if not hasattr(self.retriever, "retrieve_many"):  # a fault of the user's own retriever
                raise
            if len(keys) == 1:
                return [CaseRanking(error=str(error))]
            return [self._search([key])[0] for key in keys]

    def _batch(self, keys):
        found = {}
        pending = list(range(len(keys)))
        fetch = self.k + 1
        ranked = (
            self._by_pipeline if hasattr(self.retriever, "retrieve_many") else self._by_callable
        )
        while pending:
            lists = ranked([keys[row][0] for row in pending], fetch)
            for row, (ids, scores) in zip(pending, lists, strict=True):
                listed = self._distinct(ids, scores, keys[row][1])
                if (
                    len(listed.cases) == self.k
                    or len(ids) < fetch
                    or (ids < 0).any()
                    or fetch >= len(self._case)
                ):
                    found[row] = listed
            pending = [row for row in pending if row not in found]
            fetch = min(2 * fetch, len(self._case))
        return [found[row] for row in range(len(keys))]

    def _by_pipeline(self, queries, fetch):
        """Rank documents by a system of ours: places and scores, query by query."""
        config = self.retriever.config
        if str(config.reranker).startswith("maxsim") and "dense" in config.lists:
            encoder = self.retriever.index.encoder(config.query_reading)
            if hasattr(encoder, "cache"):  # one pass gives pooled and token vectors
                encoder.token_vectors(queries, "query")
        result = self.retriever.retrieve_many(queries, top_k=fetch, depth=fetch)
        # The last stage that scores comparably.
        stage = result.stages["reranked" if "reranked" in result.stages else "fused"]
        return list(zip(result.final.ids, stage.scores_of(result.final.ids), strict=True))

    def _by_callable(self, queries, fetch):
        """Rank documents by a retriever of the user's own, ``(queries, k) -> ids, scores``."""
        places = {document: place for place, document in enumerate(self._document)}
        rows = own_answers(self.retriever, list(queries), fetch, places.keys())
        return [
            (np.array([places[name] for name in row], int), np.array([*row.values()], float))
            for row in rows
        ]

    def _distinct(self, ids, scores, exclude):
        """Give the first k distinct cases of one list of documents."""
        places = {}
        for place, document in enumerate(ids):
            if document >= 0 and self._case[document] != exclude:
                places.setdefault(self._case[document], place)
            if len(places) == self.k:
                break
        at = list(places.values())
        values = (None if np.isnan(scores[i]) else float(scores[i]) for i in at)
        return CaseRanking(tuple(places), tuple(self._document[ids[i]] for i in at), tuple(values))


# ---- edges as rows

FOOTRULE = "footrule"
DISPLACEMENT = "displacement"
OK, NOOP, INVALID, BOTH_EMPTY, POOR_QUERY = "ok", "noop", "invalid", "both_empty", "poor_query"


def distances(before, after, k):
    """How far a list moved, by every measure; NaN where undefined."""
    mean = rankshift.mean_displacement
    pair = (before, after)
    same_depth = rankshift.rbo(*pair)
    same_set = rankshift.jaccard(*pair, k)
    found = {
        "footrule": rankshift.normalised_footrule(*pair, k),
        "displacement": mean(*pair, k),
        "displacement_moved": mean(*pair, k, affected="moved"),
        "displacement_before": mean(*pair, k, affected="before"),
        "displacement_len_aware": mean(*pair, k, absent="len_aware"),
        "rbo_distance": None if same_depth is None else 1 - same_depth,
        "jaccard_distance": None if same_set is None else 1 - same_set,
        "kendall": rankshift.kendall_topk(*pair, k, normalised=True),
    }
    return {name: np.nan if x is None else x for name, x in found.items()}


EDGE_MEASURES = tuple(distances((), (), 10))
_FACT = ("fact_type", "item", "operation", "old", "new", "removed", "added")
_COLUMNS = [
    "case_id",
    "parent",
    "node",
    "depth",
    *_FACT,
    "status",
    "reason",
    "n_parent",
    "n_child",
    *EDGE_MEASURES,
]


def edge_frame(trees):
    """Measure every edge of some trees, no-ops included, beside the mean of the placebos of its parent and size."""
    rows = []
    for tree in trees:
        rows += [
            _row(tree, node.parent, node.name, node.edit, node.ranking) for node in tree.nodes[1:]
        ]
        for count, (parent, edit) in enumerate(tree.noops, 1):
            rows.append(_row(tree, parent, f"{parent.name}.noop{count}", edit, parent.ranking))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    placebos = placebo_frame(trees)
    size = ["case_id", "parent", "removed", "added"]
    valid = placebos[placebos["status"] == OK].groupby(size)
    means = valid[list(EDGE_MEASURES)].mean().add_prefix("placebo_")
    frame = frame.join(means.assign(placebos=valid.size()), on=size).fillna({"placebos": 0})
    counts = dict.fromkeys(["depth", "removed", "added", "placebos"], int)
    frame = frame.astype(dict.fromkeys([*EDGE_MEASURES, *means.columns], float) | counts)
    why = frame["case_id"].map({tree.case_id: tree.no_placebo for tree in trees})
    return frame.assign(no_placebo=why.astype(object).where(frame["placebos"] == 0, None))


def placebo_frame(trees):
    """Measure every placebo edge of some trees."""
    rows = [
        _row(tree, node.parent, node.name, node.edit, node.ranking)
        for tree in trees
        for node in tree.placebos
    ]
    keep = ["case_id", "parent", "node", "depth", "removed", "added", "status", *EDGE_MEASURES]
    return pd.DataFrame(rows, columns=_COLUMNS)[keep].astype(dict.fromkeys(EDGE_MEASURES, float))


def excess(edges, measure=FOOTRULE):
    """Give what each edge moved beyond its placebos."""
    return edges[measure] - edges[f"placebo_{measure}"].astype(float)


def _row(tree, parent, name, edit, found):
    before = parent.ranking
    error = parent.ranking.error or found.error
    empty = not before.cases and not found.cases
    status = (
        INVALID
        if error
        else BOTH_EMPTY
        if empty
        else POOR_QUERY
        if tree.poor
        else NOOP
        if edit.noop
        else OK
    )
    reason = error or ("both lists are empty" if empty else tree.poor)
    moved = distances((), (), tree.k) if error else distances(before.cases, found.cases, tree.k)
    return {
        "case_id": tree.case_id,
        "parent": parent.name,
        "node": name,
        "depth": parent.depth + 1,
        **{column: getattr(edit, column) for column in _FACT},
        "status": status,
        "reason": reason,
        "n_parent": len(before.cases),
        "n_child": len(found.cases),
        **moved,
    }
