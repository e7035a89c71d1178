"""What a tree of edited cases is made of: settings, nodes, and what was left out."""

from collections import Counter
from dataclasses import dataclass, field

from casebook.counterfactual.budget import BUDGETS
from casebook.counterfactual.facts import FACT_TYPES
from casebook.counterfactual.informative import LEAST_TERMS
from casebook.counterfactual.placebo import SIZE, VACUOUS, Writer
from casebook.counterfactual.searching import Found
from casebook.inference.samples import check_choice, check_count
from casebook.measures.rankshift import mean_displacement


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows.

    Parameters
    ----------
    max_depth : int
        Edges from the root to the deepest node, at least 1.
    children : int or None
        Accepted edits that are tried per node; None for all.
    threshold : float
        A node is expanded if its mean displacement from its parent is at least so
        large.
    budget : {"stratified", "first"}
        See `casebook.counterfactual.budget.ordered`.
    placebo_draws : int
        Placebos per node and size of edit; 0 for none, and no inert words.
    context_words : int
        Inert words of a query, at least 1.
    revisit : bool
        Whether a state may occur again, as documented. Otherwise an edit that leads
        to a state seen in the tree is left out, and edits that leave the query as it
        was are recorded without spending the budget on them.
    fact_types : tuple of str
        Types that are edited.
    bounded : bool
        Whether numbers stay within legal sense; the documented ones do not.
    outcome, caps, words : bool
        As for `casebook.counterfactual.facts.query_text`.
    seed : int
        Of inert words, placebos and the order of edits.
    """

    max_depth: int = 2
    children: int | None = 5
    threshold: float = 1.0
    budget: str = "stratified"
    placebo_draws: int = 4
    context_words: int = SIZE
    revisit: bool = False
    fact_types: tuple = FACT_TYPES
    bounded: bool = True
    outcome: bool = False
    caps: bool = True
    words: bool = False
    seed: int = 0

    def __post_init__(self):
        check_count("max_depth", self.max_depth)
        check_count("placebo_draws", self.placebo_draws, least=0)
        check_count("context_words", self.context_words)
        check_count("seed", self.seed, least=0)
        check_choice("budget", self.budget, BUDGETS)
        if self.children is not None:
            check_count("children", self.children)

    @classmethod
    def documented(cls, **changes):
        """Give the documented settings: the first five edits, states may return."""
        own = {"budget": "first", "placebo_draws": 0, "revisit": True}
        own |= {"bounded": False, "outcome": True}
        return cls(**{**own, **changes})


@dataclass
class Node:
    """One state of a case.

    Attributes
    ----------
    name : str
        ``r`` for the root; children add ``.1``, ``.2``, ...
    parent : Node or None
        The state before the edit.
    edit : Edit or None
        The fact that changed; None for the root.
    sheet : FactSheet
        The facts.
    query : str
        The query.
    depth : int
        Edges to the root.
    found : Found
        Retrieved cases; empty until its level is searched.
    manual : bool
        Whether somebody made the edit by hand.
    """

    name: str
    parent: object
    edit: object
    sheet: object
    query: str
    depth: int
    found: Found = field(default_factory=Found)
    manual: bool = False

    def displacement(self, k):
        """Mean displacement from the parent's list: float, or None if undefined."""
        if self.parent is None or self.found.error or self.parent.found.error:
            return None
        return mean_displacement(self.parent.found.cases, self.found.cases, k)


@dataclass
class Tree:
    """The tree of one case.

    Attributes
    ----------
    case_id : str
        The case.
    k : int
        Cases compared.
    settings : TreeSettings
        How it grew.
    nodes : list of Node
        The root first, then level by level.
    placebos : list of Node
        Placebo children of expanded nodes.
    noops : list of tuple of (Node, Edit)
        Edits that leave the query of a node as it was: zeros by construction.
    decisions : list of tuple of (str, str, str, str)
        Node, fact type, outcome and reason of every edit that was judged.
    counts : collections.Counter
        ``candidates``, ``revisited`` (left out), ``unmatched`` (placebo sizes that
        could not be made).
    write : Writer
        Writer of its queries.
    terms : tuple of str
        Informative terms of the case's facts in the collection.
    """

    case_id: str
    k: int
    settings: TreeSettings
    write: Writer
    terms: tuple = ()
    nodes: list = field(default_factory=list)
    placebos: list = field(default_factory=list)
    noops: list = field(default_factory=list)
    decisions: list = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    seen: set = field(default_factory=set, repr=False)

    @property
    def root(self):
        """The unedited case."""
        return self.nodes[0]

    @property
    def poor(self):
        """Why the case is too poor to be a query: str, or None."""
        if len(self.terms) >= LEAST_TERMS:
            return None
        return (
            f"the query has {len(self.terms)} informative term(s) in the collection, "
            f"fewer than {LEAST_TERMS}: too poor to be scored"
        )

    @property
    def no_placebo(self):
        """Why an edge without placebos has none: str."""
        if not self.settings.placebo_draws:
            return "no placebos were asked for"
        return "no matched placebo" if self.write.context else VACUOUS
