"""The retrieval ablation: the same queries through many systems, scored and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.splits import halve
from casebook.errors import InputError
from casebook.measures.ranking import evaluate
from casebook.plugins import callable_plugin, called
from casebook.progress import track
from casebook.readers import read_yaml
from casebook.retrieval.encoded import open_corpus
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import (
    EVALUATION_DEPTH,
    HybridRetriever,
    RetrievalResult,
)
from casebook.retrieval.run_files import (
    coverage_of_run,
    coverage_text,
    ranked_run,
    runs_on,
)
from casebook.retrieval.settings import (
    CHOSEN_ON,
    DOCUMENTED,
    MODES,
    QUERY_TREATMENTS,
    SYSTEM_NAMES,
    SYSTEM_PHRASES,
    config_for,
)
from casebook.stats.samples import check_choice

ABLATION_MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
CONTROL_SYSTEMS = ("random", "constant")
FIRST = 10  # documents that a reader sees
POOL = 50  # documents that a last stage orders
FUSED = "Fused"  # the first documents of any list


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
        returned, with the lists and costs of all stages; ``rows()``.

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
    results = {}
    values = {}
    for name in track(systems, "systems"):
        results[name] = retrieve(dataset, systems[name])
        run = results[name].run(dataset.queries["query_id"])
        values[name] = measured(dataset, run, list(measures))
    table = pd.concat(values, axis=1).swaplevel(axis=1)
    return Ablation(dataset, results, {measure: table[measure] for measure in measures})


def retrieve(dataset, system):
    """What a system returns for all queries of a dataset, of their candidates or all documents."""
    texts = dataset.queries["text"].tolist()
    queries = dataset.queries["query_id"].tolist()
    if isinstance(system, HybridRetriever):
        pools = dataset.candidates and [dataset.candidates[query] for query in queries]
        return system.retrieve_many(texts, candidates=pools)
    if isinstance(system, Mapping):
        coverage = coverage_text(coverage_of_run(dataset, system))
        return CallableResult(ranked_run(dataset, system), coverage)
    rows = scores_by_callable(
        system, texts, EVALUATION_DEPTH, set(dataset.documents["doc_id"])
    )
    return CallableResult(ranked_run(dataset, dict(zip(queries, rows, strict=True))))


def scores_by_callable(retriever, queries, depth, doc_ids):
    """Answer of a retriever of the user, checked: scores by document for each query."""
    name = getattr(retriever, "__qualname__", type(retriever).__name__)
    answer = called(name, retriever, queries, depth)
    rows = []
    try:
        for ids, scores in zip(*answer, strict=True):
            rows.append(pd.Series(list(scores), list(ids), dtype=float))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name}: expected two lists, ids and scores: {error}"
        ) from None
    if len(rows) != len(queries):
        raise InputError(
            f"{name}: expected two lists of {len(queries)} lists, found {len(rows)}"
        )
    for row in rows:
        wrong = row.index.duplicated() | ~row.index.isin(doc_ids) | ~np.isfinite(row)
        if wrong.any():
            problem = "is no document, is given twice or has no finite score"
            raise InputError(f"{name}: {row.index[wrong][0]!r} {problem}")
    return [row.to_dict() for row in rows]


def load_retriever(name, documents=None):
    return callable_plugin(name, "(queries, k) -> ids, scores", documents)


@dataclass(frozen=True)
class CallableResult:
    """What a callable or a run returned: scores by document id for each query, best first."""

    rows: list
    coverage: str | None = None  # of a run: the questions and documents that it holds

    def run(self, query_ids, stage="final"):
        return dict(zip(query_ids, self.rows, strict=True))


def measured(dataset, run, measures):
    """Measures of a run, queries x measures; one without a document counts as 0."""
    if not any(run.values()):
        run = {query: {"": 0.0} for query in run}  # an id that no judgement names
    return evaluate(dataset.qrels, run, measures).frame()


class ScoredSystems:
    """Base of experiments that score systems on queries: a subclass has `dataset` and `scores`."""

    control = ""
    controls = ()

    @property
    def clusters(self):
        """Group of each query; None where queries are independent."""
        groups = self.dataset.groups
        frame = next(iter(self.scores.values()))
        return None if groups is None else [groups[query] for query in frame.index]

    def rows(self):
        """Tidy rows, one per query and system, with a column for each measure."""
        columns = {measure: frame.unstack() for measure, frame in self.scores.items()}  # noqa: PD010
        rows = pd.DataFrame(columns).rename_axis(["system", "query_id"]).reset_index()
        groups = self.dataset.groups
        rows["group"] = (
            rows["query_id"] if groups is None else rows["query_id"].map(groups)
        )
        return rows[["query_id", "group", "system", *self.scores]]


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

    def runs(self, stage="final"):
        queries = self.dataset.queries["query_id"].tolist()
        return {
            system: result.run(queries, stage)
            for system, result in self.results.items()
        }

    @property
    def own(self):
        return [
            name
            for name, result in self.results.items()
            if isinstance(result, CallableResult)
        ]

    def leading(self, focus=None):
        """System that the questions are about: the one named, the first of the user's, or ours."""
        focus = focus or next(iter([*self.own, *self.results]))
        check_choice("focus", focus, list(self.results))
        return focus

    @property
    def notes(self):
        """What readers have to know of a system on these data, by system."""
        covered = {name: self.results[name].coverage for name in self.own}
        notes = {name: f"Run {name}: {what}." for name, what in covered.items() if what}
        if self.dataset.key in CHOSEN_ON:
            rules = f"The rules of the full pipeline were chosen on {len(CHOSEN_ON)} collections"
            notes["full"] = f"{rules}, this one among them."
        return notes

    @property
    def unmeasured(self):
        """Why nothing can be compared; None where something can."""
        return (
            None if relevant_questions(self.dataset) else "nothing is judged relevant"
        )

    def same_inputs(self, pairs):
        reasons = {}
        for pair in pairs:
            both = [self.results.get(system) for system in pair]
            # Nobody can tell what a callable reads.
            if not all(isinstance(result, RetrievalResult) for result in both):
                continue
            first, second = both
            if first.index is second.index and first.config == second.config:
                reasons[pair] = "both are one system with these settings"
            elif first.last_stage(POOL) == second.last_stage(POOL):
                reasons[pair] = "both read the same of these questions"
        return reasons


# --- systems


def open_index(data, encoder="minilm", corpus=None):
    """Index of a collection: in memory, or of documents that are encoded on disk."""
    if corpus:
        return open_corpus(corpus, data, encoder)
    return CorpusIndex(data.documents, encoder)


def systems(
    index, data, modes=None, retrievers=None, runs=None, max_missing=0.05, **settings
):
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
    compared = {name: HybridRetriever(index, mode=name, **settings) for name in names}
    for name in [retrievers] if isinstance(retrievers, str) else retrievers or []:
        compared[name] = load_retriever(name, data.documents)
    return compared | runs_on(data, runs, max_missing)


def compared_systems(index, queries, modes=None, **settings):
    """Names of the pipelines that the chapter compares: those asked for, BM25 and random order.

    BM25 with the cut of the pipeline is a baseline wherever it reads something else.
    """
    names = modes
    if modes is None:
        left_out = {*QUERY_TREATMENTS, *index.unsearchable}
        if not settings.get("reranker", True):
            left_out |= {*DOCUMENTED, "reranker_only"}
        names = [name for name in MODES if name not in left_out]
    names = dict.fromkeys(
        ["full" if names else "bm25", "bm25", *names, "bm25_cut", "random"]
    )
    bm25 = index.passages().bm25("default")
    limit = config_for("bm25_cut", **settings).words_read(bm25.mean_words)
    if limit is None or bm25.count_words(queries).max() <= limit:
        del names["bm25_cut"]
    return list(names)


def milliseconds_per_question(results, n_questions):
    """Processor time of each pipeline for a question; building the index is left out.

    What a system finds remembered because another one did the same before it, the encoding of
    questions and the reranker's scores, counts as the longest that one took.
    """
    ours = {
        name: each
        for name, each in results.items()
        if isinstance(each, RetrievalResult)
    }
    costs = pd.DataFrame({name: result.costs for name, result in ours.items()}).T
    costs = costs.drop(list(CONTROL_SYSTEMS), errors="ignore")
    for stage in costs.columns.intersection(["encoding", "reranker"]):
        costs.loc[costs[stage].notna(), stage] = costs[stage].max()
    seconds = costs.sum(axis=1) / n_questions
    return (1000 * seconds).to_dict()


# --- tables


def halves(data, first=None, second=None):
    """Two splits by name, or halves of a dataset that share no group of queries."""
    if first and second:
        return load(data.key, first), load(data.key, second)
    parts = halve(data.groups or {query: query for query in data.qrels}, seed=0)
    if not all(parts.values()):
        raise InputError(
            f"{data.name}: all questions are of one group, which cannot be divided"
        )
    one, other = parts.values()
    names = f"{data.split}_first_half", f"{data.split}_second_half"
    return data.subset(one, names[0]), data.subset(other, names[1])


def published_figures(key):
    """Figures that others published for a data set, and our settings: a list of records."""
    return read_yaml(Path(__file__).with_name("published.yml")).get(key, [])


def data_table(dataset):
    """What is searched and asked, as a table for readers."""
    rows = {
        **dataset.counts,
        "groups of dependent queries": len(set((dataset.groups or {}).values())),
        "judged but missing": dataset.missing,
        "licence": dataset.card and dataset.card.licence.name,
        "SHA-256 of all this, its beginning": dataset.fingerprint[:16],
    }
    return pd.DataFrame(
        [row for row in rows.items() if row[1]], columns=["item", "value"]
    )


def relevant_questions(dataset):
    return [
        query
        for query, grades in dataset.qrels.items()
        if max(grades.values(), default=0) > 0
    ]


def kept_by_stage(study, system):
    """Share of each question's relevant documents that each stage of a system keeps.

    A question without a relevant document has no row.
    """
    result = study.results[system]
    cuts = {f"First {depth}": ("final", depth) for depth in (EVALUATION_DEPTH, FIRST)}
    if isinstance(result, RetrievalResult):
        lists = {
            SYSTEM_NAMES[name]: (name, result.config.pool)
            for name in result.config.lists
        }
        cuts = lists | {FUSED: ("fused", 1000)} | cuts
    queries = study.dataset.queries["query_id"].tolist()
    shares = {}
    for label, (stage, depth) in cuts.items():
        recall = f"R@{depth}"
        shares[label] = measured(study.dataset, result.run(queries, stage), [recall])[
            recall
        ]
    return pd.DataFrame(shares).loc[relevant_questions(study.dataset)]


def lost_documents(kept):
    """Questions of which a system loses a relevant document, by where it loses it."""
    found = kept.get(FUSED, kept[f"First {EVALUATION_DEPTH}"])
    lost = {
        "lost: by the first stage": found < 1,
        "lost: by the last cut": kept[f"First {FIRST}"] < found,
    }
    return {
        tag: kept.index[is_lost].tolist()
        for tag, is_lost in lost.items()
        if is_lost.any()
    }
