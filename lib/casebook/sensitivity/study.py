"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook import frames
from casebook.errors import InputError
from casebook.findings import interval_verdicts
from casebook.measures.rankshift import normalised_footrule
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import SYSTEM_NAMES, SYSTEM_PHRASES, config_for
from casebook.scores import Scores
from casebook.sensitivity import evaluation
from casebook.sensitivity.cases import CaseCollection
from casebook.sensitivity.domain import SHIPPED_DOMAIN
from casebook.sensitivity.edits import NO_INERT_WORDS, inert_words, single_fact_edits
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT, case_scores
from casebook.sensitivity.facts import present_types
from casebook.sensitivity.tree import (
    DISPLACEMENT,
    FOOTRULE,
    NOOP,
    OK,
    CaseSearch,
    TreeSettings,
    edge_frame,
    grow_trees,
    placebo_frame,
)
from casebook.stats.samples import check_choice
from casebook.tables import FACTS
from casebook.verdicts import (
    BETTER,
    NO_DIFFERENCE,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
    margin_of,
    verdict_of,
)

STUDY_SYSTEMS = ("bm25", "dense", "full")
RANDOM_ORDER = "random"
TYPE_ALONE = "type alone"
DOCUMENTED_SCORE = "mean displacement"
SIMPLE_SYSTEM = "bm25"  # the simple system that others are compared with
PLACEBOS = "placebos"
MOVED = "normalised footrule"
BEYOND = "normalised footrule beyond placebos"
AREA = "AUROC"
PLACEBOS_ABOVE = "share of placebos above the threshold"
EDITS_ABOVE = f"share of edits above {DECISIVE_DISPLACEMENT}"
ONE_FACT = "one changed fact"
TWO_FACTS = "two changed facts"
DECIDE = "facts that decide"
OTHERS = "other facts"

NAMES = SYSTEM_NAMES | {
    RANDOM_ORDER: "random order",
    TYPE_ALONE: "fact type alone",
    PLACEBOS: "placebo edits",
    DOCUMENTED_SCORE: "COUNTERCASE's mean displacement",
}
PHRASES = SYSTEM_PHRASES | {
    RANDOM_ORDER: "random order",
    TYPE_ALONE: "the fact type alone",
    PLACEBOS: "an edit of as many irrelevant words",
    DOCUMENTED_SCORE: "COUNTERCASE's mean displacement without placebos",
}


@dataclass(frozen=True, eq=False)
class SensitivityStudy:
    """Trees of the same cases by system, random order last, and their edges and placebos as frames.

    Number of resamples and seed are those of every interval and test.
    """

    cases: CaseCollection
    trees: dict = field(repr=False)
    edges: dict = field(repr=False)
    placebos: dict = field(repr=False)
    options: dict

    @property
    def systems(self):
        return list(self.trees)

    def focus(self, named=None):
        """System that the answers are about: the one named, else the full pipeline or the last."""
        own = self.systems[:-1]
        system = named or ("full" if "full" in own else own[-1])
        check_choice("shown", system, own)
        return system

    # --- how far edits move the results

    def beyond(self, system):
        """Mean excess of all edits of a system over their placebos: a frame of one estimate."""
        edges = self.edges[system]
        edges = edges[edges["status"] == OK].dropna(subset=f"placebo_{FOOTRULE}")
        above = evaluation.excess(edges).to_frame(system)
        scores = self._scores(above, BEYOND, "edits", clusters=edges["case_id"])
        rows = scores.estimates(null=0.0).drop(columns="control")
        if above.empty:
            rows = rows.assign(reason=self.why_no_excess(system), verdict=NOT_MEASURED)
        means = edges[[FOOTRULE, f"placebo_{FOOTRULE}"]].mean()
        rows["level"], rows["baseline"] = means
        phrase = f"an edit of a fact under {PHRASES.get(system, system)}"
        return rows.assign(system_phrase=phrase, against_phrase=PHRASES[PLACEBOS])

    def dose(self, system):
        """How far one edit, and a second one on top, took the results from the case: `Scores`."""
        rows = []
        for tree in self.trees[system]:
            start = tree.root.ranking.cases
            for node in tree.nodes:
                if node.depth == 2 and not tree.poor:
                    moved = [node.ranking.cases, node.parent.ranking.cases]
                    steps = [normalised_footrule(start, cases, tree.k) for cases in moved]
                    rows.append([tree.case_id, *steps])
        values = pd.DataFrame(rows, columns=["case_id", TWO_FACTS, ONE_FACT]).dropna()
        clusters = values.pop("case_id")
        return self._scores(values.astype(float), MOVED, "second edits", clusters=clusters)

    def beyond_by_type(self, systems=None):
        """Mean excess by fact type; verdicts by Holm's test over the types of each system."""
        rows = self._type_rows(systems or self.systems, "excess", BEYOND).assign(control=0.0)
        is_shown = rows["p_adjusted"] <= 0.05
        cases = [rows["value"].isna(), is_shown & (rows["value"] > 0), is_shown]
        verdicts = np.select(cases, [NOT_MEASURED, BETTER, WORSE], UNDECIDED)
        return rows.assign(null=0.0, margin=0.0, verdict=verdicts)

    def moved_by_type(self):
        """Mean change by the edits of each fact type and, as control, by their placebos."""
        rows = self._type_rows(self.systems, "sensitivity", MOVED).drop(columns="p_adjusted")
        return rows.assign(control_name=NAMES[PLACEBOS])

    def _type_rows(self, systems, column, measure):
        columns = {column: "value", f"{column} low": "low", f"{column} high": "high"}
        columns |= {"edges": "n", "cases": "groups", "placebo": "control", "p_holm": "p_adjusted"}
        tables = [self.sensitivity(system).assign(system=system) for system in systems]
        rows = pd.concat(tables, ignore_index=True).rename(columns=columns)
        rows["part"] = rows["fact type"].replace(FACTS)
        rows["dataset"] = f"{self.cases.name}_" + rows["fact type"]
        kept = ["system", "part", "dataset", *columns.values(), "reason"]
        return self._scores(None, measure, "edits", cluster="cases").described(rows[kept])

    def sensitivity(self, system):
        options = {"fact_types": self.cases.domain.fact_types} | self.options
        return evaluation.sensitivity(self.edges[system], **options)

    def placebos_above(self, system, threshold=DECISIVE_DISPLACEMENT):
        """Share of all placebo edits above a displacement: a frame of one estimate, or of none."""
        placebos = self.placebos[system]
        placebos = placebos[placebos["status"] == OK]
        exceeds = (placebos[[DISPLACEMENT]] > threshold).astype(float).set_axis([system], axis=1)
        clusters = placebos["case_id"]
        scores = self._scores(exceeds, PLACEBOS_ABOVE, "placebo edits", clusters=clusters)
        return scores.estimates().head(len(placebos))

    def why_no_excess(self, system):
        return self.edges[system]["no_placebo"].mode().get(0, evaluation.NOT_ASSESSED)

    # --- which facts decide

    def case_scores(self, system, measure=FOOTRULE, over_placebo=True):
        return case_scores(self.edges[system], measure, over_placebo, self.cases.domain.fact_types)

    def evaluated(self, system):
        scores = self.case_scores(system)
        found = evaluation.evaluate_sensitivity(scores, self.cases.annotations, **self.options)
        if not found["auroc"]["n"]:
            found["auroc"]["reason"] = self.why_no_excess(system)
        return found

    def areas(self):
        """AUROC of the excess of every system, and of the fact type alone, by pairs."""
        tables = []
        columns = {system: self.case_scores(system) for system in self.systems}
        columns[TYPE_ALONE] = self._of_types(self.systems[0])
        for name, scores in columns.items():
            pairs = self._pairs({name: scores})
            of_pairs = pairs["dispositive"], pairs[[name]], pairs["case_id"].tolist()
            tables.append(frames.areas(*of_pairs))
        rows = pd.concat(tables, ignore_index=True)
        is_exact = rows["value"].eq(0.5) & rows["low"].isna()  # every pair scores the same
        verdicts = interval_verdicts(rows, 0.5).mask(is_exact, NO_DIFFERENCE)
        return self._described(rows.assign(verdict=verdicts, null=0.5, margin=margin_of(AREA)))

    def against_simple(self, system, margin=None):
        """AUROC of a system minus that of the simple baselines, the best first.

        Both sides have scores of the same pairs; the intervals hold together (Bonferroni).
        """
        baselines = {TYPE_ALONE: self._of_types(system)}
        if SIMPLE_SYSTEM in self.edges and system != SIMPLE_SYSTEM:
            baselines[SIMPLE_SYSTEM] = self.case_scores(SIMPLE_SYSTEM)
        sides = [(system, name, scores) for name, scores in baselines.items()]
        rows = self._area_contrasts(sides, margin, len(baselines))
        rows = rows.sort_values("baseline", ascending=False, kind="stable", ignore_index=True)
        rows = rows.assign(role="", family="simple baselines")
        if len(rows) > 1:
            rows.loc[0, "role"] = f"the best of {len(rows)} simple baselines"
        return rows

    def against_documented(self, margin=None):
        """AUROC of the excess minus that of the documented mean displacement."""
        sides = []
        for system in self.systems:
            displacement = self.case_scores(system, DISPLACEMENT, over_placebo=False)
            sides.append((system, DOCUMENTED_SCORE, displacement))
        return self._area_contrasts(sides, margin).assign(role="", family="documented measure")

    def _area_contrasts(self, sides, margin, together=1):
        """Rows of systems, what each is compared with, and its scores; so many hold together."""
        margin = margin_of(AREA) if margin is None else margin
        tables = []
        for system, against, scores in sides:
            pairs = self._pairs({system: self.case_scores(system), against: scores})
            both = pairs["dispositive"], pairs[[system, against]], [(system, against)]
            level = 1 - 0.05 / together
            table = frames.area_contrasts(*both, pairs["case_id"].tolist(), level=level)
            row = table.iloc[0]
            verdict = verdict_of(row["low"], row["high"], margin, reason=row["reason"])
            if pairs.empty:
                table["reason"] = self.why_no_excess(system)
            if np.isnan(row["difference"]):
                verdict = NOT_MEASURED
            tables.append(table.assign(verdict=verdict))
        rows = pd.concat(tables, ignore_index=True)
        told = {"margin": margin, "control": 0.5, "note": "", "comparisons": together}
        return self._described(rows.assign(**told))

    def _of_types(self, system):
        return evaluation.type_scores(self.case_scores(system), self.cases.annotations)

    def _pairs(self, scores):
        pairs = self.cases.annotations
        for name, table in scores.items():
            of_side = evaluation.score_pairs(table, self.cases.annotations)["score"]
            pairs = pairs.assign(**{name: of_side})
        pairs = pairs.dropna(subset=["dispositive", *scores])
        return pairs.astype({"dispositive": bool})

    def _described(self, rows):
        scores = self._scores(None, AREA, "pairs of case and fact type", cluster="cases")
        return scores.described(rows.assign(control_name="chance"))

    def above(self, system):
        """Share of a case's edits above 1.5, facts that decide against others: `Scores` by case."""
        placebos = self.placebos[system]
        shares = evaluation.shares_above(self.edges[system], placebos, self.cases.annotations)
        both = shares[[DECIDE, OTHERS]].dropna()
        unmeasured = None
        if both.empty:
            both = shares[[DECIDE, OTHERS]].fillna(0.0)
            unmeasured = f"no case has edits of both {DECIDE} and {OTHERS}"
        return self._scores(both, EDITS_ABOVE, "cases", unmeasured=unmeasured)

    def documented(self, system, threshold=DECISIVE_DISPLACEMENT):
        """One system by COUNTERCASE's measures: as documented, and as its code does."""
        cases = [tree.case_id for tree in self.trees[system]]
        edges = self.edges[system]
        scores = evaluation.documented_scores(edges, cases, self.cases.domain.fact_types)
        outcomes = self.decisions(system)["outcome"]
        stated = evaluation.stated_evaluation(scores, self.cases.annotations, outcomes, threshold)
        in_code = evaluation.documented_evaluation(
            scores, self.cases.annotations, len(edges), threshold
        )
        return stated, in_code

    def documented_table(self):
        """COUNTERCASE's measures of every system, computed in both ways."""
        rows = {}
        for system in self.systems:
            name = NAMES.get(system, system)
            rows[name, "as documented"], rows[name, "as in its code"] = self.documented(system)
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["system", "computed"])
        return table.rename(columns=lambda name: name.replace("_", " ")).reset_index()

    def agreement(self):
        """Mean Spearman correlation of every system's excess with the annotated importance."""
        rows = {name: self.evaluated(name)["spearman"] for name in self.systems}
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("system")
        table[["low", "high"]] = table["ci"].tolist()
        table = table[["value", "low", "high", "p", "n"]].rename(index=NAMES)
        names = ["mean Spearman", "low", "high", "exact p", "cases ranked"]
        return table.set_axis(names, axis=1).reset_index()

    # --- what was tried

    def decisions(self, system):
        rows = [
            (tree.case_id, *decision) for tree in self.trees[system] for decision in tree.decisions
        ]
        return pd.DataFrame(rows, columns=["case_id", "node", "fact_type", "outcome", "reason"])

    def rows(self):
        placebos = pd.concat(self.placebos, names=["system"]).assign(fact_type="Placebo")
        rows = pd.concat([pd.concat(self.edges, names=["system"]), placebos])
        return rows.reset_index("system").reset_index(drop=True)

    def _scores(self, values, measure, unit, **about):
        if "clusters" in about:
            about["cluster"] = "cases"
        about |= {"names": NAMES, "phrases": PHRASES, "unit": unit, **self.options}
        return Scores(values, measure, self.cases.name, self.cases.title, **about)


def run_sensitivity_study(
    cases,
    systems=STUDY_SYSTEMS,
    settings=None,
    *,
    validator=None,
    k=10,
    encoder=None,
    chunking=True,
    n_resamples=10_000,
    say=None,
):
    """Trees of a collection of cases under several systems and random order.

    A system is a name or a retriever of one's own. `validator` judges the edits, by default by
    `plausibility.rules`. `say` takes the lines of `gaps` before anything is searched.
    """
    settings = settings or TreeSettings()
    index = CorpusIndex(cases.documents, encoder)
    trees = dict.fromkeys([*systems, RANDOM_ORDER])
    inert = None
    # Rerankers first: their pass over the tokens gives the pooled vectors of others.
    for system in track(sorted(trees, key=_has_no_reranker), "systems"):
        search = case_search(system, index, k, chunking=chunking)
        if inert is None:
            vocabulary = search.vocabulary  # once: long judgments take seconds
            inert = inert_words(vocabulary, cases.sheets, cases.domain)
            for line in gaps(
                cases.sheets, cases.neighbours, inert, settings, cases.domain, cases.annotations
            ):
                (say or str)(line)
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
    placebos = {system: placebo_frame(grown) for system, grown in trees.items()}
    options = {"n_resamples": n_resamples, "seed": settings.seed}
    return SensitivityStudy(cases, trees, edges, placebos, options)


def gaps(sheets, neighbours, inert, settings, domain=SHIPPED_DOMAIN, annotations=None):
    """What cases and documents lack, a line for each: the edits and measures that it rules out."""
    present = set()
    edited = set()
    for sheet in sheets:
        present.update(present_types(sheet))
        edits = single_fact_edits(sheet, neighbours, domain=domain)
        edited.update(edit.fact_type for edit in edits)
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
    if is_plugin(system):
        retriever = load_retriever(system, index.documents)
    else:
        retriever = HybridRetriever(index, mode=system, chunking=chunking)
    return CaseSearch(retriever, k, index.documents)
