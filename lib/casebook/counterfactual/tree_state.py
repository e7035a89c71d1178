"""What a tree of edited cases is made of: settings, nodes, and what was left out."""

from collections import Counter
from dataclasses import dataclass, field

from casebook.counterfactual.budget import BUDGETS
from casebook.counterfactual.facts import FACT_TYPES
from casebook.counterfactual.informative import LEAST_TERMS
from casebook.counterfactual.placebo import SIZE, VACUOUS, Writer
from casebook.counterfactual.searching import Found
from casebook.measures.rankshift import mean_displacement
from casebook.stats.samples import check_choice, check_count


@dataclass(frozen=True)
class TreeSettings:
    """How a tree grows."""

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
    """One state of a case."""

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
    """The tree of one case."""

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
