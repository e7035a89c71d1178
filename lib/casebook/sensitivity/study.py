"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.errors import InputError
from casebook.frames import area_contrasts
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import config_for
from casebook.sensitivity import evaluation
from casebook.sensitivity.domain import SHIPPED_DOMAIN, Domain
from casebook.sensitivity.edits import (
    NO_INERT_WORDS,
    Vocabulary,
    inert_words,
    single_fact_edits,
)
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT, case_scores, evaluate_sensitivity
from casebook.sensitivity.facts import present_types
from casebook.sensitivity.tree import (
    DISPLACEMENT,
    FOOTRULE,
    INVALID,
    NOOP,
    OK,
    CaseSearch,
    TreeSettings,
    edge_frame,
    grow_trees,
    placebo_frame,
)
from casebook.stats.intervals import bootstrap_mean
from casebook.stats.samples import number_or_none

STUDY_SYSTEMS = ("bm25", "dense", "full")
RANDOM_ORDER = "random"
TYPE_ALONE = "type alone"
DOCUMENTED_SCORE = "mean displacement"
SIMPLE_SYSTEM = "bm25"  # the simple system that others are compared with
NUMBER_FIELDS = ("value", "ci", "n", "control", "reason")

PLACEBOS_ABOVE = "share of placebos above the threshold"


@dataclass(frozen=True, eq=False)
class SensitivityStudy:
    """Trees of the same cases by system, random order last, and their edges and placebos as frames.

    Number of resamples and seed are those of every interval and test.
    """

    name: str
    trees: dict = field(repr=False)
    edges: dict = field(repr=False)
    placebos: dict = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    n_resamples: int = 10_000
    seed: int = 0
    domain: Domain = field(default=SHIPPED_DOMAIN, repr=False)

    @property
    def systems(self):
        """Keys of the systems, random order last: list of str."""
        return list(self.trees)

    def sensitivity(self, system):
        """Aggregate the edges of one system; see `evaluation.sensitivity`."""
        return evaluation.sensitivity(
            self.edges[system],
            fact_types=self.domain.fact_types,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )

    def scores(self, system, measure=FOOTRULE, over_placebo=True):
        """Give the sensitivity of each case to each fact type; see `evaluation.case_scores`."""
        return case_scores(self.edges[system], measure, over_placebo, self.domain.fact_types)

    def evaluated(self, system, over_placebo=True, threshold=None):
        """Score one system against the annotations; see `evaluation.evaluate_sensitivity`."""
        return self._evaluate(self.scores(system, over_placebo=over_placebo), threshold)

    def _evaluate(self, scores, threshold=None):
        return evaluate_sensitivity(
            scores, self.annotations, threshold, n_resamples=self.n_resamples, seed=self.seed
        )

    def shares_above(self, system):
        """Give each case's share of edits above the documented threshold.

        See `evaluation.shares_above`.
        """
        return evaluation.shares_above(self.edges[system], self.placebos[system], self.annotations)

    def placebos_above(self, system, threshold=DECISIVE_DISPLACEMENT):
        """Give the share of all placebo edits above a displacement; empty without any.

        The interval is over cases.
        """
        placebos = self.placebos[system]
        placebos = placebos[placebos["status"] == OK]
        if placebos.empty:
            return {}
        exceeds = placebos[DISPLACEMENT] > threshold
        share = bootstrap_mean(
            exceeds.to_numpy(float),
            clusters=placebos["case_id"].tolist(),
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        return {PLACEBOS_ABOVE: share.number(0.0)}

    def documented(self, system, threshold=DECISIVE_DISPLACEMENT):
        """Score one system by COUNTERCASE's measures: as documented, and as its code does."""
        cases = [tree.case_id for tree in self.trees[system]]
        edges = self.edges[system]
        scores = evaluation.documented_scores(edges, cases, self.domain.fact_types)
        outcomes = self.decisions(system)["outcome"]
        n_edges = int((edges["status"] != INVALID).sum())
        stated = evaluation.stated_evaluation(scores, self.annotations, outcomes, threshold)
        in_code = evaluation.documented_evaluation(scores, self.annotations, n_edges, threshold)
        return stated, in_code

    def against_simple(self, system):
        """Contrast the AUROC of a system with the simple baselines, the best first.

        Both sides have scores of the same pairs; the intervals hold together (Bonferroni).
        """
        scores = self.scores(system)
        baselines = {TYPE_ALONE: evaluation.type_scores(scores, self.annotations)}
        if SIMPLE_SYSTEM in self.edges and system != SIMPLE_SYSTEM:
            baselines[SIMPLE_SYSTEM] = self.scores(SIMPLE_SYSTEM)
        level = 1 - 0.05 / len(baselines)
        rows = [
            self._auroc_row(system, name, baseline, level) for name, baseline in baselines.items()
        ]
        frame = pd.DataFrame(rows).astype({"reason": object})
        return frame.sort_values("baseline", ascending=False, kind="stable").reset_index(drop=True)

    def against_documented(self):
        """Contrast the AUROC of the excess with that of the documented mean displacement."""
        rows = []
        for system in self.systems:
            displacement = self.scores(system, DISPLACEMENT, over_placebo=False)
            rows.append(self._auroc_row(system, DOCUMENTED_SCORE, displacement))
        return pd.DataFrame(rows).astype({"reason": object})

    def _auroc_row(self, system, against, baseline, level=0.95):
        """Contrast the AUROC of a system's excess with another score of the same pairs."""
        pairs = evaluation.score_pairs(self.scores(system), self.annotations)
        pairs["baseline"] = evaluation.score_pairs(baseline, self.annotations)["score"]
        pairs = pairs.dropna(subset=["score", "baseline", "dispositive"])
        rows = area_contrasts(
            pairs["dispositive"],
            pairs[["score", "baseline"]],
            [("score", "baseline")],
            pairs["case_id"].tolist(),
            level=level,
        )
        row = rows.iloc[0].to_dict() | {"system": system, "against": against}
        if pairs.empty:
            row["reason"] = self.why_no_excess(system)
        return row

    def why_no_excess(self, system):
        """Say why no edit of a system has an excess over placebos."""
        return self.edges[system]["no_placebo"].mode().get(0, evaluation.NOT_ASSESSED)

    def agreement(self):
        """Score every system, and the fact type alone, against the annotations; empty without any.

        Thresholds of the held-out columns are chosen on every second case and tested on the rest.
        """
        if self.annotations.empty:
            return pd.DataFrame(columns=["system", "pairs", "AUROC of excess"])
        rows = [self._agreement_row(system) for system in self.systems]
        type_scores = evaluation.type_scores(self.scores(self.systems[0]), self.annotations)
        numbers = self._evaluate(type_scores)
        rows.append(_row_of_numbers(TYPE_ALONE, numbers, {"AUROC of excess": numbers["auroc"]}))
        return pd.DataFrame(rows)

    def _agreement_row(self, system):
        scores = self.scores(system)
        numbers = self.evaluated(system)
        threshold = evaluation.development_threshold(scores.iloc[::2], self.annotations)
        held_out = self._evaluate(scores.iloc[1::2], threshold)
        placebo_limit = evaluation.placebo_threshold(self.placebos[system], FOOTRULE)
        uncorrected = self.evaluated(system, over_placebo=False, threshold=placebo_limit)
        columns = {
            "AUROC of excess": numbers["auroc"],
            "AUROC uncorrected": uncorrected["auroc"],
            "balanced accuracy, held out": held_out.get("balanced_accuracy"),
            "MCC, held out": held_out.get("mcc"),
            "balanced accuracy, placebo limit": uncorrected.get("balanced_accuracy"),
        }
        return _row_of_numbers(system, numbers, columns)

    def decisions(self, system):
        """Give what the validator said: DataFrame, a row per edit that it judged."""
        rows = []
        for tree in self.trees[system]:
            for decision in tree.decisions:
                rows.append((tree.case_id, *decision))
        return pd.DataFrame(rows, columns=["case_id", "node", "fact_type", "outcome", "reason"])

    def rows(self):
        """Give the tidy rows: one per system and edge, placebo edges included."""
        parts = []
        for system in self.systems:
            parts.append(self.edges[system].assign(system=system))
            parts.append(self.placebos[system].assign(system=system, fact_type="Placebo"))
        rows = pd.concat(parts, ignore_index=True)
        keys = ["system", "case_id", "parent", "node", "depth", "fact_type", "status"]
        return rows[keys + [name for name in rows if name not in keys]]

    def numbers(self):
        """Give every aggregate with interval, n and control, for ``numbers.json``."""
        return {system: self._numbers_of(system) for system in self.systems}

    def _numbers_of(self, system):
        numbers = {}
        if len(self.annotations):
            for name, number in self.evaluated(system).items():
                if number["value"] is not None:
                    numbers[name] = {key: number[key] for key in NUMBER_FIELDS}
        numbers |= self.placebos_above(system)
        for row in self.sensitivity(system).to_dict("records"):
            label = f"{FOOTRULE} {row['fact type']}"
            n = row["edges"]
            reason = row["reason"]
            numbers[label] = number_of(
                row, "sensitivity", n=n, control=row["placebo"], reason=reason
            )
            numbers[f"{label} over placebo"] = number_of(
                row, "excess", n=n, control=0.0, reason=reason
            )
        return numbers


def _row_of_numbers(system, numbers, columns):
    """Write a row of numbers with their bounds; NaN where a number is undefined."""
    row = {"system": system, "pairs": numbers["auroc"]["n"]}
    spearman = numbers["spearman"]
    for name, number in (columns | {"mean Spearman": spearman}).items():
        low = high = value = None
        if number:
            value = number["value"]
            low, high = number["ci"]
        row[name] = _nan_if_none(value)
        row[f"{name} low"] = _nan_if_none(low)
        row[f"{name} high"] = _nan_if_none(high)
    return row | {"exact p": spearman["p"], "cases ranked": spearman["n"]}


def _nan_if_none(value):
    return np.nan if value is None else value


def number_of(row, name, *, n, control, reason=None):
    """Write one aggregate of a row as a number of the book: undefined is None."""
    return {
        "value": number_or_none(row[name]),
        "ci": [number_or_none(row[f"{name} low"]), number_or_none(row[f"{name} high"])],
        "n": n,
        "control": number_or_none(control),
        "reason": None if pd.isna(reason) else reason,
    }


def run_sensitivity_study(
    cases,
    systems=STUDY_SYSTEMS,
    settings=None,
    *,
    validator=None,
    k=10,
    inert=None,
    encoder=None,
    chunking=True,
    n_resamples=10_000,
    say=None,
):
    """Trees of a collection of cases under several systems and random order.

    A system is a name or a retriever of the user's own. `validator` judges the edits, by default
    by `plausibility.rules`. `inert` are the words of placebos, by default those of
    `edits.inert_words`. `say` takes the lines of `gaps` before anything is searched.
    """
    settings = settings or TreeSettings()
    index = CorpusIndex(cases.documents, encoder)
    vocabulary = Vocabulary(index.texts)  # once: long judgments take seconds
    if inert is None:
        inert = inert_words(vocabulary, sheets=cases.sheets, domain=cases.domain)
    if say is not None:
        told = (cases.domain, cases.annotations)
        for line in gaps(cases.sheets, cases.neighbours, inert, settings, *told):
            say(line)
    trees = dict.fromkeys([*systems, RANDOM_ORDER])
    # Rerankers first: their pass over the tokens gives the pooled vectors of others.
    for system in track(sorted(trees, key=_has_no_reranker), "systems"):
        search = case_search(system, index, k, chunking=chunking)
        search.vocabulary = vocabulary
        trees[system] = grow_trees(
            cases.sheets,
            search,
            settings,
            cases.neighbours,
            validator,
            inert,
            domain=cases.domain,
        )
    edges = {system: edge_frame(grown) for system, grown in trees.items()}
    if validator is None and all(frame["status"].eq(NOOP).all() for frame in edges.values()):
        raise InputError(
            f"{cases.name}: no fact has a plausible edit, so nothing can be changed: add facts"
        )
    return SensitivityStudy(
        name=cases.name,
        trees=trees,
        edges=edges,
        placebos={system: placebo_frame(grown) for system, grown in trees.items()},
        annotations=cases.annotations,
        documents=index.documents,
        n_resamples=n_resamples,
        seed=settings.seed,
        domain=cases.domain,
    )


def gaps(sheets, neighbours, inert, settings, domain=SHIPPED_DOMAIN, annotations=None):
    """What cases and documents lack, a line for each: the edits and measures that it rules out."""
    present = {name for sheet in sheets for name in present_types(sheet)}
    edits = [
        edit for sheet in sheets for edit in single_fact_edits(sheet, neighbours, domain=domain)
    ]
    edited = {edit.fact_type for edit in edits}
    for name in domain.fact_types:
        if name not in edited:
            why = "no other value of it is known" if name in present else "no case has one"
            yield f"{name}: {why}, so no edit of it is made"
    if settings.placebo_draws and inert.own:
        words = f"{len(inert.own)} words of the documents, such as {', '.join(inert.own[:4])}"
        yield f"the documents have few months, dockets and counsel: placebos exchange {words}"
    elif settings.placebo_draws and not any(inert):
        yield f"{NO_INERT_WORDS}; no excess over placebos is measured"
    if annotations is None:
        return
    if annotations.empty:
        yield "no case is annotated: accuracies, AUROC and Spearman are not defined"
    elif annotations["dispositive"].nunique() < 2:
        yield "all annotated facts decide, or none does: AUROC is not defined"


def _has_no_reranker(system):
    return is_plugin(system) or config_for(system).reranker is None


def case_search(system, index, k, *, chunking=True):
    """Give the search of one system, or of a retriever of the user's own."""
    if is_plugin(system):
        retriever = load_retriever(system, index.documents)
    else:
        retriever = HybridRetriever(index, mode=system, chunking=chunking)
    return CaseSearch(retriever, k, index.documents)
