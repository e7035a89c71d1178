"""The sensitivity experiment: the same cases edited under several retrieval systems."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from casebook.data.cards import card_of, may_show
from casebook.frames import estimates
from casebook.plugins import is_plugin
from casebook.progress import track
from casebook.retrieval.ablation import load_retriever
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import config_for
from casebook.runs.outputs import MOST_BYTES, changed, fitting, shortened
from casebook.sensitivity.edits import Vocabulary, inert_words
from casebook.sensitivity.evaluation import (
    THRESHOLD,
    auroc_contrasts,
    case_scores,
    development_threshold,
    evaluate,
    placebo_threshold,
    sensitivity,
    shares_above,
    type_scores,
)
from casebook.sensitivity.facts import FACT_TYPES
from casebook.sensitivity.plausibility import rules
from casebook.sensitivity.tree import OK, PRIMARY, CaseSearch, TreeSettings, edge_frame, grow_trees, placebo_frame

SYSTEMS = ("bm25", "dense", "full")
CONTROL = "random"
TYPE_ALONE = "type alone"
SIMPLE = "bm25"  # the simple system that others are compared with
ABOVE = f"share of placebos above {THRESHOLD}"


# ---- the study


@dataclass(frozen=True, eq=False)
class SensitivityStudy:
    """Trees of the same cases under several systems, their edges and placebos as frames."""

    name: str
    trees: dict = field(repr=False)
    edges: dict = field(repr=False)
    placebos: dict = field(repr=False)
    annotations: pd.DataFrame = field(repr=False)
    documents: pd.DataFrame = field(repr=False)
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

    def sensitivity(self, system):
        """Aggregate the edges of one system; see `evaluation.sensitivity`."""
        return sensitivity(self.edges[system], **self.options)

    def scores(self, system, measure=PRIMARY, over_placebo=True):
        """Give the sensitivity of each case to each fact type; see `evaluation.case_scores`."""
        return case_scores(self.edges[system], measure, over_placebo)

    def evaluated(self, system, over_placebo=True, threshold=None):
        """Score one system against the annotations; see `evaluation.evaluate`."""
        scores = self.scores(system, over_placebo=over_placebo)
        return evaluate(scores, self.annotations, threshold, **self.options)

    def against_simple(self, system):
        """Contrast the AUROC of a system with the simple baselines, the best first; see `auroc_contrasts`."""
        scores = self.scores(system)
        simple = {TYPE_ALONE: type_scores(scores, self.annotations)}
        if SIMPLE in self.edges and system != SIMPLE:
            simple[SIMPLE] = self.scores(SIMPLE)
        found = auroc_contrasts(scores, simple, self.annotations)
        found.insert(0, "system", system)
        return found.sort_values("baseline", ascending=False, kind="stable").reset_index(drop=True)

    def shares_above(self, system, threshold=THRESHOLD):
        """Give the share of edits above a displacement, case by case; see `evaluation.shares_above`."""
        return shares_above(self.edges[system], self.placebos[system], self.annotations, threshold)

    def agreement(self):
        """Score every system against the annotations, and a control that knows the fact type alone; empty without any.

        Thresholds of the held-out columns are chosen on every second case and tested on the others.
        """
        rows = []
        for system in self.systems if len(self.annotations) else ():
            scores, found = self.scores(system), self.evaluated(system)
            limit = development_threshold(scores.iloc[::2], self._annotations_of(scores.index[::2]))
            held = evaluate(scores.iloc[1::2], self._annotations_of(scores.index[1::2]), limit, **self.options)
            quantile = placebo_threshold(self.placebos[system], PRIMARY)
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
            alone = type_scores(self.scores(self.systems[0]), self.annotations)
            found = evaluate(alone, self.annotations, **self.options)
            rows.append(_against(TYPE_ALONE, {"AUROC of excess": found["auroc"]}, found))
        return pd.DataFrame(rows, columns=None if rows else ["system", "pairs", "AUROC of excess"])

    def _annotations_of(self, cases):
        return self.annotations[self.annotations["case_id"].isin(cases)]

    def decisions(self, system):
        """Give what the validator said: DataFrame, one row per edit judged."""
        rows = [(tree.case_id, *decision) for tree in self.trees[system] for decision in tree.decisions]
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
            table[system] = {name: {f: number[f] for f in fields} for name, number in known.items()}
            shares, used = self.shares_above(system)[["placebos"]].dropna(), self.placebos[system]["status"] == OK
            for row in estimates(shares, **self.options).to_dict("records") if len(shares) else ():
                above = {"edges": int(used.sum()), "above": row["value"], "above low": row["low"]}
                above |= {"above high": row["high"], "reason": row["reason"]}
                table[system][ABOVE] = number_of(above, "above", 0.0)
            for row in self.sensitivity(system).to_dict("records"):
                label = f"{PRIMARY} {row['fact type']}"
                table[system][label] = number_of(row, "sensitivity", row["placebo"])
                table[system][f"{label} over placebo"] = number_of(row, "excess", 0.0)
        return table


def _against(system, columns, found):
    """Write a row of numbers with their bounds; NaN where a number is undefined."""
    row, rho = {"system": system, "pairs": found["auroc"]["n"]}, found["spearman"]
    for name, number in (columns | {"mean Spearman": rho}).items():
        low, high = number["ci"] if number else (None, None)
        values = {name: number and number["value"], f"{name} low": low, f"{name} high": high}
        row |= {column: float("nan") if value is None else value for column, value in values.items()}
    return row | {"exact p": rho["p"], "cases ranked": rho["n"]}


def number_of(row, name, control):
    """Write one aggregate of a row as a number of the book: undefined is None."""
    value, low, high, control, reason = (
        None if x != x else x for x in (row[name], row[f"{name} low"], row[f"{name} high"], control, row["reason"])
    )
    return {"value": value, "ci": [low, high], "n": row["edges"], "control": control, "reason": reason}


def run_study(cases, systems=SYSTEMS, settings=None, *, validator=rules, k=10, inert=None, encoder=None, **options):
    """Grow the trees of a collection of cases under several systems and the random control.

    Parameters
    ----------
    cases : CaseCollection
        From `case_collection` or `annotated_collection`.
    systems : list of str
        Named systems of `casebook.retrieval.pipeline.HybridRetriever`, or ``module:object`` of a retriever of your own.
    settings : TreeSettings, optional
        How trees grow.
    validator : callable
        Judges edits; only accepted ones are tried.
    k : int
        Length of the lists compared.
    inert : Inert, optional
        Words of placebos; by default those that tell the documents apart.
    encoder : str, optional
        Model of the dense lists.
    options
        ``n_boot`` resamples; the rest goes to the retriever.

    Returns
    -------
    SensitivityStudy

    Raises
    ------
    InputError
        If a system is unknown or the collection holds fewer than `k` cases.

    Examples
    --------
    >>> study = run_study(planted_collection(1, 2, 4), ["bm25"], n_boot=100)
    >>> study.systems
    ['bm25', 'random']
    >>> found = study.sensitivity("bm25").set_index("fact type")
    >>> bool(found.loc["Section", "sensitivity"] > found.loc["Section", "placebo"])
    True
    """
    settings, n_boot = settings or TreeSettings(), options.pop("n_boot", 10_000)
    index = CorpusIndex(cases.documents, encoder)
    known = Vocabulary(index.texts)  # once: long judgments take seconds
    inert = inert_words(known) if inert is None else inert
    trees = dict.fromkeys([*systems, CONTROL])
    # Rerankers first: their pass over the tokens gives the pooled vectors of others.
    for system in track(
        sorted(trees, key=lambda name: is_plugin(name) or config_for(name).reranker is None), "systems"
    ):
        own = is_plugin(system)
        retriever = load_retriever(system, index.documents) if own else HybridRetriever(index, mode=system, **options)
        search = CaseSearch(retriever, k, index.documents)
        search.vocabulary = known
        trees[system] = grow_trees(cases.sheets, search, settings, cases.neighbours, validator, inert)
    edges = {system: edge_frame(grown) for system, grown in trees.items()}
    placebos = {system: placebo_frame(grown) for system, grown in trees.items()}
    return SensitivityStudy(
        cases.name, trees, edges, placebos, cases.annotations, index.documents, settings.seed, n_boot
    )


# ---- single edits, for the page that shows them one by one

OPENINGS = (160, 80)  # characters of a document; the second where room is short
FURTHER = 3  # edits of an edited case that are kept of each case


def drill_down(study, precedents, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single edits: which cases entered and left the lists, and the placebos.

    An edit is known by its case and by the query before and after it. Systems try the same edits of a case, but may go
    on from different ones.
    """
    card = card_of(study.name)
    shown = may_show(card)
    items = _items(study, precedents, "items" in shown)
    trees = [tree for grown in study.trees.values() for tree in grown]
    noops = {(tree.case_id, parent.query, edit.description) for tree in trees for parent, edit in tree.noops}
    known = {
        "kind": "edits",
        "dataset": study.name,
        "card": card.key if card else None,
        "texts": sorted(shown),
        "systems": study.systems,
        "controls": [CONTROL],
        "depth": next(iter(study.trees.values()))[0].k,
        "precedents": bool(precedents),
        "asked": len(items),
        "remark": f"{len(noops)} edits leave the query as it was and are not among them." if noops else None,
    }
    texts = {}
    for row in study.documents.to_dict("records"):
        facts = [str(row[name]) for name in FACT_TYPES if name in row]
        texts[row["doc_id"]] = ", ".join(facts) or row["text"]

    def collect(chosen, opening):
        places = {}
        kept = [_numbered(items[row], places) for row in chosen]
        told = "documents" in shown
        documents = [[n, shortened(texts[n], opening) if told and n in texts else None] for n in places]
        return known | {"documents": documents, "items": kept}

    return fitting(collect, _of_interest(items), OPENINGS, most_bytes)


def _of_interest(items):
    """Give the places of the edits to keep: all of the cases, and of edited ones those that moved most."""

    def moved_beyond(row):
        result = items[row]["results"][0]
        if result is None or None in (result["moved"], result["placebo_moved"]):
            return 0.0
        return abs(result["moved"] - result["placebo_moved"])

    further, kept = Counter(), []
    for row in sorted(range(len(items)), key=lambda row: (-moved_beyond(row), row)):
        case, deep = items[row]["case"], items[row]["depth"] > 1
        further[case] += deep
        if not deep or further[case] <= FURTHER:
            kept.append(row)
    return sorted(kept, key=lambda row: items[row]["depth"])


def _items(study, precedents, shown):
    """Give every edit that changes a query, with document ids."""
    decides = {(row.case_id, row.fact_type): row.dispositive for row in study.annotations.itertuples()}
    rows = {s: study.edges[s].set_index(["case_id", "node"]).to_dict("index") for s in study.systems}
    placebos, tried, alike = {}, defaultdict(dict), defaultdict(set)
    for system, trees in study.trees.items():
        placebos[system] = defaultdict(list)
        for tree in trees:
            for node in tree.placebos:
                if not node.found.error:
                    placebos[system][_size(tree.case_id, node)].append(node)
            for node in tree.nodes[1:]:
                if not node.edit.noop:
                    edit = (tree.case_id, node.parent.query, node.query)
                    tried[edit].setdefault(system, node)
                    alike[tree.case_id, node.name].add(edit)
    items = []
    for (case, before, after), nodes in tried.items():
        system, node = next(iter(nodes.items()))
        edit, blank = node.edit, placebos[system].get(_size(case, node), [])
        effect = partial(_effect, case, precedents=precedents.get(case))
        items.append(
            {
                "id": f"{case} {node.name}" + (f" ({system})" if len(alike[case, node.name]) > 1 else ""),
                "case": case,
                "fact_type": edit.fact_type,
                "operation": edit.operation,
                "old": edit.old,
                "new": edit.new,
                "depth": node.depth,
                "decides": decides.get((case, edit.fact_type)),
                "change": changed(before, after) if shown else None,
                "placebo": changed(before, blank[0].query) if shown and blank else None,
                "results": [effect(nodes.get(s), rows[s], placebos[s], control=s == CONTROL) for s in study.systems],
            }
        )
    return items


def _size(case, node):
    """Give what an edit shares with its placebos."""
    return case, node.parent.name, node.edit.removed, node.edit.added


def _effect(case, node, rows, placebos, precedents, control):
    """Give what one edit did under one system, beside its placebos."""
    if node is None:
        return None
    before, after = node.parent.found, node.found
    if error := before.error or after.error:
        return {"error": error}
    row, blank = rows[case, node.name], [one.found for one in placebos.get(_size(case, node), [])]
    moved, placebo_moved = (None if x != x else round(float(x), 3) for x in (row[PRIMARY], row[f"placebo_{PRIMARY}"]))
    return {
        "error": None,
        "moved": moved,
        "placebo_moved": placebo_moved,
        "left": None if control else _beyond(before, after, precedents),
        "entered": None if control else _beyond(after, before, precedents),
        "new": len(_beyond(after, before)),
        "placebo_new": [len(_beyond(one, before)) for one in blank],
        "found": _ranked(before, precedents),
        "still_found": _ranked(after, precedents),
        "placebo_found": [_ranked(one, precedents) for one in blank],
    }


def _beyond(one, other, precedents=None):
    """Give what stands in one list only: case, rank, whether it is a precedent."""
    ranked = enumerate(one.cases, 1)
    return [[case, rank, int(case in (precedents or ()))] for rank, case in ranked if case not in other.cases]


def _ranked(found, precedents):
    """Give the best rank of the precedents, None if none is listed, and their number."""
    if not precedents:
        return None
    ranks = [rank for rank, case in enumerate(found.cases, 1) if case in precedents]
    return [min(ranks, default=None), len(ranks)]


def _numbered(item, places):
    """Put places in the list of documents for their ids."""
    results = []
    for result in item["results"]:
        lists = {
            name: [[places.setdefault(case, len(places)), *rest] for case, *rest in result[name]]
            for name in ("left", "entered")
            if result and result.get(name) is not None
        }
        results.append(result and result | lists)
    return item | {"results": results}
