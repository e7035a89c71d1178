"""The retrieval ablation: the same queries through many systems, scored query by query, and compared."""

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.cards import may_show
from casebook.data.splits import halve
from casebook.errors import InputError
from casebook.frames import compare_systems, contrasts, estimates, tie_classes
from casebook.measures.ranking import evaluate
from casebook.plugins import callable_plugin, called, instance
from casebook.progress import track
from casebook.readers import read_yaml
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import DEPTH, HybridRetriever, RetrievalResult
from casebook.retrieval.settings import named
from casebook.runs.headlines import counted
from casebook.runs.manifest import write_manifest
from casebook.runs.outputs import MOST_BYTES, items_within, one_line
from casebook.stats.intervals import bootstrap_mean, bounds_text, resampled_clusters
from casebook.tables import reason_text
from casebook.verdicts import (
    BETTER,
    EQUIVALENT,
    INTERVAL_BY_UNIT,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
    verdict_of,
)

MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
RETRIEVES = "(queries, k) -> ids, scores"
CONTROLS = ("random", "constant")
CONTROL = "random"  # the baseline of every number


def run_ablation(dataset, systems, measures=MEASURES):
    """Put every query through every system, and score what comes back.

    Parameters
    ----------
    dataset : RetrievalDataset
        Documents, queries and judgements, as `casebook.data.load` gives them.
    systems : dict of str to HybridRetriever or callable
        What is compared. A callable takes the list of query texts and a depth, and gives for each query its
        document ids, best first, and their scores: two lists of lists. The system named ``random``, if there is one, is
        the control beside every number.
    measures : sequence of str
        Ranking measures, such as ``nDCG@10``.

    Returns
    -------
    Ablation
        ``scores``: for each measure a frame, queries x systems; ``results``: what each system returned, with the lists
        and costs of all stages; ``numbers``, ``rows``, ``compare``.

    Raises
    ------
    InputError
        If there are no judgements or a measure is unknown.

    Examples
    --------
    >>> from casebook.data import load
    >>> data = load("smoke")
    >>> def longest(queries, k):
    ...     rows = data.documents.assign(size=data.documents["text"].str.len())
    ...     rows = rows.sort_values("size", ascending=False).head(k)
    ...     return [rows["doc_id"].tolist()] * len(queries), [rows["size"].tolist()] * len(queries)
    >>> systems = {"BM25": HybridRetriever(data.documents, mode="bm25"), "longest": longest}
    >>> run_ablation(data, systems).scores["nDCG@10"].mean().round(2).to_dict()
    {'BM25': 0.59, 'longest': 0.13}
    """
    if not dataset.qrels:
        raise InputError(f"{dataset.key}: no judgements, so nothing can be measured")
    results = {name: retrieve(dataset, systems[name]) for name in track(systems, "systems")}
    return Ablation(dataset, results, score(dataset, results, measures))


def retrieve(dataset, system):
    """Put all queries of a dataset through one system; where it names candidates, only those are ranked."""
    texts = dataset.queries["text"].tolist()
    pools = None
    if dataset.candidates is not None:
        pools = [dataset.candidates[query] for query in dataset.queries["query_id"]]
    if isinstance(system, HybridRetriever):
        return system.retrieve_many(texts, candidates=pools)
    rows = own_answers(system, texts, DEPTH, set(dataset.documents["doc_id"]))
    pools = map(set, pools or rows)
    return Answers(
        [
            {doc: row[doc] for doc in row if doc in pool}
            for row, pool in zip(rows, pools, strict=True)
        ]
    )


def own_answers(system, queries, depth, known):
    """Ask a retriever of the user's own: scores by document for each query, of known documents, each once, finite."""
    name = getattr(system, "__qualname__", type(system).__name__)
    answer = called(name, system, queries, depth)
    try:
        pairs = [
            list(zip(ids, map(float, scores), strict=True))
            for ids, scores in zip(*answer, strict=True)
        ]
        rows = list(map(dict, pairs))
    except (TypeError, ValueError, OverflowError):
        rows = []
    if len(rows) != len(queries):
        wanted = f"ids and scores of equal lengths for each of {len(queries)} questions"
        raise InputError(f"{name}: expected two lists: {wanted}")
    if list(map(len, rows)) != list(map(len, pairs)):
        raise InputError(f"{name}: a document is given twice for one question")
    unknown = set().union(*rows) - known
    if unknown:
        raise InputError(
            f"{name}: {len(unknown)} ids are no documents, such as {next(iter(unknown))!r}"
        )
    wrong = [doc for row in rows for doc, value in row.items() if not math.isfinite(value)]
    if wrong:
        raise InputError(
            f"{name}: {len(wrong)} scores are not finite, such as that of {wrong[0]!r}"
        )
    return rows


def load_retriever(name, documents=None):
    """Import a retriever of the user's own; of a class an object is made with the documents (doc_id, title, text)."""
    found = callable_plugin(name, RETRIEVES)
    return (
        instance(name, found, RETRIEVES, documents)
        if isinstance(found, type) and documents is not None
        else found
    )


@dataclass(frozen=True)
class Answers:
    """What a callable returned: scores by document id for each query, best first."""

    rows: list

    def run(self, query_ids):
        """Scores by query id and document id."""
        return dict(zip(query_ids, self.rows, strict=True))


def score(dataset, results, measures):
    """Score results against the judgements: for each measure a frame, queries x systems."""
    queries, measures = dataset.queries["query_id"], list(measures)
    frames = {
        name: evaluate(dataset.qrels, result.run(queries), measures).frame()
        for name, result in results.items()
    }
    return {
        name: pd.DataFrame({system: frame[name] for system, frame in frames.items()})
        for name in measures
    }


class ScoredSystems:
    """What an experiment that scores systems on queries offers: `dataset` and `scores`, and all of the below."""

    control = ""
    controls = ()

    @property
    def clusters(self):
        """Group of each query; None where queries are independent."""
        groups = self.dataset.groups
        return (
            None
            if groups is None
            else [groups[query] for query in next(iter(self.scores.values())).index]
        )

    def rows(self):
        """Tidy rows, one per query and system, with a column for each measure."""
        rows = pd.DataFrame({measure: frame.unstack() for measure, frame in self.scores.items()})  # noqa: PD010
        rows = rows.rename_axis(["system", "query_id"]).reset_index()
        groups = self.dataset.groups
        rows["group"] = rows["query_id"] if groups is None else rows["query_id"].map(groups)
        return rows[["query_id", "group", "system", *self.scores]]

    def compare(self, measure, focus, planned=None, margin=0.0, n_resamples=10_000, seed=0):
        """Compare all pairs on one measure, controls left out: those `planned` (or of `focus`) are one family."""
        frame = self.scores[measure]
        rest = [name for name in frame if name not in self.controls and name != focus]
        frame = frame[[focus, *rest]]
        planned = [(focus, name) for name in rest] if planned is None else list(planned)
        known = set(map(frozenset, planned))
        other = [pair for pair in itertools.combinations(frame, 2) if frozenset(pair) not in known]
        options = {
            "clusters": self.clusters,
            "margin": margin,
            "n_resamples": n_resamples,
            "seed": seed,
        }
        comparison = compare_systems(frame, pairs=planned, **options)
        pairs = comparison.pairs.assign(family="planned")
        if other:
            others = compare_systems(frame, pairs=other, **options).pairs.assign(family="other")
            pairs = pd.concat([pairs, others], ignore_index=True) if planned else others
        systems = comparison.systems
        apart = pd.DataFrame(False, systems["system"], systems["system"])
        for a, b in pairs.loc[
            pairs["p_adjusted"] <= 1 - comparison.level, ["system", "against"]
        ].to_numpy():
            apart.loc[a, b] = apart.loc[b, a] = True
        systems = systems.assign(tie_class=tie_classes(apart.to_numpy()))
        return replace(comparison, systems=systems, pairs=pairs)

    def numbers(self, **options):
        """Every mean with interval, n and control, as in ``numbers.json``: by system and measure."""
        table = {system: {} for system in next(iter(self.scores.values()))}
        options = {"clusters": self.clusters, **options}
        for measure, frame in self.scores.items():
            control = frame[self.control].mean() if self.control in frame else None
            for system, interval in zip(frame, bootstrap_mean(frame, **options), strict=True):
                table[system][measure] = interval.number(control)
        return table


@dataclass(frozen=True)
class Ablation(ScoredSystems):
    """What each system returned for each query of one dataset, and its scores."""

    dataset: object
    results: dict
    scores: dict

    control = CONTROL
    controls = CONTROLS

    def joined(self, other):
        """Add the systems of another ablation of the same queries."""
        scores = {
            measure: frame.join(other.scores[measure]) for measure, frame in self.scores.items()
        }
        return Ablation(self.dataset, self.results | other.results, scores)


def means_table(numbers, measures=MEASURES):
    """Means of `ScoredSystems.numbers` as a table: system, n, and value, low and high of each measure."""
    rows = []
    for system, known in numbers.items():
        row = {"system": system, "n": known[measures[0]]["n"]}
        for name in measures:
            low, high = known[name]["ci"]
            row |= {name: known[name]["value"], f"{name} low": low, f"{name} high": high}
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.astype(
        dict.fromkeys(table.columns[2:], float)
    )  # None, for no interval, becomes NaN


def strongest(study, systems):
    """Name the system with the highest mean nDCG@10 of those that were run, the first of equals."""
    means = study.scores["nDCG@10"].mean()
    return means[[name for name in systems if name in means]].idxmax()


def planned_rows(study, pairs, measure="nDCG@10", **options):
    """Planned contrasts, as `casebook.contrasts` gives them, with the queries that are better, equal and worse."""
    scores = study.scores[measure]
    rows = contrasts(
        scores, pairs, study.clusters, not_measured=same_inputs(study.results, pairs), **options
    )
    signs = {pair: np.sign((scores[pair[0]] - scores[pair[1]]).round(9)) for pair in pairs}
    for name, sign in (("better", 1), ("equal", 0), ("worse", -1)):
        rows[name] = [int((signs[pair] == sign).sum()) for pair in pairs]
    return rows


def unpaired_contrast(scores, first, clusters=None, margin=0.0):
    """Difference in mean of the queries that are `first` and the others, by least squares with errors over groups."""
    from statsmodels.regression.linear_model import OLS  # slow to import, and needed here alone

    codes, reason = resampled_clusters(clusters, len(scores))
    codes = np.arange(len(scores)) if codes is None else pd.factorize(np.asarray(codes))[0]
    design = np.column_stack([np.ones(len(scores)), first])
    fit = OLS(scores.to_numpy(), design).fit(
        cov_type="cluster", cov_kwds={"groups": codes}, use_t=True
    )
    low, high = fit.conf_int()[1]
    spread = max(np.ptp(half) for half in (scores[first], scores[~first]))
    if reason == "fewer_than_six_units" or spread == 0:
        low = high = np.nan
        reason = reason if spread else "no_variation"
    return {
        "difference": fit.params[1],
        "low": low,
        "high": high,
        "n": len(scores),
        "groups": len(scores if clusters is None else set(clusters)),
        "verdict": verdict_of(low, high, margin) if np.ptp(scores) else NOT_MEASURED,
        "reason": reason,
    }


def same_inputs(results, pairs):
    """Pairs of systems that read the same on every query, with the reason."""
    reasons = {}
    for pair in pairs:
        first, second = (results.get(name) for name in pair)
        if not (isinstance(first, RetrievalResult) and isinstance(second, RetrievalResult)):
            continue  # what a callable reads is not known
        if first.config == second.config:
            reasons[pair] = "both are one system with these settings"
        elif _differ_in_mmr_alone(first, second) and _reranks_the_same(first, second):
            reasons[pair] = (
                "marginal relevance dropped no document, so the reranker read the same ones"
            )
    return reasons


def _differ_in_mmr_alone(first, second):
    return first.config.model_copy(update={"mmr": second.config.mmr}) == second.config


def _reranks_the_same(first, second):
    if not first.config.reranker:
        return False
    documents = [np.sort(result.stages["rerank"].ids, axis=1) for result in (first, second)]
    return np.array_equal(*documents)


_VERBS = {
    BETTER: "is better than",
    WORSE: "is worse than",
    EQUIVALENT: "is equivalent to",
    UNDECIDED: "cannot be distinguished from",
}


def contrast_sentence(row):
    """Say a planned contrast: verdict, difference with its interval, and queries better, equal and worse."""
    system, against = named(row["system"]), named(row["against"])
    if row["verdict"] == NOT_MEASURED:
        return f"{system} against {against} cannot be measured here: {reason_text(row['reason'])}."
    effect = f"{row['difference']:+z.3f} {bounds_text(row['low'], row['high'], '+z.3f')} nDCG@10"
    counts = (
        f"{counted(row['better'], 'questions')} better, {row['equal']} equal, {row['worse']} worse"
    )
    return f"{system} {_VERBS[row['verdict']]} {against}: {effect}{by_unit(row)}; {counts}."


def by_unit(rows):
    """Words for intervals that are over questions because there are too few groups; none for others."""
    if INTERVAL_BY_UNIT in np.atleast_1d(rows["reason"]).tolist():
        return " (by question: fewer than six groups)"
    return ""


def best_sentence(comparison, where):
    """Name the best system, whichever it is, and those that cannot be distinguished from it."""
    table = comparison.systems
    best = table.iloc[0]
    classes = table["tie_class"].str.split(",").map(set)
    tied = [
        named(system)
        for system, classes_of_system in zip(table["system"][1:], classes[1:], strict=True)
        if classes_of_system & classes[0]
    ]
    interval = bounds_text(best["low"], best["high"])
    text = f"On {where} the best of {len(table)} systems is **{named(best['system'])}**"
    text += f" (nDCG@10 {best['value']:.3f} {interval})"
    if len(table) == 1:
        return f"{text}."
    names = ", ".join(tied) or "none"
    if 1 < len(tied) == len(table) - 1:
        names = "all others"
    return f"{text}. Not distinguishable from it: {names}."


def halves(data):
    """Divide a dataset's queries into two halves that share no group; none if there is a single group."""
    parts = halve(data.groups or {query: query for query in data.qrels}, seed=0)
    if not all(parts.values()):
        return []  # a single group
    names = ("first", "second")
    return [
        data.subset(p, f"{data.split}_{n}_half") for n, p in zip(names, parts.values(), strict=True)
    ]


def published_figures(key, index, **draws):
    """Figures that others published for a data set (``published.yml``), beside ours under their settings."""
    rows = []
    for figure in read_yaml(Path(__file__).with_name("published.yml")).get(key, []):
        dataset = load(key, figure["split"])
        systems = {"ours": HybridRetriever(index, **figure["settings"])}
        study = run_ablation(dataset, systems, list(figure["values"]))
        kind = "reproduced" if figure.get("reproduces", True) else "reference"
        for measure, value in figure["values"].items():
            found = estimates(study.scores[measure], study.clusters, **draws).iloc[0]
            where = [figure[name] for name in ("source", "system", "split")]
            ours = (found["value"], found["low"], found["high"], found["n"], found["value"] - value)
            rows.append((*where, measure, value, *ours, kind))
    columns = [
        "source",
        "system",
        "split",
        "measure",
        "published",
        "ours",
        "ours low",
        "ours high",
        "n",
        "difference",
        "kind",
    ]
    return pd.DataFrame(rows, columns=columns).astype({"ours low": float, "ours high": float})


def data_table(dataset):
    """Describe a dataset in a few rows of item and value."""
    rows = list(dataset.counts.items())
    rows.append(
        (
            "ranked for each query",
            "all documents" if dataset.candidates is None else "judged documents only",
        )
    )
    titles = dataset.documents.get("title", pd.Series(dtype=object)).fillna("")
    if titles.any():
        pairs = zip(titles, dataset.documents["text"], strict=True)
        read = all(text.startswith(title.strip()) for title, text in pairs)
        rows.append(("titles", "searched with the texts" if read else "not searched"))
    if dataset.missing:
        rows.append(("judged but missing", dataset.missing))
    if dataset.groups is not None:
        count = len({dataset.groups[query] for query in dataset.queries["query_id"]})
        rows.append(("groups of dependent queries", count))
    if dataset.card is not None:
        licence = dataset.card.licence
        use = "non-commercial only" if licence.non_commercial else "permissive"
        rows.append(("licence", f"{licence.name} ({use})"))
    rows.append(("fingerprint", dataset.fingerprint[:16]))
    return pd.DataFrame(rows, columns=["item", "value"])


def ingest(folder, dataset, vectors, provider, passages=None):
    """Write the manifest of what was indexed: `Passages` with their vectors, by default whole documents."""
    passages = passages or CorpusIndex(dataset.documents).passages()
    doc_ids, owner = dataset.documents["doc_id"].tolist(), passages.owner
    number = np.arange(len(owner)) - np.searchsorted(owner, owner)
    rows = [row for row, text in enumerate(passages.texts) if text.strip()]
    cut = {}
    if passages.cut:
        cut = {"chunker": "words", "chunkSize": passages.cut[0], "chunkOverlap": passages.cut[1]}
    return write_manifest(
        folder,
        dataset.key,
        "refs",
        [(doc_ids[owner[row]], int(number[row]), passages.texts[row]) for row in rows],
        vectors=np.asarray(vectors)[rows],
        provider=provider,
        input_root=dataset.name,
        preprocessing={"loader": dataset.card.loader if dataset.card else "beir"} | cut,
    )


SHOWN = ("full", "bm25", "dense", "random")
SHOWN_MEASURES = ("nDCG@10", "RR@10", "AP", "R@10")
SHOWN_RANKS = 10
OPENINGS = (160, 80)  # characters of a document; the second where room is short


def question_items(study, systems=SHOWN, most_bytes=MOST_BYTES):
    """Collect what a reader needs to judge single questions; those on which systems differ least are left out first."""
    systems = [name for name in systems if name in study.results]
    tested = [name for name in systems if name not in study.controls]
    queries, asked = (study.dataset.queries[column].tolist() for column in ("query_id", "text"))
    runs = {name: study.results[name].run(queries) for name in systems}
    tops = {
        name: [list(run[query])[:SHOWN_RANKS] for query in queries] for name, run in runs.items()
    }
    measures = [name for name in SHOWN_MEASURES if name in study.scores]
    values = np.stack(
        [study.scores[name].reindex(queries)[systems].to_numpy(float) for name in measures], 2
    )
    scores = study.scores["nDCG@10"].reindex(queries)[tested]
    spread = (scores.max(axis=1) - scores.min(axis=1)).fillna(0).to_numpy()
    order = np.argsort(-spread, kind="stable").tolist()
    shown = may_show(study.dataset.card)

    def collect(rows, opening):
        places, opened, items = {}, set(), []

        def numbered(documents):
            return [places.setdefault(document, len(places)) for document in documents]

        for row in rows:
            query = queries[row]
            relevant = [
                doc for doc, grade in study.dataset.qrels.get(query, {}).items() if grade > 0
            ]
            opened.update(relevant, *(tops[name][row] for name in tested))
            items.append(
                {
                    "id": query,
                    "text": one_line(asked[row]) if "items" in shown else None,
                    "relevant": numbered(relevant),
                    "scores": [
                        [round(v, 3) if math.isfinite(v) else None for v in s]
                        for s in values[row].tolist()
                    ],
                    "top": [numbered(tops[name][row]) for name in systems],
                }
            )
        texts = study.dataset.documents.set_index("doc_id")["text"]
        # A judged document that the collection lacks has an id and no opening.
        seen = opened.intersection(texts.index) if "documents" in shown else set()
        return {
            "kind": "questions",
            "dataset": study.dataset.name,
            "card": study.dataset.card.key if study.dataset.card else None,
            "texts": sorted(shown),
            "systems": systems,
            "controls": [name for name in systems if name in study.controls],
            "measures": measures,
            "depth": SHOWN_RANKS,
            "asked": len(queries),
            "documents": [
                [name, one_line(texts[name], opening) if name in seen else None] for name in places
            ],
            "items": items,
        }

    return items_within(collect, order, OPENINGS, most_bytes)
