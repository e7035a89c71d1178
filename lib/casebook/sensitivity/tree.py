"""The tree of edited cases, one fact per edge, and its edges as tidy rows."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import pandas as pd

from casebook.errors import CasebookError, InputError
from casebook.measures import rankshift
from casebook.retrieval.ablation import scores_by_callable
from casebook.sensitivity import edits
from casebook.sensitivity.domain import SHIPPED_DOMAIN, Domain
from casebook.sensitivity.edits import BUDGETS, order_edits, single_fact_edits
from casebook.sensitivity.facts import contradictions, present_types, sheet_hash
from casebook.sensitivity.plausibility import ACCEPT, rules
from casebook.stats.samples import check_choice, check_count

EXPANSION_THRESHOLD = 1.0
"""Mean rank displacement at which a state is expanded, documented."""


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows: its size, its budget, its placebos, and what its queries contain."""

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
        """Give the documented settings.

        The first edits of the list, states may return, numbers without bounds, no placebo.
        """
        documented = {
            "budget": "first",
            "placebo_draws": 0,
            "revisit": True,
            "bounded": False,
            "outcome": True,
        }
        return cls(**documented | changes)


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
    domain: Domain = field(default=SHIPPED_DOMAIN, repr=False)

    @property
    def root(self):
        """The unedited case."""
        return self.nodes[0]

    @property
    def poor(self):
        """Why the case is too poor to be a query: str, or None."""
        if len(self.terms) >= edits.LEAST_TERMS:
            return None
        return (
            f"the query has {len(self.terms)} informative term(s) in the collection, fewer than "
            f"{edits.LEAST_TERMS}: too poor to be scored"
        )

    @property
    def no_placebo(self):
        """Why an edge without placebos has none: str."""
        if not self.settings.placebo_draws:
            return "no placebos were asked for"
        return "no matched placebo" if self.write.context else edits.NO_INERT_WORDS


def grow_trees(
    sheets,
    search,
    settings=None,
    neighbours=None,
    validator=None,
    inert=None,
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
    inert : Inert, optional
        Words of placebos; by default those of `edits.inert_words`.
    domain : Domain, optional
        Acts and fact types of the user's own, as `read_domain` gives them.

    Returns
    -------
    list of Tree
        One a case: ``nodes``, ``placebos``, ``noops`` and ``decisions``; `edge_frame` measures
        their edges.

    Raises
    ------
    InputError
        If a case has no fact, one of a type that the domain lacks, contradicts itself, or comes
        twice.

    Examples
    --------
    >>> from casebook.retrieval.pipeline import HybridRetriever
    >>> from casebook.sensitivity.cases import plant_cases
    >>> planted = plant_cases(1, 2, 4)
    >>> search = CaseSearch(HybridRetriever(planted.documents, mode="bm25"))
    >>> settings = TreeSettings(max_depth=1)
    >>> (tree,) = grow_trees(planted.sheets[:1], search, settings, planted.neighbours)
    >>> len(tree.nodes), tree.nodes[1].edit.description
    (6, 'Evidence: Confession removed')
    """
    settings = settings or TreeSettings()
    if inert is None:
        inert = edits.inert_words(search.vocabulary, sheets=sheets, domain=domain)
    if validator is None:
        validator = partial(rules, domain=domain)
    trees = [_rooted(sheet, search, settings, inert, domain) for sheet in sheets]
    for name, count in Counter(tree.case_id for tree in trees).items():
        if count > 1:
            raise InputError(f"case {name!r} comes {count} times")
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


def _rooted(sheet, search, settings, inert, domain):
    present = present_types(sheet)
    if not present:
        raise InputError(f"{sheet.case_id}: the fact sheet has no fact to change")
    unknown = set(present) - set(domain.fact_types)
    if unknown:
        raise InputError(f"{sheet.case_id}: the domain has no fact type {min(unknown)!r}")
    problems = contradictions(sheet)
    if problems:
        raise InputError(f"{sheet.case_id}: {problems[0]}")
    write = edits.with_context(
        sheet.case_id,
        inert if settings.placebo_draws else edits.NO_WORDS,
        settings.seed,
        settings.context_words,
        outcome=settings.outcome,
        caps=settings.caps,
    )
    root = Node("r", None, None, sheet, write(sheet), 0)
    terms = search.vocabulary.terms(sheet)
    states = {sheet_hash(sheet)}
    return Tree(sheet.case_id, search.k, settings, write, terms, [root], states, domain=domain)


def _search_level(search, level):
    queries = [node.query for _, node in level]
    cases = [tree.case_id for tree, _ in level]
    rankings = search(queries, exclude=cases)
    for (_, node), ranking in zip(level, rankings, strict=True):
        node.ranking = ranking


def _children(tree, node, neighbours, validator):
    """Choose the edits of one node within its budget."""
    settings = tree.settings
    candidates = single_fact_edits(
        node.sheet, neighbours, tree.write, bounded=settings.bounded, domain=tree.domain
    )
    tree.counts["candidates"] += len(candidates)
    if not settings.revisit:
        tree.noops += [(node, edit) for edit in candidates if edit.noop]
        candidates = [edit for edit in candidates if not edit.noop]
    children = []
    for edit in order_edits(candidates, settings.budget, settings.seed):
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
    if not tree.write.context:
        return []
    placebos = []
    for removed, added in sorted(sizes - {(0, 0)}):
        of_size = edits.placebo_edits(
            node.sheet,
            tree.write,
            removed,
            added,
            inert,
            draws=tree.settings.placebo_draws,
            seed=tree.settings.seed,
        )
        tree.counts["unmatched"] += int(not of_size)  # a count of 0 is kept, too
        for edit in of_size:
            name = f"{node.name}.{edit.item}"
            placebos.append(Node(name, node, edit, node.sheet, edit.query, node.depth + 1))
    return placebos


def _expands(tree, node):
    moved = node.displacement(tree.k)
    if moved is None:
        return tree.settings.revisit  # documented: nodes without results are expanded
    return moved >= tree.settings.threshold


# ---- retrieval of distinct cases, each query once


class CaseSearch:
    """Search for distinct cases; each query is searched once.

    A case is what the column ``case_id`` of the documents says, else a document; documents are
    fetched until `k` cases are found, the case of the query left out.
    """

    def __init__(self, retriever, k=10, documents=None):
        self.retriever = retriever
        self.k = k
        self.documents = retriever.index.documents if documents is None else documents
        case_column = "case_id" if "case_id" in self.documents else "doc_id"
        self._case_of = self.documents[case_column].astype(str).to_numpy(dtype=object)
        self._document_ids = self.documents["doc_id"].to_numpy(dtype=object)
        self._rankings = {}
        n_cases = len(set(self._case_of))
        if n_cases < k:
            raise InputError(
                f"the collection holds {n_cases} cases, fewer than the {k} to be compared: "
                "lower K or add documents"
            )

    @cached_property
    def vocabulary(self):
        """Words of the collection: `Vocabulary`."""
        return edits.Vocabulary(self.documents["text"])

    def __call__(self, queries, exclude=None):
        """Retrieve cases for queries, new queries in one batch: list of CaseRanking."""
        keys = list(zip(queries, exclude or [None] * len(queries), strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._rankings]
        if new:
            self._rankings.update(zip(new, self._search(new), strict=True))
        return [self._rankings[key] for key in keys]

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
        """Fetch more and more documents, until each query has enough cases or no more documents."""
        is_ours = hasattr(self.retriever, "retrieve_many")
        rank_documents = self._by_pipeline if is_ours else self._by_callable
        rankings = {}
        pending = keys
        fetch = self.k + 1
        while pending:
            lists = rank_documents([query for query, _ in pending], fetch)
            for key, (positions, scores) in zip(pending, lists, strict=True):
                _, excluded = key
                ranking = self._distinct(positions, scores, excluded)
                exhausted = len(positions) < fetch or (positions < 0).any()
                if len(ranking.cases) == self.k or exhausted or fetch >= len(self._case_of):
                    rankings[key] = ranking
            pending = [key for key in pending if key not in rankings]
            fetch = min(2 * fetch, len(self._case_of))
        return [rankings[key] for key in keys]

    def _by_pipeline(self, queries, fetch):
        """Rank documents by a system of ours: positions and scores, query by query."""
        result = self.retriever.retrieve_many(queries, top_k=fetch, depth=fetch)
        # The last stage that scores comparably.
        stage = result.stages["reranked" if "reranked" in result.stages else "fused"]
        return list(zip(result.final.ids, stage.scores_of(result.final.ids), strict=True))

    def _by_callable(self, queries, fetch):
        """Rank documents by a retriever of the user's own, ``(queries, k) -> ids, scores``."""
        positions = {document: at for at, document in enumerate(self._document_ids)}
        rows = scores_by_callable(self.retriever, list(queries), fetch, positions.keys())
        for row in rows:
            listed = np.array([positions[document] for document in row], int)
            yield listed, np.array(list(row.values()), float)

    def _distinct(self, positions, scores, excluded):
        """Give the first k distinct cases of one list of documents."""
        documents = {}
        case_scores = {}
        for position, score in zip(positions, scores, strict=True):
            case = self._case_of[position]
            if position >= 0 and case != excluded and case not in documents:
                documents[case] = self._document_ids[position]
                case_scores[case] = None if np.isnan(score) else float(score)
            if len(documents) == self.k:
                break
        return CaseRanking(
            cases=tuple(documents),
            documents=tuple(documents.values()),
            scores=tuple(case_scores.values()),
        )


# ---- edges as rows

FOOTRULE = "footrule"
DISPLACEMENT = "displacement"

# Status of an edge; only those that are ok are measured.
OK = "ok"
NOOP = "noop"
INVALID = "invalid"
BOTH_EMPTY = "both_empty"
POOR_QUERY = "poor_query"


def distances(before, after, k):
    """Measure how far a list moved, by every measure; NaN where undefined."""
    rbo = rankshift.rbo(before, after)
    jaccard = rankshift.jaccard(before, after, k)
    values = {
        "footrule": rankshift.normalised_footrule(before, after, k),
        "displacement": rankshift.mean_displacement(before, after, k),
        "rbo_distance": None if rbo is None else 1 - rbo,
        "jaccard_distance": None if jaccard is None else 1 - jaccard,
        "kendall": rankshift.kendall_topk(before, after, k, normalised=True),
    }
    return {name: np.nan if value is None else value for name, value in values.items()}


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
    """Measure every edge of some trees, no-ops included.

    Beside each edge stands the mean of the placebos of its parent and size.
    """
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
    """Give how much further each edge moved the list than its placebos."""
    return edges[measure] - edges[f"placebo_{measure}"].astype(float)


def _row(tree, parent, name, edit, ranking):
    before = parent.ranking
    error = before.error or ranking.error
    moved = distances(before.cases, ranking.cases, tree.k)
    if error:
        status, reason = INVALID, error
        moved = distances((), (), tree.k)
    elif not before.cases and not ranking.cases:
        status, reason = BOTH_EMPTY, "both lists are empty"
    elif tree.poor:
        status, reason = POOR_QUERY, tree.poor
    else:
        status, reason = NOOP if edit.noop else OK, None
    return {
        "case_id": tree.case_id,
        "parent": parent.name,
        "node": name,
        "depth": parent.depth + 1,
        **{column: getattr(edit, column) for column in _FACT},
        "status": status,
        "reason": reason,
        "n_parent": len(before.cases),
        "n_child": len(ranking.cases),
        **moved,
    }
