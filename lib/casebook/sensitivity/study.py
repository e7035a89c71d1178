"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from dataclasses import dataclass, field, replace

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
from casebook.sensitivity.edits import (
    MONTHS,
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
    n_resamples: int = 10_000
    seed: int = 0

    @property
    def name(self):
        """Key of the cases."""
        return self.cases.name

    @property
    def title(self):
        """Readers' name of the cases."""
        return self.cases.title

    @property
    def annotations(self):
        """What decides the cases, as far as somebody said."""
        return self.cases.annotations

    @property
    def fact_types(self):
        """Fact types of the cases: tuple of str."""
        return self.cases.domain.fact_types

    @property
    def systems(self):
        """Keys of the systems, random order last: list of str."""
        return list(self.trees)

    def focus(self, named=None):
        """System that the answers are about: the one named, else the full pipeline or the last."""
        own = self.systems[:-1]
        system = named or ("full" if "full" in own else own[-1])
        check_choice("shown", system, own)
        return system

    # --- how far edits move the results

    def scores(self, system):
        """How far each edit and its placebos move the results of a system: `Scores` by edit."""
        edges = self.edges[system]
        edges = edges[edges["status"] == OK].dropna(subset=f"placebo_{FOOTRULE}")
        values = edges[[FOOTRULE, f"placebo_{FOOTRULE}"]].set_axis([system, PLACEBOS], axis=1)
        phrases = PHRASES | {system: f"an edit of a fact under {PHRASES.get(system, system)}"}
        return self._scores(values, MOVED, "edits", clusters=edges["case_id"], phrases=phrases)

    def dose(self, system):
        """How far one edit, and a second one on top, took the results from the case: `Scores`."""
        rows = []
        for tree in self.trees[system]:
            start = tree.root.ranking.cases
            for node in tree.nodes:
                if node.depth == 2 and not (node.ranking.error or tree.poor):
                    moved = [node.ranking.cases, node.parent.ranking.cases]
                    steps = [normalised_footrule(start, cases, tree.k) for cases in moved]
                    rows.append([tree.case_id, *steps])
        values = pd.DataFrame(rows, columns=["case_id", TWO_FACTS, ONE_FACT]).dropna()
        clusters = values.pop("case_id")
        return self._scores(values.astype(float), MOVED, "second edits", clusters=clusters)

    def beyond(self, system):
        """Mean excess of all edits of a system over their placebos: a frame of one estimate."""
        scores = self.scores(system)
        moved = scores.values
        above = moved[[system]].sub(moved[PLACEBOS], axis=0)
        rows = scores.other(above, BEYOND).estimates(null=0.0).drop(columns="control")
        if moved.empty:
            rows = rows.assign(reason=self.why_no_excess(system), verdict=NOT_MEASURED)
        means = moved.mean()
        means = {"level": means[system], "baseline": means[PLACEBOS]}
        return rows.assign(against_phrase=PHRASES[PLACEBOS], **means)

    def beyond_by_type(self, systems=None):
        """The same by fact type, with verdicts by Holm's test over the types of each system."""
        tables = [self._type_rows(system, "excess", BEYOND) for system in systems or self.systems]
        rows = pd.concat(tables, ignore_index=True)
        is_shown = rows["p_adjusted"] <= 0.05
        cases = [rows["value"].isna(), is_shown & (rows["value"] > 0), is_shown]
        verdicts = np.select(cases, [NOT_MEASURED, BETTER, WORSE], UNDECIDED)
        return rows.assign(null=0.0, margin=0.0, verdict=verdicts)

    def moved_by_type(self):
        """Mean change by the edits of each fact type and, as control, by their placebos."""
        tables = [self._type_rows(system, "sensitivity", MOVED) for system in self.systems]
        rows = pd.concat(tables, ignore_index=True)
        return rows.drop(columns="p_adjusted").assign(control_name=NAMES[PLACEBOS])

    def _type_rows(self, system, column, measure):
        table = self.sensitivity(system)
        rows = pd.DataFrame(
            {
                "system": system,
                "part": [FACTS.get(name, name) for name in table["fact type"]],
                "dataset": [f"{self.name}_{name}" for name in table["fact type"]],
                "value": table[column],
                "low": table[f"{column} low"],
                "high": table[f"{column} high"],
                "n": table["edges"],
                "groups": table["cases"],
                "control": table["placebo"] if column == "sensitivity" else 0.0,
                "p_adjusted": table["p_holm"],
                "reason": table["reason"],
            }
        )
        return self._scores(None, measure, "edits", cluster="cases").described(rows)

    def sensitivity(self, system):
        """The edges of one system by fact type; see `evaluation.sensitivity`."""
        options = {"n_resamples": self.n_resamples, "seed": self.seed}
        return evaluation.sensitivity(self.edges[system], fact_types=self.fact_types, **options)

    def placebos_above(self, system, threshold=DECISIVE_DISPLACEMENT):
        """Share of all placebo edits above a displacement: a frame of one estimate, or of none."""
        placebos = self.placebos[system]
        placebos = placebos[placebos["status"] == OK]
        exceeds = (placebos[[DISPLACEMENT]] > threshold).astype(float).set_axis([system], axis=1)
        clusters = placebos["case_id"]
        scores = self._scores(exceeds, PLACEBOS_ABOVE, "placebo edits", clusters=clusters)
        return scores.estimates() if len(placebos) else scores.estimates().head(0)

    def why_no_excess(self, system):
        """Why no edit of a system has an excess over placebos."""
        return self.edges[system]["no_placebo"].mode().get(0, evaluation.NOT_ASSESSED)

    # --- which facts decide

    def case_scores(self, system, measure=FOOTRULE, over_placebo=True):
        """Sensitivity of each case to each fact type; see `evaluation.case_scores`."""
        return case_scores(self.edges[system], measure, over_placebo, self.fact_types)

    def evaluated(self, system):
        """One system against the annotations; see `evaluation.evaluate_sensitivity`."""
        options = {"n_resamples": self.n_resamples, "seed": self.seed}
        return evaluate_sensitivity(self.case_scores(system), self.annotations, **options)

    def areas(self):
        """AUROC of the excess of every system, and of the fact type alone, by pairs."""
        tables = []
        columns = {system: self.case_scores(system) for system in self.systems}
        first = columns[self.systems[0]]
        columns[TYPE_ALONE] = evaluation.type_scores(first, self.annotations)
        for name, scores in columns.items():
            pairs = evaluation.decided_pairs(scores, self.annotations)
            of_pairs = pairs["dispositive"], pairs[["score"]].set_axis([name], axis=1)
            tables.append(frames.areas(*of_pairs, pairs["case_id"].tolist()))
        rows = pd.concat(tables, ignore_index=True)
        is_exact = rows["value"].eq(0.5) & rows["low"].isna()  # every pair scores the same
        verdicts = interval_verdicts(rows, 0.5).mask(is_exact, NO_DIFFERENCE)
        told = {"null": 0.5, "margin": margin_of(AREA), "control_name": "chance"}
        return self._of_pairs().described(rows.assign(verdict=verdicts, **told))

    def against_simple(self, system, margin=None):
        """AUROC of a system minus that of the simple baselines, the best first.

        Both sides have scores of the same pairs; the intervals hold together (Bonferroni).
        """
        first = self.case_scores(system)
        baselines = {TYPE_ALONE: evaluation.type_scores(first, self.annotations)}
        if SIMPLE_SYSTEM in self.edges and system != SIMPLE_SYSTEM:
            baselines[SIMPLE_SYSTEM] = self.case_scores(SIMPLE_SYSTEM)
        sides = [(system, name, scores) for name, scores in baselines.items()]
        rows = self._area_contrasts(sides, margin, len(baselines))
        others = rows["baseline"].rank(ascending=False, method="first")
        role = f"the best of {len(rows)} simple baselines" if len(rows) > 1 else ""
        rows = rows.assign(role=np.where(others == 1, role, ""), family="simple baselines")
        return rows.sort_values("baseline", ascending=False, kind="stable", ignore_index=True)

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
            pairs = evaluation.decided_pairs(self.case_scores(system), self.annotations)
            other = evaluation.score_pairs(scores, self.annotations)["score"]
            pairs = pairs.join(other.rename("other")).dropna(subset="other")
            both = pairs[["score", "other"]].set_axis([system, against], axis=1)
            table = frames.area_contrasts(
                pairs["dispositive"],
                both,
                [(system, against)],
                pairs["case_id"].tolist(),
                level=1 - 0.05 / together,
            )
            if pairs.empty:
                table["reason"] = self.why_no_excess(system)
            tables.append(table)
        rows = pd.concat(tables, ignore_index=True)
        rows["verdict"] = [
            verdict_of(row.low, row.high, margin, reason=row.reason) for row in rows.itertuples()
        ]
        rows["verdict"] = rows["verdict"].mask(rows["difference"].isna(), NOT_MEASURED)
        told = {"margin": margin, "control": 0.5, "control_name": "chance", "note": ""}
        return self._of_pairs().described(rows.assign(comparisons=together, **told))

    def above(self, system):
        """Share of a case's edits above 1.5, facts that decide against others: `Scores` by case."""
        placebos = self.placebos[system]
        shares = evaluation.shares_above(self.edges[system], placebos, self.annotations)
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
        scores = evaluation.documented_scores(edges, cases, self.fact_types)
        outcomes = self.decisions(system)["outcome"]
        n_edges = int((edges["status"] != INVALID).sum())
        stated = evaluation.stated_evaluation(scores, self.annotations, outcomes, threshold)
        in_code = evaluation.documented_evaluation(scores, self.annotations, n_edges, threshold)
        return stated, in_code

    def documented_table(self):
        """COUNTERCASE's measures of every system, computed in both ways."""
        rows = []
        for system in self.systems:
            computed = zip(
                ("as documented", "as in its code"), self.documented(system), strict=True
            )
            for how, measures in computed:
                rows.append({"system": NAMES.get(system, system), "computed": how} | measures)
        table = pd.DataFrame(rows)
        return table.set_axis(table.columns.str.replace("_", " "), axis=1)

    def agreement(self):
        """Mean Spearman correlation of every system's excess with the annotated importance."""
        rows = []
        for system in self.systems:
            number = self.evaluated(system)["spearman"]
            low, high = number["ci"]
            row = {"system": NAMES.get(system, system), "mean Spearman": number["value"]}
            row |= {"low": low, "high": high, "exact p": number["p"], "cases ranked": number["n"]}
            rows.append(row)
        return pd.DataFrame(rows)

    # --- what was tried

    def decisions(self, system):
        """What the validator said: DataFrame, a row per edit that it judged."""
        rows = []
        for tree in self.trees[system]:
            for decision in tree.decisions:
                rows.append((tree.case_id, *decision))
        return pd.DataFrame(rows, columns=["case_id", "node", "fact_type", "outcome", "reason"])

    def rows(self):
        """Tidy rows: one per system and edge, placebo edges included."""
        parts = []
        for system in self.systems:
            parts.append(self.edges[system].assign(system=system))
            parts.append(self.placebos[system].assign(system=system, fact_type="Placebo"))
        rows = pd.concat(parts, ignore_index=True)
        keys = ["system", "case_id", "parent", "node", "depth", "fact_type", "status"]
        return rows[keys + [name for name in rows if name not in keys]]

    def _of_pairs(self):
        return self._scores(None, AREA, "pairs of case and fact type", cluster="cases")

    def _scores(self, values, measure, unit, **about):
        """`Scores` of these cases."""
        if "clusters" in about:
            about["cluster"] = "cases"
        options = {"n_resamples": self.n_resamples, "seed": self.seed}
        about = {"names": NAMES, "phrases": PHRASES} | about | options
        return Scores(values, measure, self.name, self.cases.title, unit=unit, **about)


def run_sensitivity_study(
    cases,
    systems=STUDY_SYSTEMS,
    settings=None,
    *,
    validator=None,
    k=10,
    months_only=False,
    encoder=None,
    chunking=True,
    n_resamples=10_000,
    say=None,
):
    """Trees of a collection of cases under several systems and random order.

    A system is a name or a retriever of one's own. `validator` judges the edits, by default by
    `plausibility.rules`. With `months_only` placebos exchange the month alone. `say` takes the
    lines of `gaps` before anything is searched.
    """
    settings = settings or TreeSettings()
    index = CorpusIndex(cases.documents, encoder)
    vocabulary = Vocabulary(index.texts)  # once: long judgments take seconds
    inert = inert_words(vocabulary, sheets=cases.sheets, domain=cases.domain)
    if months_only:
        settings = replace(settings, context_words=1)
        inert = inert_words(vocabulary, (MONTHS, (), ()), 1)
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
    placebos = {system: placebo_frame(grown) for system, grown in trees.items()}
    cases = replace(cases, documents=index.documents)
    return SensitivityStudy(cases, trees, edges, placebos, n_resamples, settings.seed)


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
    """Search of one system, or of a retriever of one's own."""
    if is_plugin(system):
        retriever = load_retriever(system, index.documents)
    else:
        retriever = HybridRetriever(index, mode=system, chunking=chunking)
    return CaseSearch(retriever, k, index.documents)
