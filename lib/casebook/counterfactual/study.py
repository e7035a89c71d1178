"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from dataclasses import dataclass, field

import pandas as pd

from casebook.counterfactual.annotations import annotation_frame
from casebook.counterfactual.edges import PRIMARY, edge_frame, placebo_frame
from casebook.counterfactual.evaluation import evaluate
from casebook.counterfactual.informative import Vocabulary
from casebook.counterfactual.placebo import inert_words
from casebook.counterfactual.plausibility import rules
from casebook.counterfactual.searching import CaseSearch
from casebook.counterfactual.sensitivity import case_scores, sensitivity
from casebook.counterfactual.tree import TreeSettings, grow_trees
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import config_for

SYSTEMS = ("bm25", "dense", "full")
CONTROL = "random"


@dataclass(frozen=True, eq=False)
class SensitivityStudy:
    """Trees of the same cases under several systems."""

    name: str
    trees: dict = field(repr=False)
    edges: dict = field(repr=False)
    placebos: dict = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    inert: object = field(repr=False)
    seed: int = 0
    n_boot: int = 10_000

    @property
    def systems(self):
        """System keys, the control last: list of str."""
        return list(self.trees)

    @property
    def options(self):
        """Resamples and seed of every interval and test of the study: dict."""
        return {"n_boot": self.n_boot, "seed": self.seed}

    def sensitivity(self, system, measure=PRIMARY):
        """Aggregate the edges of one system; see `sensitivity.sensitivity`."""
        return sensitivity(self.edges[system], measure, **self.options)

    def annotations_of(self, cases):
        """Give the annotations of some cases: DataFrame."""
        return self.annotations[self.annotations["case_id"].isin(cases)]

    def scores(self, system, measure=PRIMARY, over_placebo=True):
        """Give the sensitivity of each case to each fact type; see `case_scores`."""
        return case_scores(self.edges[system], measure, over_placebo)

    def evaluated(self, system, measure=PRIMARY, over_placebo=True, threshold=None):
        """Score one system against the annotations; see `evaluation.evaluate`."""
        scores = self.scores(system, measure, over_placebo)
        return evaluate(scores, self.annotations, threshold, **self.options)

    def decisions(self, system):
        """Give what the validator said: DataFrame, one row per edit judged."""
        rows = [(tree.case_id, *decision) for tree in self.trees[system] for decision in tree.decisions]
        columns = ["case_id", "node", "fact_type", "outcome", "reason"]
        return pd.DataFrame(rows, columns=columns)

    def rows(self):
        """Give the tidy rows: one per system and edge, placebo edges included."""
        parts = []
        for system in self.systems:
            real = self.edges[system].assign(system=system)
            inert = self.placebos[system].assign(system=system, fact_type="Placebo")
            parts += [real, inert]
        rows = pd.concat(parts, ignore_index=True)
        first = ["system", "case_id", "parent", "node", "depth", "fact_type", "status"]
        return rows[first + [name for name in rows if name not in first]]

    def numbers(self):
        """Give every aggregate with interval, n and control, for ``numbers.json``."""
        table = {}
        for system in self.systems:
            table[system] = dict(self._annotated(system))
            frame = self.sensitivity(system)
            for row in frame.to_dict("records"):
                for name, control in (("sensitivity", row["placebo"]), ("excess", 0.0)):
                    label = f"{PRIMARY} {row['fact type']}"
                    label += " over placebo" if name == "excess" else ""
                    table[system][label] = _number(row, name, control)
        return table

    def _annotated(self, system):
        if not len(self.annotations):
            return
        found = self.evaluated(system)
        for name in ("auroc", "spearman"):
            if found[name]["value"] is not None:
                fields = ("value", "ci", "n", "control", "reason")
                yield name, {key: found[name][key] for key in fields}


def run_study(
    name,
    sheets,
    documents,
    systems=SYSTEMS,
    *,
    annotations=None,
    neighbours=None,
    settings=None,
    validator=rules,
    k=10,
    inert=None,
    encoder=None,
    n_boot=10_000,
    **retrieval,
):
    """Grow the trees of some cases under several systems."""
    settings = settings or TreeSettings()
    index = documents
    if not isinstance(documents, CorpusIndex):
        index = CorpusIndex(documents, encoder)
    known = Vocabulary(index.texts)  # once: long judgments take seconds
    inert = inert_words(known) if inert is None else inert
    options = {"neighbours": neighbours, "validator": validator, "inert": inert}
    systems = list(dict.fromkeys([*systems, CONTROL]))
    trees = dict.fromkeys(systems)
    # Rerankers first: their pass over the tokens gives the pooled vectors of others.
    for system in sorted(systems, key=lambda name: config_for(name).reranker is None):
        search = CaseSearch(HybridRetriever(index, mode=system, **retrieval), k)
        search.vocabulary = known
        trees[system] = grow_trees(sheets, search, settings, **options)
    return SensitivityStudy(
        name,
        trees,
        {system: edge_frame(grown) for system, grown in trees.items()},
        {system: placebo_frame(grown) for system, grown in trees.items()},
        annotation_frame([]) if annotations is None else annotations,
        index.documents,
        inert,
        settings.seed,
        n_boot,
    )


def _number(row, name, control):
    """Write one aggregate as a number of the book."""
    value, low, high = (row[key] for key in (name, f"{name} low", f"{name} high"))
    return {
        "value": _none(value),
        "ci": [_none(low), _none(high)],
        "n": row["edges"],
        "control": _none(control),
        "reason": _none(row["reason"]),
    }


def _none(value):
    return None if value is None or value != value else value
