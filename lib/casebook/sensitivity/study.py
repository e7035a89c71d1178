"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from casebook import frames, verdicts
from casebook.errors import InputError
from casebook.measures.rankshift import normalised_footrule
from casebook.models.encoders import load_encoder
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import SYSTEM_NAMES, SYSTEM_PHRASES
from casebook.scores import Scores
from casebook.sensitivity import evaluation
from casebook.sensitivity.cases import CaseCollection
from casebook.sensitivity.domain import neighbours_or_next
from casebook.sensitivity.edits import single_fact_edits
from casebook.sensitivity.evaluation import DECISIVE_DISPLACEMENT, why_undefined
from casebook.sensitivity.plausibility import accept_rates
from casebook.sensitivity.tree import (
    DISPLACEMENT,
    FOOTRULE,
    OK,
    CaseSearch,
    TreeSettings,
    edge_frame,
    excess,
    grow_trees,
    placebo_frame,
)
from casebook.stats.samples import check_choice
from casebook.tables import FACTS

RANDOM_ORDER = "random"
TYPE_ALONE = "type alone"
DOCUMENTED_SCORE = "mean displacement"
BEYOND = "normalised footrule beyond placebos"
AREA = "AUROC"
LEAST_COSINE = 0.45  # below it two wordings do not ask the same
OTHER_QUESTION = "{}, other question"

NAMES = SYSTEM_NAMES | {
    RANDOM_ORDER: "random order",
    TYPE_ALONE: "fact type alone",
    DOCUMENTED_SCORE: "COUNTERCASE's mean displacement",
}
PHRASES = SYSTEM_PHRASES | {
    RANDOM_ORDER: "random order",
    TYPE_ALONE: "the fact type alone",
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

    def focus(self, shown=None):
        system = shown or self.systems[-2]  # the last, but for random order
        check_choice("shown", system, self.systems[:-1])
        return system

    # --- how far edits move the results

    def beyond(self, system):
        """Mean excess of all edits of a system over their placebos: a frame of one estimate."""
        edges = self.edges[system]
        used = edges[edges["status"] == OK].dropna(subset=f"placebo_{FOOTRULE}")
        above = excess(used).to_frame(system)
        scores = self._scores(above, BEYOND, "edits", clusters=used["case_id"])
        rows = scores.estimates(null=0.0).drop(columns="control")
        if above.empty:
            rows = rows.assign(
                reason=why_undefined(edges), verdict=verdicts.NOT_MEASURED
            )
        rows["level"], rows["baseline"] = used[[FOOTRULE, f"placebo_{FOOTRULE}"]].mean()
        rows["system_phrase"] = f"an edit of a fact under {PHRASES.get(system, system)}"
        return rows.assign(against_phrase="an edit of as many irrelevant words")

    def beyond_by_type(self, systems=None):
        """Mean excess by fact type; verdicts by Holm's test over the types of each system.

        Beside it are the mean change by the edits and by their placebos.
        """
        tables = [self.sensitivity(system) for system in systems or self.systems]
        rows = pd.concat(tables, ignore_index=True)
        is_shown = rows["p_adjusted"] <= 0.05
        cases = [rows["value"].isna(), is_shown & (rows["value"] > 0), is_shown]
        outcomes = [verdicts.NOT_MEASURED, verdicts.BETTER, verdicts.WORSE]
        rows["verdict"] = np.select(cases, outcomes, verdicts.UNDECIDED)
        rows["part"] = rows["fact type"].replace(FACTS)
        rows["dataset"] = f"{self.cases.name}_" + rows.pop("fact type")
        rows = rows.drop(columns=["p", "noops"]).assign(
            null=0.0, margin=0.0, control=0.0
        )
        return self._scores(None, BEYOND, "edits", cluster="cases").described(rows)

    def sensitivity(self, system):
        rows = evaluation.sensitivity(
            self.edges[system], fact_types=self.cases.domain.fact_types, **self.options
        )
        return rows.assign(system=system)

    def placebos_above(self, system, threshold=DECISIVE_DISPLACEMENT):
        """Share of all placebo edits above a displacement: a frame of one estimate, or of none."""
        placebos = self.placebos[system].query("status == @OK")
        exceeds = (placebos[DISPLACEMENT] > threshold).astype(float).to_frame(system)
        scores = self._scores(
            exceeds,
            "share of placebos above the threshold",
            "placebo edits",
            clusters=placebos["case_id"],
        )
        return scores.estimates().head(len(placebos))

    # --- which facts decide

    @cached_property
    def pairs(self):
        """Annotated pairs of case and fact type that all systems assess, with their scores.

        Columns are the excess of a system, its documented mean displacement, and of the fact type
        alone the share of the cases that the type decides.
        """
        types = self.cases.domain.fact_types
        scores = {}
        for system, edges in self.edges.items():
            scores[system] = evaluation.case_scores(edges, fact_types=types)
            displacement = evaluation.case_scores(edges, DISPLACEMENT, False, types)
            scores[f"{system}, {DOCUMENTED_SCORE}"] = displacement
        pairs = evaluation.decided_pairs(self.cases.annotations, **scores)
        shares = pairs.groupby("fact_type")["dispositive"].transform("mean")
        return pairs.assign(**{TYPE_ALONE: shares.astype(float)})

    def areas(self):
        """AUROC of the excess of every system, and of the fact type alone, by pairs."""
        scores = self.pairs[[*self.systems, TYPE_ALONE]]
        rows = frames.areas(
            self.pairs["dispositive"], scores, self.pairs["case_id"].tolist()
        )
        # Every pair scores the same.
        is_exact = rows["value"].eq(0.5) & rows["low"].isna()
        rows["verdict"] = frames.interval_verdicts(rows, 0.5).mask(
            is_exact, verdicts.NO_DIFFERENCE
        )
        return self._described(rows.assign(null=0.5, margin=verdicts.margin_of(AREA)))

    def against_simple(self, system, margin=None):
        """AUROC of a system minus that of the simple baselines, the best first.

        The intervals hold together (Bonferroni).
        """
        simple = [TYPE_ALONE, "bm25"]
        simple = [name for name in simple if name in self.pairs and name != system]
        rows = self._contrasts([(system, name) for name in simple], margin)
        rows = rows.sort_values(
            "baseline", ascending=False, kind="stable", ignore_index=True
        )
        rows = rows.assign(role="", family="simple baselines")
        if len(rows) > 1:
            rows.loc[0, "role"] = f"the best of {len(rows)} simple baselines"
        return self._described(rows)

    def against_documented(self, margin=None):
        """AUROC of the excess minus that of the documented mean displacement."""
        rows = [
            self._contrasts([(system, f"{system}, {DOCUMENTED_SCORE}")], margin)
            for system in self.systems
        ]
        rows = pd.concat(rows, ignore_index=True).assign(against=DOCUMENTED_SCORE)
        return self._described(rows.assign(role="", family="documented measure"))

    def _contrasts(self, contrasted, margin):
        # So many contrasts hold together.
        margin = verdicts.margin_of(AREA) if margin is None else margin
        scores = self.pairs.select_dtypes(float).drop(columns="importance")
        rows = frames.area_contrasts(
            self.pairs["dispositive"],
            scores,
            contrasted,
            self.pairs["case_id"].tolist(),
            level=1 - 0.05 / len(contrasted),
        )
        outcomes = [
            verdicts.verdict_of(row.low, row.high, margin, reason=row.reason)
            for row in rows.itertuples()
        ]
        is_missing = rows["difference"].isna()
        rows["verdict"] = pd.Series(outcomes).mask(is_missing, verdicts.NOT_MEASURED)
        return rows.assign(
            comparisons=len(contrasted), margin=margin, control=0.5, note=""
        )

    def _described(self, rows):
        if self.pairs.empty:
            rows = rows.assign(reason=why_undefined(self.edges[self.systems[0]]))
        scores = self._scores(
            None, AREA, "pairs of case and fact type", cluster="cases"
        )
        return scores.described(rows.assign(control_name="chance"))

    def documented_table(self, threshold=DECISIVE_DISPLACEMENT):
        """COUNTERCASE's measures of every system: as documented, as its code does, and standard.

        Standard is the mean Spearman correlation of the excess with the annotated importance.
        """
        annotations = self.cases.annotations
        types = self.cases.domain.fact_types
        rows = {}
        for system, edges in self.edges.items():
            name = NAMES.get(system, system)
            cases = [tree.case_id for tree in self.trees[system]]
            scores = evaluation.documented_scores(edges, cases, types)
            of_all = scores, annotations, threshold
            outcomes = self.decisions(system)["outcome"]
            rows[name, "as documented"] = evaluation.stated_evaluation(
                *of_all, outcomes
            )
            rows[name, "as in its code"] = evaluation.documented_evaluation(
                *of_all, len(edges)
            )
            excesses = evaluation.case_scores(edges, fact_types=types)
            rows[name, "standard"] = evaluation.importance_agreement(
                excesses, annotations, **self.options
            )
        table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(
            ["system", "computed"]
        )
        return table.rename(columns=lambda name: name.replace("_", " ")).reset_index()

    # --- what was tried

    def decisions(self, system):
        rows = [
            (tree.case_id, *row)
            for tree in self.trees[system]
            for row in tree.decisions
        ]
        return pd.DataFrame(
            rows, columns=["case_id", "node", "fact_type", "outcome", "reason"]
        )

    def rows(self):
        tables = [
            pd.concat(part, names=["system"]) for part in (self.edges, self.placebos)
        ]
        return pd.concat(tables).reset_index("system").reset_index(drop=True)

    def tables(self, system, threshold=DECISIVE_DISPLACEMENT):
        """What the evaluation of one system shows: frames by title."""
        rates = accept_rates(self.decisions(system), self.cases.domain.fact_types)
        tables = {
            "Plausibility of the edits": rates,
            "Excess over placebo edits": self.sensitivity(system),
            "Placebo edits above the threshold": self.placebos_above(system, threshold),
        }
        if len(self.cases.annotations):
            tables["COUNTERCASE's evaluation"] = self.documented_table(threshold)
            tables["Facts that decide"] = self.areas()
            tables["Facts that decide, against simple baselines"] = self.against_simple(
                system
            )
        for title, table in tables.items():
            tables[title] = table.dropna(axis=1, how="all").filter(regex="^(?!.*_)")
        return tables

    def _scores(self, values, measure, unit, **about):
        about = {"cluster": "cases"} | about | self.options
        about |= {"names": NAMES, "phrases": PHRASES, "unit": unit}
        return Scores(values, measure, self.cases.name, self.cases.title, **about)


def gaps(sheets, domain, annotations=None):
    """What cases lack, a line for each, before anything is searched."""
    edits = [
        single_fact_edits(sheet, neighbours_or_next, domain=domain) for sheet in sheets
    ]
    edited = {edit.fact_type for of_sheet in edits for edit in of_sheet}
    for name in domain.fact_types:
        if name not in edited:
            yield f"{name}: no case has such a fact that can be changed, so no edit of it is made"
    if annotations is not None and annotations["dispositive"].nunique() < 2:
        yield "no case is annotated, or in one way alone: accuracies and AUROC are not defined"


def run_sensitivity_study(
    cases,
    systems,
    settings=None,
    *,
    validator=None,
    k=10,
    encoder=None,
    n_resamples=10_000,
):
    """Trees of a collection of cases under several systems and random order.

    A system is a name or a retriever of one's own. `validator` judges the edits, by default by
    `plausibility.rules`.
    """
    settings = settings or TreeSettings()
    index = CorpusIndex(cases.documents, encoder)
    trees = {}
    for system in track([*systems, RANDOM_ORDER], "systems"):
        search = case_search(system, index, k, chunking=False)
        trees[system] = grow_trees(
            cases.sheets,
            search,
            settings,
            cases.neighbours,
            validator,
            domain=cases.domain,
        )
    edges = {system: edge_frame(grown) for system, grown in trees.items()}
    placebos = {system: placebo_frame(grown) for system, grown in trees.items()}
    options = {"n_resamples": n_resamples, "seed": settings.seed}
    return SensitivityStudy(cases, trees, edges, placebos, options)


def run_case(
    sheet, documents, settings, validator, domain, *, mode="full", encoder=None, k=10
):
    search = case_search(mode, CorpusIndex(documents, encoder), k)
    (tree,) = grow_trees(
        [sheet], search, settings, neighbours_or_next, validator, domain=domain
    )
    return tree


def case_search(system, index, k, *, chunking=True):
    if is_plugin(system):
        return CaseSearch(load_retriever(system, index.documents), k, index.documents)
    return CaseSearch(HybridRetriever(index, mode=system, chunking=chunking), k)


# ---- the same question in other words, whose results should stay as they are


def wording_pairs(dataset, encoder):
    """Pairs of wordings of a question: neighbours in the list, of one group and one answer.

    Where there are answers, both are also each other's nearest in their group.
    """
    queries = dataset.queries.assign(
        group=dataset.queries["query_id"].map(dataset.groups or {})
    )
    kinds = [name for name in ("group", "answer") if name in queries]
    kind = queries.groupby(kinds).ngroup()
    # Runs of neighbours of one kind, of which each two are a pair.
    run = kind.ne(kind.shift()).cumsum()
    is_odd = kind.groupby(run).cumcount() % 2 == 0
    is_pair = is_odd & kind.eq(kind.shift(-1)) & (kind >= 0)
    first = np.flatnonzero(is_pair)
    second = first + 1
    texts = queries["text"].to_numpy()
    groups = queries["group"].to_numpy()
    vectors = np.asarray(encoder.encode_queries(texts.tolist()), float)
    cosines = vectors @ vectors.T
    pairs = {"first": texts[first], "second": texts[second], "group": groups[first]}
    pairs = pd.DataFrame(pairs).assign(cosine=cosines[first, second])
    if "answer" in kinds:
        cosines[groups[:, None] != groups] = -np.inf
        np.fill_diagonal(cosines, -np.inf)
        nearest = cosines.argmax(axis=1)
        is_mutual = (nearest[first] == second) & (nearest[second] == first)
        pairs = pairs[is_mutual & (pairs["cosine"] >= LEAST_COSINE)]
    return pairs.reset_index(drop=True)


def wording_scores(dataset, encoder, systems, k=10, *, seed=0, **options):
    """How far results move to another wording, and to a question of another group: `Scores`.

    A row is a pair of wordings; beside every system is the other question, of its own name.
    """
    encoder = load_encoder(encoder) if isinstance(encoder, str) else encoder
    pairs = wording_pairs(dataset, encoder)
    if pairs["group"].nunique() < 2:
        raise InputError(
            f"{dataset.key}: no paraphrases of questions of two groups: name such"
        )
    groups = pairs["group"].to_numpy()
    order = np.random.default_rng([seed, 7]).permutation(len(pairs))
    strangers = []  # for each question one of another group, at random
    for shift, group in enumerate(groups):
        rolled = np.roll(order, shift)
        strangers.append(rolled[groups[rolled] != group][0])
    index = CorpusIndex(dataset.documents, encoder)
    values = {}
    names = {}
    phrases = {}
    for system in systems:
        search = case_search(system, index, k)
        lists, others = (
            search(pairs[column].tolist()) for column in ("first", "second")
        )
        stranger = OTHER_QUESTION.format(system)
        compared = {
            system: others,
            stranger: [others[position] for position in strangers],
        }
        for name, found in compared.items():
            both = zip(lists, found, strict=True)
            values[name] = [normalised_footrule(a.cases, b.cases, k) for a, b in both]
        name = NAMES.get(system, system)
        names |= {system: f"{name}, other wording", stranger: f"{name}, other question"}
        phrases[system] = f"another wording under {PHRASES.get(system, system)}"
        phrases[stranger] = "another question"
    # Two empty lists are the same.
    values = pd.DataFrame(values, dtype=float).fillna(0.0)
    of_data = dataset.name, dataset.card.title if dataset.card else dataset.name
    about = {
        "cluster": "groups of questions",
        "names": names,
        "phrases": phrases,
        "seed": seed,
    }
    about |= {"unit": "pairs of wordings", "clusters": pairs["group"]} | options
    return Scores(values, "footrule between wordings", *of_data, **about)
