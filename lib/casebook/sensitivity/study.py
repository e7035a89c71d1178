"""The sensitivity experiment: the same cases edited under several retrieval systems; and the same question reworded."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from casebook.data.cards import card_of, may_show
from casebook.data.registry import load
from casebook.errors import InputError
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import config_for
from casebook.runs.outputs import MOST_BYTES, changed, fitting, shortened
from casebook.sensitivity import evaluation
from casebook.sensitivity.cases import own_collection, read_passages
from casebook.sensitivity.edits import LEAST_TERMS, Vocabulary, inert_words, single_fact_edits
from casebook.sensitivity.evaluation import THRESHOLD, case_scores, evaluate_sensitivity
from casebook.sensitivity.facts import FACT_TYPES
from casebook.sensitivity.plausibility import ACCEPT, rules
from casebook.sensitivity.tree import (
    DISPLACEMENT,
    FOOTRULE,
    INVALID,
    OK,
    CaseSearch,
    TreeSettings,
    distances,
    edge_frame,
    grow_trees,
    placebo_frame,
)
from casebook.stats.intervals import bootstrap_mean, bounded
from casebook.stats.samples import number_or_none
from casebook.stats.tests import paired_randomization

STUDY_SYSTEMS = ("bm25", "dense", "full")
ABOVE = f"share of placebos above {THRESHOLD:g}"
RANDOM_ORDER = "random"
TYPE_ALONE = "type alone"
DOCUMENTED_SCORE = "mean displacement"
SIMPLE_SYSTEM = "bm25"  # the simple system that others are compared with


@dataclass(frozen=True, eq=False)
class SensitivityStudy:
    """Trees of the same cases by system, the control last, and their edges and placebos as frames."""

    name: str
    trees: dict = field(repr=False)
    edges: dict = field(repr=False)
    placebos: dict = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
    options: dict = field(default_factory=dict)  # resamples and seed of every interval and test

    @property
    def systems(self):
        """System keys, the control last: list of str."""
        return list(self.trees)

    def sensitivity(self, system):
        """Aggregate the edges of one system; see `evaluation.sensitivity`."""
        return evaluation.sensitivity(self.edges[system], **self.options)

    def scores(self, system, measure=FOOTRULE, over_placebo=True):
        """Give the sensitivity of each case to each fact type; see `evaluation.case_scores`."""
        return case_scores(self.edges[system], measure, over_placebo)

    def evaluated(self, system, over_placebo=True, threshold=None):
        """Score one system against the annotations; see `evaluation.evaluate_sensitivity`."""
        return evaluate_sensitivity(
            self.scores(system, over_placebo=over_placebo),
            self.annotations,
            threshold,
            **self.options,
        )

    def shares_above(self, system):
        """Give the share of edits above the documented threshold, case by case; see `evaluation.shares_above`."""
        return evaluation.shares_above(self.edges[system], self.placebos[system], self.annotations)

    def placebos_above(self, system, threshold=THRESHOLD):
        """Give the share of all placebo edits above a displacement, with its interval over cases; empty without any."""
        placebos = self.placebos[system]
        placebos = placebos[placebos["status"] == OK]
        if placebos.empty:
            return {}
        exceeds = (placebos[DISPLACEMENT] > threshold).to_numpy(float)
        share = bootstrap_mean(exceeds, clusters=placebos["case_id"].tolist(), **self.options)
        return {f"share of placebos above {threshold:g}": share.number(0.0)}

    def documented(self, system, threshold=THRESHOLD):
        """Score one system by COUNTERCASE's measures, as its document states them and as its code computes them."""
        cases = [tree.case_id for tree in self.trees[system]]
        scores = evaluation.documented_scores(self.edges[system], cases)
        outcomes = self.decisions(system)["outcome"]
        edges = int((self.edges[system]["status"] != INVALID).sum())
        code = evaluation.documented_evaluation(scores, self.annotations, edges, threshold)
        return evaluation.stated_evaluation(scores, self.annotations, outcomes, threshold), code

    def against_simple(self, system):
        """Contrast the AUROC of a system with the simple baselines, on the pairs that both assessed, the best first.

        The intervals hold together (Bonferroni).
        """
        scores = self.scores(system)
        simple = {TYPE_ALONE: evaluation.type_scores(scores, self.annotations)}
        if SIMPLE_SYSTEM in self.edges and system != SIMPLE_SYSTEM:
            simple[SIMPLE_SYSTEM] = self.scores(SIMPLE_SYSTEM)
        rows = [
            self._auroc_row(system, name, baseline, 1 - 0.05 / len(simple))
            for name, baseline in simple.items()
        ]
        frame = pd.DataFrame(rows).astype({"reason": object})
        return frame.sort_values("baseline", ascending=False, kind="stable").reset_index(drop=True)

    def against_documented(self):
        """Contrast the AUROC of the excess with that of the documented mean displacement, system by system."""
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
        row = evaluation.auroc_contrast(
            pairs["dispositive"], pairs["score"], pairs["baseline"], pairs["case_id"], level=level
        )
        if pairs.empty:
            row["reason"] = self.why_no_excess(system)
        return {"system": system, "against": against, **row}

    def why_no_excess(self, system):
        """Say why no edit of a system has an excess over placebos."""
        return self.edges[system]["no_placebo"].mode().get(0, evaluation.NOT_ASSESSED)

    def agreement(self):
        """Score every system against the annotations, and a control that knows the fact type alone; empty without any.

        Thresholds of the held-out columns are chosen on every second case and tested on the others.
        """
        rows = []
        known = self.annotations
        for system in self.systems if len(known) else ():
            scores = self.scores(system)
            found = self.evaluated(system)
            limit = evaluation.development_threshold(scores.iloc[::2], known)
            held = evaluate_sensitivity(scores.iloc[1::2], known, limit, **self.options)
            quantile = evaluation.placebo_threshold(self.placebos[system], FOOTRULE)
            raw = self.evaluated(system, over_placebo=False, threshold=quantile)
            columns = {
                "AUROC of excess": found["auroc"],
                "AUROC uncorrected": raw["auroc"],
                "balanced accuracy, held out": held.get("balanced_accuracy"),
                "MCC, held out": held.get("mcc"),
                "balanced accuracy, placebo limit": raw.get("balanced_accuracy"),
            }
            rows.append(_against(system, columns, found))
        if rows:
            alone = evaluation.type_scores(self.scores(self.systems[0]), known)
            found = evaluate_sensitivity(alone, known, **self.options)
            rows.append(_against(TYPE_ALONE, {"AUROC of excess": found["auroc"]}, found))
        return pd.DataFrame(rows, columns=None if rows else ["system", "pairs", "AUROC of excess"])

    def decisions(self, system):
        """Give what the validator said: DataFrame, one row per edit judged."""
        rows = [
            (tree.case_id, *decision) for tree in self.trees[system] for decision in tree.decisions
        ]
        return pd.DataFrame(rows, columns=["case_id", "node", "fact_type", "outcome", "reason"])

    def rows(self):
        """Give the tidy rows: one per system and edge, placebo edges included."""
        parts = []
        for system in self.systems:
            placebos = self.placebos[system].assign(system=system, fact_type="Placebo")
            parts += [self.edges[system].assign(system=system), placebos]
        rows = pd.concat(parts, ignore_index=True)
        first = ["system", "case_id", "parent", "node", "depth", "fact_type", "status"]
        return rows[first + [name for name in rows if name not in first]]

    def numbers(self):
        """Give every aggregate with interval, n and control, for ``numbers.json``."""
        table = {}
        for system in self.systems:
            found = self.evaluated(system) if len(self.annotations) else {}
            fields = ("value", "ci", "n", "control", "reason")
            known = {name: number for name, number in found.items() if number["value"] is not None}
            numbers = table[system] = {
                name: {f: number[f] for f in fields} for name, number in known.items()
            }
            numbers |= self.placebos_above(system)
            for row in self.sensitivity(system).to_dict("records"):
                label = f"{FOOTRULE} {row['fact type']}"
                numbers[label] = number_of(row, "sensitivity", row["placebo"])
                numbers[f"{label} over placebo"] = number_of(row, "excess", 0.0)
        return table


def _against(system, columns, found):
    """Write a row of numbers with their bounds; NaN where a number is undefined."""
    row = {"system": system, "pairs": found["auroc"]["n"]}
    rho = found["spearman"]
    for name, number in (columns | {"mean Spearman": rho}).items():
        values = [number["value"], *number["ci"]] if number else [None] * 3
        labels = (name, f"{name} low", f"{name} high")
        row |= {
            label: np.nan if value is None else value
            for label, value in zip(labels, values, strict=True)
        }
    return row | {"exact p": rho["p"], "cases ranked": rho["n"]}


def number_of(row, name, control):
    """Write one aggregate of a row as a number of the book: undefined is None."""
    return {
        "value": number_or_none(row[name]),
        "ci": [number_or_none(row[f"{name} low"]), number_or_none(row[f"{name} high"])],
        "n": row["edges"],
        "control": number_or_none(control),
        "reason": None if pd.isna(row["reason"]) else row["reason"],
    }


def run_study(
    cases,
    systems=STUDY_SYSTEMS,
    settings=None,
    *,
    validator=rules,
    k=10,
    inert=None,
    encoder=None,
    **options,
):
    """Grow the trees of a collection of cases under several systems, or retrievers of your own, and random order.

    `inert` are the words of placebos, by default those that tell the documents apart; `options` are ``n_resamples`` and
    what
    goes to the retriever.
    """
    settings = settings or TreeSettings()
    n_resamples = options.pop("n_resamples", 10_000)
    index = CorpusIndex(cases.documents, encoder)
    known = Vocabulary(index.texts)  # once: long judgments take seconds
    inert = inert_words(known) if inert is None else inert
    trees = dict.fromkeys([*systems, RANDOM_ORDER])
    # Rerankers first: their pass over the tokens gives the pooled vectors of others.
    order = sorted(trees, key=lambda name: is_plugin(name) or config_for(name).reranker is None)
    for system in track(order, "systems"):
        search = case_search(system, index, k, **options)
        search.vocabulary = known
        trees[system] = grow_trees(
            cases.sheets, search, settings, cases.neighbours, validator, inert
        )
    edges = {system: edge_frame(grown) for system, grown in trees.items()}
    placebos = {system: placebo_frame(grown) for system, grown in trees.items()}
    drawn = {"n_resamples": n_resamples, "seed": settings.seed}
    return SensitivityStudy(
        cases.name, trees, edges, placebos, cases.annotations, index.documents, drawn
    )


def case_search(system, index, k, **options):
    """Give the search of one system, or of a retriever of the user's own."""
    if is_plugin(system):
        return CaseSearch(load_retriever(system, index.documents), k, index.documents)
    return CaseSearch(HybridRetriever(index, mode=system, **options), k, index.documents)


def check_cases(values):
    """Refuse cases of the user's own that cannot be studied, before a kernel starts."""
    if values.get("corpus") is None:
        return  # refused with a sentence of its own
    cases = own_collection(values["cases"], values["corpus"])
    vocabulary = CaseSearch(None, documents=cases.documents).vocabulary
    sheets = [sheet for sheet in cases.sheets if len(vocabulary.terms(sheet)) >= LEAST_TERMS]
    if not sheets:
        raise InputError(
            f"{values['cases']}: no case has {LEAST_TERMS} words that tell the documents of {values['corpus']} apart, "
            "so none can be scored: add facts, or documents about such cases"
        )
    if not any(_plausible_edits(sheet, cases.neighbours) for sheet in sheets):
        raise InputError(
            f"{values['cases']}: no fact has a plausible edit, so nothing can be changed: add facts"
        )


def check_collections(values):
    """Refuse data sets that do not hold the wordings or the passages that the chapter reads in them."""
    if values["paraphrases"]:
        _groups_of(load(values["paraphrases"]))
    if values["judgments"]:
        read_passages(load(values["judgments"]).documents.set_index("doc_id")["text"])


def _plausible_edits(sheet, neighbours):
    """List the edits of a sheet that change its query and that the rules accept."""
    edits = [edit for edit in single_fact_edits(sheet, neighbours) if not edit.noop]
    return [edit for edit in edits if rules(sheet, edit).outcome == ACCEPT]


# ---- single edits, for the page that shows them one by one

OPENING_LENGTHS = (160, 80)  # characters of a document; the second where room is short
DEEP_EDITS_PER_CASE = 3  # edits of an edited case that are kept of each case


def drill_down(study, precedents, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single edits: which cases entered and left the lists, and the placebos.

    An edit is known by its case and by the query before and after it. Systems try the same edits of a case, but may go
    on from different ones.
    """
    card = card_of(study.name)
    shown = may_show(card)
    items = _items(study, precedents, "items" in shown)
    trees = [tree for grown in study.trees.values() for tree in grown]
    noops = {
        (tree.case_id, parent.query, edit.description)
        for tree in trees
        for parent, edit in tree.noops
    }
    known = {
        "kind": "edits",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(shown),
        "systems": study.systems,
        "controls": [RANDOM_ORDER],
        "depth": trees[0].k,
        "precedents": bool(precedents),
        "asked": len(items),
        "remark": f"{len(noops)} edits leave the query as it was and are not among them."
        if noops
        else None,
    }
    texts = {}
    for row in study.documents.to_dict("records") if "documents" in shown else ():
        texts[row["doc_id"]] = (
            ", ".join(str(row[name]) for name in FACT_TYPES if name in row) or row["text"]
        )

    def collect(chosen, opening):
        places = {}
        kept = [_numbered(items[row], places) for row in chosen]
        documents = [[n, shortened(texts[n], opening) if n in texts else None] for n in places]
        return known | {"documents": documents, "items": kept}

    return fitting(collect, _of_interest(items), OPENING_LENGTHS, most_bytes)


def _of_interest(items):
    """Give the places of the edits to keep: all of the cases, and of edited ones those that moved most."""
    moved = pd.DataFrame(
        [item["results"][0] or {} for item in items],
        columns=["moved", "placebo_moved"],
        dtype=float,
    )
    frame = pd.DataFrame(
        [(item["case"], item["depth"]) for item in items], columns=["case", "depth"]
    )
    frame["beyond"] = (moved["moved"] - moved["placebo_moved"]).abs().fillna(0.0)
    frame = frame.sort_values("beyond", ascending=False, kind="stable")
    further = frame[frame["depth"] > 1].groupby("case").head(DEEP_EDITS_PER_CASE)
    kept = frame[(frame["depth"] == 1) | frame.index.isin(further.index)]
    return kept.sort_values("depth", kind="stable").index.tolist()


def _items(study, precedents, shown):
    """Give every edit that changes a query, with document ids."""
    decides = {
        (row.case_id, row.fact_type): row.dispositive for row in study.annotations.itertuples()
    }
    rows = {
        s: study.edges[s].set_index(["case_id", "node"]).to_dict("index") for s in study.systems
    }
    placebos = defaultdict(list)
    tried = defaultdict(dict)
    alike = defaultdict(set)

    def alike_in_size(system, case, node):
        return placebos[system, case, node.parent.name, node.edit.removed, node.edit.added]

    for system, trees in study.trees.items():
        for tree in trees:
            for node in tree.placebos:
                if not node.ranking.error:
                    alike_in_size(system, tree.case_id, node).append(node)
            for node in tree.nodes[1:]:
                if not node.edit.noop:
                    edit = (tree.case_id, node.parent.query, node.query)
                    tried[edit].setdefault(system, node)
                    alike[tree.case_id, node.name].add(edit)
    items = []
    for (case, before, after), nodes in tried.items():
        first, node = next(iter(nodes.items()))
        edit = node.edit
        blank = alike_in_size(first, case, node)
        wanted = precedents.get(case)
        results = dict.fromkeys(study.systems)
        for system, one in nodes.items():
            inert = [each.ranking for each in alike_in_size(system, case, one)]
            results[system] = _effect(
                one, rows[system][case, one.name], inert, wanted, system == RANDOM_ORDER
            )
        items.append(
            {
                "id": f"{case} {node.name}"
                + (f" ({first})" if len(alike[case, node.name]) > 1 else ""),
                "case": case,
                **{name: getattr(edit, name) for name in ("fact_type", "operation", "old", "new")},
                "depth": node.depth,
                "decides": decides.get((case, edit.fact_type)),
                "change": changed(before, after) if shown else None,
                "placebo": changed(before, blank[0].query) if shown and blank else None,
                "results": list(results.values()),
            }
        )
    return items


def _effect(node, row, placebos, wanted, control):
    """Give what one edit did under one system, beside its placebos."""
    before = node.parent.ranking
    after = node.ranking
    if error := before.error or after.error:
        return {"error": error}
    moved, placebo_moved = (
        number_or_none(round(float(x), 3)) for x in (row[FOOTRULE], row[f"placebo_{FOOTRULE}"])
    )
    return {
        "error": None,
        "moved": moved,
        "placebo_moved": placebo_moved,
        "left": None if control else _beyond(before, after, wanted),
        "entered": None if control else _beyond(after, before, wanted),
        "new": len(_beyond(after, before)),
        "placebo_new": [len(_beyond(one, before)) for one in placebos],
        "found": _ranked(before, wanted),
        "still_found": _ranked(after, wanted),
        "placebo_found": [_ranked(one, wanted) for one in placebos],
    }


def _beyond(one, other, wanted=None):
    """Give what stands in one list only: case, rank, whether it is a precedent."""
    ranked = enumerate(one.cases, 1)
    return [
        [case, rank, int(case in (wanted or ()))]
        for rank, case in ranked
        if case not in other.cases
    ]


def _ranked(found, wanted):
    """Give the best rank of the precedents, None if none is listed, and their number."""
    ranks = [rank for rank, case in enumerate(found.cases, 1) if case in (wanted or ())]
    return [min(ranks, default=None), len(ranks)] if wanted else None


def _numbered(item, places):
    """Put places in the list of documents for their ids."""

    def numbered(listed):
        return listed and [[places.setdefault(case, len(places)), *rest] for case, *rest in listed]

    lists = ("left", "entered")
    results = [
        r and r | {name: numbered(r[name]) for name in lists if name in r} for r in item["results"]
    ]
    return item | {"results": results}


# ---- the same question in other words: results should stay

LEAST_COSINE = 0.45  # below it two wordings do not ask the same
PARAPHRASE, OTHER_QUESTION = "paraphrase", "other question"
_DISTANCES = ("footrule", "displacement", "rbo_distance", "jaccard_distance")


def wording_pairs(dataset, encoder):
    """Pair the wordings of a question: next to each other, of one group and answer, and each other's nearest in it."""
    texts = dataset.queries["text"].to_numpy()
    groups = dataset.queries["query_id"].map(_groups_of(dataset)).to_numpy()
    answers = dataset.queries["answer"].tolist() if "answer" in dataset.queries else None
    vectors = np.asarray(encoder.encode_queries(texts.tolist()), float)
    pairs = []
    at = 0
    while at < len(texts) - 1:
        same = groups[at] == groups[at + 1] and (answers is None or answers[at] == answers[at + 1])
        if same:
            pairs.append((at, at + 1))
        at += 2 if same else 1
    if answers is not None:
        pairs = [pair for pair in pairs if _mutual(groups, vectors, *pair)]
    rows = [(texts[a], texts[b], groups[a], float(vectors[a] @ vectors[b])) for a, b in pairs]
    return pd.DataFrame(rows, columns=["first", "second", "group", "cosine"]).astype(
        {"cosine": float}
    )


def _groups_of(dataset):
    if dataset.groups is None:
        raise InputError(
            f"{dataset.key}: no groups, so no wordings to pair: name a data set with paraphrases"
        )
    return dataset.groups


def _mutual(groups, vectors, a, b):
    """Tell whether two questions are near, and each other's nearest in their group."""
    if vectors[a] @ vectors[b] < LEAST_COSINE:
        return False
    rows = np.flatnonzero(groups == groups[a])
    rest = {one: rows[rows != one] for one in (a, b)}
    return all(
        rest[one][np.argmax(vectors[rest[one]] @ vectors[one])] == other
        for one, other in ((a, b), (b, a))
    )


def invariance(pairs, documents, systems, k=10, encoder=None, seed=0):
    """Measure how far results move from one wording to the other, and to the wording of another group's question."""
    groups = pairs["group"].tolist()
    if len(set(groups)) < 2:
        raise InputError("a control needs pairs of at least two groups")
    order = np.random.default_rng([seed, 7]).permutation(len(groups))
    strangers = [
        next(i for i in np.roll(order, at) if groups[i] != group) for at, group in enumerate(groups)
    ]
    index = CorpusIndex(documents, encoder)
    rows = []
    for system in systems:
        search = case_search(system, index, k)
        first = search(pairs["first"].tolist())
        second = search(pairs["second"].tolist())
        for kind, others in (
            (PARAPHRASE, second),
            (OTHER_QUESTION, [second[i] for i in strangers]),
        ):
            for group, one, other in zip(groups, first, others, strict=True):
                moved = distances(one.cases, other.cases, k)
                same = bool(one.cases) and one.cases[:1] == other.cases[:1]
                rows.append((system, kind, group, *(moved[name] for name in _DISTANCES), same))
    return pd.DataFrame(rows, columns=["system", "kind", "group", *_DISTANCES, "same_first"])


def invariance_table(rows, measure="footrule", *, n_resamples=10_000, seed=0):
    """Summarise paraphrases and their control per system, questions of one group drawn together."""
    found = []
    options = {"n_resamples": n_resamples, "seed": seed}
    for system, part in rows.groupby("system", sort=False):
        own, other = (part[part["kind"] == kind] for kind in (PARAPHRASE, OTHER_QUESTION))
        clusters = own["group"].tolist()
        gain = pd.Series(other[measure].to_numpy() - own[measure].to_numpy())
        means = gain.groupby(np.asarray(clusters, dtype=object)).mean()
        found.append(
            {
                "system": system,
                "pairs": len(own),
                "groups": own["group"].nunique(),
                **bounded(
                    PARAPHRASE,
                    bootstrap_mean(own[measure].to_numpy(), clusters=clusters, **options),
                ),
                **bounded(
                    OTHER_QUESTION,
                    bootstrap_mean(other[measure].to_numpy(), clusters=clusters, **options),
                ),
                "same first document": own["same_first"].mean(),
                "p": paired_randomization(
                    means.to_numpy(), n_resamples=n_resamples, seed=seed
                ).pvalue,
            }
        )
    return pd.DataFrame(found)
