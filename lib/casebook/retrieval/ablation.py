"""The retrieval ablation: the same queries through many systems, scored and compared."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.splits import halve
from casebook.errors import InputError
from casebook.frames import estimates
from casebook.measures.ranking import evaluate
from casebook.plugins import callable_plugin, called
from casebook.progress import track
from casebook.readers import read_yaml
from casebook.retrieval.encoded import open_corpus
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import EVALUATION_DEPTH, HybridRetriever, RetrievalResult
from casebook.retrieval.run_files import coverage_of_run, coverage_text, ranked_run, runs_on
from casebook.retrieval.settings import (
    CHOSEN_ON,
    MODES,
    QUERY_TREATMENTS,
    SYSTEM_NAMES,
    SYSTEM_PHRASES,
    config_for,
)
from casebook.runs.manifest import write_manifest
from casebook.stats.intervals import bootstrap_mean

ABLATION_MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
CONTROL_SYSTEMS = ("random", "constant")
NO_DOCUMENT = ""  # id that no judgement names
RETRIEVER_SIGNATURE = "(queries, k) -> ids, scores"
PUBLISHED_FIGURES = Path(__file__).with_name("published.yml")
PUBLISHED_COLUMNS = [
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


def run_ablation(dataset, systems, measures=ABLATION_MEASURES):
    """Put every query through every system, and score what comes back.

    Parameters
    ----------
    dataset : RetrievalDataset
        Documents, queries and judgements, as `casebook.data.load` gives them.
    systems : dict of str to HybridRetriever, callable or dict
        What is compared. A callable takes the list of query texts and a depth, and gives for each
        query its document ids, best first, and their scores: two lists of lists. A dict is a run
        that exists, ``{query: {document: score}}``, as `casebook.read_run` gives it: a query that
        it lacks counts as 0. The system named ``random``, if there is one, is the control of every
        number.
    measures : sequence of str
        Ranking measures, such as ``nDCG@10``.

    Returns
    -------
    Ablation
        ``scores``: for each measure a frame, queries x systems; ``results``: what each system
        returned, with the lists and costs of all stages; ``numbers``, ``rows``.

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
    """Put all queries of a dataset through one system, which ranks their candidates or all."""
    texts = dataset.queries["text"].tolist()
    pools = None
    if dataset.candidates is not None:
        pools = [dataset.candidates[query] for query in dataset.queries["query_id"]]
    if isinstance(system, Mapping):
        coverage = coverage_text(coverage_of_run(dataset, system))
        return CallableResult(ranked_run(dataset, system), coverage)
    if isinstance(system, HybridRetriever):
        return system.retrieve_many(texts, candidates=pools)
    rows = scores_by_callable(system, texts, EVALUATION_DEPTH, set(dataset.documents["doc_id"]))
    if pools is not None:
        rows = [_restricted(row, set(pool)) for row, pool in zip(rows, pools, strict=True)]
    return CallableResult(rows)


def _restricted(scores, pool):
    return {doc: score for doc, score in scores.items() if doc in pool}


def scores_by_callable(retriever, queries, depth, doc_ids):
    """Ask a retriever of the user, and check its answer: scores by document for each query."""
    name = getattr(retriever, "__qualname__", type(retriever).__name__)
    answer = called(name, retriever, queries, depth)
    try:
        lists = [
            list(zip(ids, map(float, scores), strict=True))
            for ids, scores in zip(*answer, strict=True)
        ]
        rows = [dict(entries) for entries in lists]
    except (TypeError, ValueError, OverflowError):
        lists = []
        rows = []
    if len(rows) != len(queries):
        expected = f"ids and scores of equal lengths for each of {len(queries)} questions"
        raise InputError(f"{name}: expected two lists: {expected}")
    if any(len(row) < len(entries) for row, entries in zip(rows, lists, strict=True)):
        raise InputError(f"{name}: a document is given twice for one question")
    unknown = set().union(*rows) - doc_ids
    if unknown:
        example = next(iter(unknown))
        raise InputError(f"{name}: {len(unknown)} ids are no documents, such as {example!r}")
    not_finite = [doc for row in rows for doc, score in row.items() if not math.isfinite(score)]
    if not_finite:
        n = len(not_finite)
        raise InputError(f"{name}: {n} scores are not finite, such as that of {not_finite[0]!r}")
    return rows


def load_retriever(name, documents=None):
    """Import a retriever of the user; a class is called with the documents."""
    return callable_plugin(name, RETRIEVER_SIGNATURE, documents)


@dataclass(frozen=True)
class CallableResult:
    """What a callable or a run returned: scores by document id for each query, best first."""

    rows: list
    coverage: str | None = None  # of a run: the questions and documents that it holds

    def run(self, query_ids, stage="final"):
        """Scores by query id and document id; there is one stage."""
        return dict(zip(query_ids, self.rows, strict=True))


def score(dataset, results, measures):
    """Score results against the judgements: for each measure a frame, queries x systems."""
    query_ids = dataset.queries["query_id"]
    measures = list(measures)
    by_system = {}
    for system, result in results.items():
        run = result.run(query_ids)
        if not any(run.values()):  # which counts as 0, though a run without a document is refused
            run = {query_ids.iloc[0]: {NO_DOCUMENT: 0.0}}
        by_system[system] = evaluate(dataset.qrels, run, measures).frame()
    return {
        measure: pd.DataFrame({system: frame[measure] for system, frame in by_system.items()})
        for measure in measures
    }


class ScoredSystems:
    """Base of experiments that score systems on queries: a subclass has `dataset` and `scores`."""

    control = ""
    controls = ()

    @property
    def clusters(self):
        """Group of each query; None where queries are independent."""
        groups = self.dataset.groups
        if groups is None:
            return None
        frame = next(iter(self.scores.values()))
        return [groups[query] for query in frame.index]

    def rows(self):
        """Tidy rows, one per query and system, with a column for each measure."""
        columns = {}
        for measure, frame in self.scores.items():
            columns[measure] = frame.unstack()  # noqa: PD010
        rows = pd.DataFrame(columns).rename_axis(["system", "query_id"]).reset_index()
        groups = self.dataset.groups
        rows["group"] = rows["query_id"] if groups is None else rows["query_id"].map(groups)
        return rows[["query_id", "group", "system", *self.scores]]

    def numbers(self, *, n_resamples=10_000, seed=0):
        """Give every mean as in ``numbers.json``, with interval, n and control."""
        numbers = {system: {} for system in next(iter(self.scores.values()))}
        for measure, frame in self.scores.items():
            control = frame[self.control].mean() if self.control in frame else None
            intervals = bootstrap_mean(
                frame, clusters=self.clusters, n_resamples=n_resamples, seed=seed
            )
            for system, interval in zip(frame, intervals, strict=True):
                numbers[system][measure] = interval.number(control)
        return numbers


@dataclass(frozen=True)
class Ablation(ScoredSystems):
    """What each system returned for each query of one dataset, and its scores."""

    dataset: object
    results: dict
    scores: dict

    control = "random"
    controls = CONTROL_SYSTEMS
    names = SYSTEM_NAMES
    phrases = SYSTEM_PHRASES

    @property
    def own(self):
        """Systems of the user: retrievers and runs."""
        return [name for name, result in self.results.items() if isinstance(result, CallableResult)]

    def leading(self, focus=None):
        """System that the questions are about: the one named, the first of the user's, or ours."""
        if focus is not None and focus not in self.results:
            raise InputError(f"focus {focus} was not run: choose from {', '.join(self.results)}")
        return focus or next(iter([*self.own, *self.results]))

    @property
    def notes(self):
        """What readers have to know of a system on these data, by system."""
        notes = {
            name: f"Run {name}: {result.coverage}."
            for name, result in self.results.items()
            if getattr(result, "coverage", None)
        }
        for system, keys in CHOSEN_ON.items():
            if self.dataset.key in keys:
                phrase = SYSTEM_PHRASES[system]
                notes[system] = (
                    f"The rules of {phrase} were chosen on {len(keys)} collections, this one "
                    "among them."
                )
        return notes

    @property
    def unmeasured(self):
        """Why nothing can be compared; None where something can."""
        grades = (grade for row in self.dataset.qrels.values() for grade in row.values())
        return None if any(grade > 0 for grade in grades) else "nothing is judged relevant"

    def same_inputs(self, pairs):
        """Pairs of systems that read the same on every query, with the reason."""
        return same_inputs(self.results, pairs)


def open_index(data, encoder="minilm", corpus=None):
    """Index of a collection: in memory, or of documents that are encoded on disk."""
    if corpus:
        return open_corpus(corpus, data, encoder)
    return CorpusIndex(data.documents, encoder)


def systems(index, data, modes=None, retrievers=None, runs=None, max_missing=0.05, **settings):
    """What the chapter compares: pipelines by mode, the user's retrievers and runs, and controls.

    Parameters
    ----------
    index : CorpusIndex
        What pipelines search.
    data : RetrievalDataset
        Documents and questions.
    modes : list of str, optional
        Pipelines; by default all that the index allows, none for an empty list.
    retrievers : str or list of str, optional
        Retrievers of the user, as ``module:object``.
    runs : path-like or list of path-like, optional
        Run files of the user.
    max_missing : float, default 0.05
        Largest share of a run's documents that the collection may lack.
    **settings
        Of the pipelines, as in `casebook.retrieval.settings.PipelineConfig`.
    """
    names = compared_systems(index, data.queries["text"], modes, **settings)
    if modes is None and not index.has_words_of_passages:
        names.remove("bm25_chunked")
    compared = {
        name: HybridRetriever(index, mode=name, **settings)
        for name in dict.fromkeys([*names, "random"])
    }
    for name in [retrievers] if isinstance(retrievers, str) else retrievers or []:
        compared[name] = load_retriever(name, data.documents)
    return compared | runs_on([data], runs, max_missing)


def means_table(numbers, measures=ABLATION_MEASURES):
    """Means of `ScoredSystems.numbers` as a table: system, n, then each measure with its bounds."""
    rows = []
    for system, by_measure in numbers.items():
        row = {"system": system, "n": by_measure[measures[0]]["n"]}
        for measure in measures:
            low, high = by_measure[measure]["ci"]
            row[measure] = by_measure[measure]["value"]
            row[f"{measure} low"] = low
            row[f"{measure} high"] = high
        rows.append(row)
    table = pd.DataFrame(rows)
    # None, for no interval, becomes NaN.
    return table.astype(dict.fromkeys(table.columns[2:], float))


def compared_systems(index, queries, modes=None, **settings):
    """Name the pipelines that the chapter compares: those asked for, and BM25 beside them.

    BM25 with the cut of the pipeline is a baseline wherever it reads something else.
    """
    names = [name for name in MODES if name not in QUERY_TREATMENTS] if modes is None else modes
    leading = "full" if names else "bm25"
    names = dict.fromkeys([leading, "bm25", *names])
    bm25 = index.passages().bm25("default")
    limit = config_for("bm25_cut", **settings).words_read(bm25.mean_words)
    if limit is None or bm25.count_words(queries).max() <= limit:
        return [name for name in names if name != "bm25_cut"]
    return list(names | {"bm25_cut": None})


def milliseconds_per_question(results, n_questions, encoding=0.0):
    """Processor time of each pipeline for a question; building the index is left out.

    What a system finds remembered because another one did the same before it, the encoding of
    questions and the reranker's scores, counts as what the other one took. `encoding` is the time
    of a question whose vectors nobody has kept, in milliseconds.
    """
    pipelines = {
        name: result
        for name, result in results.items()
        if isinstance(result, RetrievalResult) and name not in CONTROL_SYSTEMS
    }
    if not pipelines:
        return {}
    costs = pd.DataFrame({name: result.costs["cpu_s"] for name, result in pipelines.items()}).T
    configs = pd.Series({name: result.config for name, result in pipelines.items()})
    uses_encoder = configs.map(lambda config: config.uses_encoder)
    for stage, shared in (("encode queries", uses_encoder), ("rerank", configs.map(_reranked))):
        if stage in costs:
            longest = costs.groupby(shared)[stage].transform("max")
            costs[stage] = longest.where(costs[stage].notna())
    if "encode queries" in costs:
        least = uses_encoder * encoding * n_questions / 1000
        costs["encode queries"] = costs["encode queries"].clip(lower=least)
    total = costs.drop(columns="index", errors="ignore").sum(axis=1)
    return (1000 * total / n_questions).to_dict()


def _reranked(config):
    """Name what the reranker of a system reads."""
    return f"{config.reranker} on {config.cut}"


def same_inputs(results, pairs):
    """Pairs of systems that read the same on every query, with the reason."""
    reasons = {}
    for system, against in pairs:
        result = results.get(system)
        baseline = results.get(against)
        if not (isinstance(result, RetrievalResult) and isinstance(baseline, RetrievalResult)):
            continue  # nobody can tell what a callable reads
        if result.config == baseline.config:
            reasons[system, against] = "both are one system with these settings"
        elif _differ_in_mmr_alone(result, baseline) and _rerank_the_same(result, baseline):
            reasons[system, against] = (
                "marginal relevance dropped no document, so the reranker read the same ones"
            )
        elif _differ_beyond_queries(result, baseline):
            reasons[system, against] = "both read the same of these questions"
    return reasons


def _differ_in_mmr_alone(result, baseline):
    return result.config.model_copy(update={"mmr": baseline.config.mmr}) == baseline.config


def _differ_beyond_queries(result, baseline):
    """Whether two systems differ only in what they read of questions longer than these."""
    first = result.config
    second = baseline.config
    shared = {"query_words": second.query_words, "query_reading": second.query_reading}
    if first.model_copy(update=shared) != second:
        return False
    for preset in ("default", "leaderboard"):
        index = result.index.passages().bm25(preset)
        limits = {config.words_read(index.mean_words) for config in (first, second)}
        least = min((limit for limit in limits if limit), default=None)
        if len(limits) > 1 and index.count_words(result.queries).max() > least:
            return False
    if first.query_reading == second.query_reading:
        return True
    encoder = result.index.encoder()
    return encoder.count_tokens(result.queries).max() <= encoder.max_tokens


def _rerank_the_same(result, baseline):
    if not result.config.reranker:
        return False
    documents = np.sort(result.stages["rerank"].ids, axis=1)
    return np.array_equal(documents, np.sort(baseline.stages["rerank"].ids, axis=1))


def halves(data, first=None, second=None):
    """Two splits by name, or halves of a dataset that share no group of queries."""
    if first and second:
        return [load(data.key, name) for name in (first, second)]
    parts = halve(data.groups or {query: query for query in data.qrels}, seed=0)
    if not all(parts.values()):
        raise InputError(f"{data.name}: all questions are of one group, which cannot be divided")
    return [
        data.subset(queries, f"{data.split}_{name}_half")
        for name, queries in zip(("first", "second"), parts.values(), strict=True)
    ]


def published_figures(key, index, *, n_resamples=10_000, seed=0):
    """Compare figures that others published for a data set with ours under their settings."""
    rows = []
    for figure in read_yaml(PUBLISHED_FIGURES).get(key, []):
        retriever = HybridRetriever(index, **figure["settings"])
        measures = list(figure["values"])
        study = run_ablation(load(key, figure["split"]), {"ours": retriever}, measures)
        for measure, published in figure["values"].items():
            frame = estimates(
                study.scores[measure], study.clusters, n_resamples=n_resamples, seed=seed
            )
            ours = frame.iloc[0]
            rows.append(
                {
                    "source": figure["source"],
                    "system": figure["system"],
                    "split": figure["split"],
                    "measure": measure,
                    "published": published,
                    "ours": ours["value"],
                    "ours low": ours["low"],
                    "ours high": ours["high"],
                    "n": ours["n"],
                    "difference": ours["value"] - published,
                    "kind": "reproduced" if figure.get("reproduces", True) else "reference",
                }
            )
    table = pd.DataFrame(rows, columns=PUBLISHED_COLUMNS)
    return table.astype({"ours low": float, "ours high": float})


def data_table(dataset):
    """Describe a dataset in a few rows of item and value."""
    rows = list(dataset.counts.items())
    ranked = "all documents" if dataset.candidates is None else "judged documents only"
    rows.append(("ranked for each query", ranked))
    titles = dataset.documents.get("title", pd.Series(dtype=object)).fillna("")
    if titles.any():
        pairs = zip(titles, dataset.documents["text"], strict=True)
        searched = all(text.startswith(title.strip()) for title, text in pairs)
        rows.append(("titles", "searched with the texts" if searched else "not searched"))
    if dataset.missing:
        rows.append(("judged but missing", dataset.missing))
    if dataset.groups is not None:
        groups = {dataset.groups[query] for query in dataset.queries["query_id"]}
        rows.append(("groups of dependent queries", len(groups)))
    if dataset.card is not None:
        licence = dataset.card.licence
        use = "non-commercial only" if licence.non_commercial else "permissive"
        rows.append(("licence", f"{licence.name} ({use})"))
    rows.append(("fingerprint", dataset.fingerprint[:16]))
    return pd.DataFrame(rows, columns=["item", "value"])


def kept_by_stage(study, system):
    """Share of each question's relevant documents that each stage of a system keeps.

    A question without a relevant document has no row.
    """
    judged = study.dataset.qrels
    result = study.results[system]
    cuts = {"Any list": ("fused", None), "Returned": ("final", EVALUATION_DEPTH)}
    if isinstance(result, RetrievalResult):
        config = result.config
        lists = {SYSTEM_NAMES[name]: (name, config.pool) for name in config.lists}
        cuts = lists | cuts | {f"First {config.top_k}": ("final", config.top_k)}
    queries = study.dataset.queries["query_id"].tolist()
    relevant = {q: {doc for doc, grade in judged[q].items() if grade > 0} for q in queries}
    asked = [query for query in queries if relevant[query]]
    shares = {}
    for label, (stage, depth) in cuts.items():
        ranked = result.run(queries, stage)
        kept = {query: relevant[query] & set(list(ranked[query])[:depth]) for query in asked}
        shares[label] = {query: len(kept[query]) / len(relevant[query]) for query in asked}
    return pd.DataFrame(shares, index=asked)


def ingest(folder, dataset, vectors, provider, passages=None):
    """Write the manifest of indexed `Passages` and their vectors, by default whole documents."""
    passages = passages or CorpusIndex(dataset.documents).passages()
    doc_ids = dataset.documents["doc_id"].tolist()
    owner = passages.owner
    number_in_document = np.arange(len(owner)) - np.searchsorted(owner, owner)
    rows = [row for row, text in enumerate(passages.texts) if text.strip()]
    chunks = []
    for row in rows:
        chunks.append((doc_ids[owner[row]], int(number_in_document[row]), passages.texts[row]))
    preprocessing = {"loader": dataset.card.loader if dataset.card else "beir"}
    if passages.cut:
        max_words, overlap, _ = passages.cut
        preprocessing |= {"chunker": "words", "chunkSize": max_words, "chunkOverlap": overlap}
    return write_manifest(
        folder,
        dataset.key,
        "refs",
        chunks,
        vectors=np.asarray(vectors)[rows],
        provider=provider,
        input_root=dataset.name,
        preprocessing=preprocessing,
    )
