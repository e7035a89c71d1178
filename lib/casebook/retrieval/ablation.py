"""The retrieval ablation: the same queries through many systems, scored and compared."""

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
    OF_RERANKER,
    QUERY_TREATMENTS,
    SYSTEM_NAMES,
    SYSTEM_PHRASES,
    config_for,
)
from casebook.runs.manifest import write_manifest

ABLATION_MEASURES = ("nDCG@10", "RR@10", "AP", "P@1", "R@10", "R@100")
CONTROL_SYSTEMS = ("random", "constant")
NO_DOCUMENT = ""  # id that no judgement names
RETRIEVER_SIGNATURE = "(queries, k) -> ids, scores"
PUBLISHED_FIGURES = Path(__file__).with_name("published.yml")
PUBLISHED_COLUMNS = ["source", "system", "split", "measure", "published", "ours", "ours low"]
PUBLISHED_COLUMNS += ["ours high", "n", "difference", "kind"]


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
    results = {name: retrieve(dataset, systems[name]) for name in track(systems, "systems")}
    return Ablation(dataset, results, score(dataset, results, measures))


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
    rows = scores_by_callable(system, texts, EVALUATION_DEPTH, set(dataset.documents["doc_id"]))
    return CallableResult(ranked_run(dataset, dict(zip(queries, rows, strict=True))))


def scores_by_callable(retriever, queries, depth, doc_ids):
    """Answer of a retriever of the user, checked: scores by document for each query."""
    name = getattr(retriever, "__qualname__", type(retriever).__name__)
    answer = called(name, retriever, queries, depth)
    try:
        ids, scores = map(list, answer)
        found = pd.DataFrame({"document": ids, "score": scores}, range(len(queries)))
        found = found.explode(["document", "score"]).dropna(how="all").astype({"score": float})
    except (TypeError, ValueError, OverflowError):
        expected = f"ids and scores of equal lengths for each of {len(queries)} questions"
        raise InputError(f"{name}: expected two lists: {expected}") from None
    repeated = found.reset_index().duplicated(["index", "document"]).to_numpy()
    checks = {
        "a document is given twice for one question: {}": repeated,
        "ids are no documents, such as {!r}": ~found["document"].isin(doc_ids).to_numpy(),
        "scores are not finite, such as that of {!r}": ~np.isfinite(found["score"].to_numpy()),
    }
    for problem, wrong in checks.items():
        if wrong.any():
            example = found["document"].iloc[wrong.argmax()]
            raise InputError(f"{name}: {wrong.sum()} {problem.format(example)}")
    rows = [{} for _ in queries]
    for row, document, score in found.itertuples():
        rows[row][document] = score
    return rows


def load_retriever(name, documents=None):
    return callable_plugin(name, RETRIEVER_SIGNATURE, documents)


@dataclass(frozen=True)
class CallableResult:
    """What a callable or a run returned: scores by document id for each query, best first."""

    rows: list
    coverage: str | None = None  # of a run: the questions and documents that it holds

    def run(self, query_ids, stage="final"):
        return dict(zip(query_ids, self.rows, strict=True))


def score(dataset, results, measures):
    """Scores of results by the judgements: for each measure a frame, queries x systems."""
    query_ids = dataset.queries["query_id"]
    by_system = {}
    for system, result in results.items():
        run = result.run(query_ids)
        if not any(run.values()):  # which counts as 0, though a run without a document is refused
            run = {query_ids.iloc[0]: {NO_DOCUMENT: 0.0}}
        by_system[system] = evaluate(dataset.qrels, run, list(measures)).frame()
    table = pd.concat(by_system, axis=1).swaplevel(axis=1)
    return {measure: table[measure] for measure in measures}


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
        rows["group"] = rows["query_id"] if groups is None else rows["query_id"].map(groups)
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
        return {system: result.run(queries, stage) for system, result in self.results.items()}

    @property
    def own(self):
        return [name for name, result in self.results.items() if isinstance(result, CallableResult)]

    def leading(self, focus=None):
        """System that the questions are about: the one named, the first of the user's, or ours."""
        if focus is not None and focus not in self.results:
            raise InputError(f"focus {focus} was not run: choose from {', '.join(self.results)}")
        return focus or next(iter([*self.own, *self.results]))

    @property
    def notes(self):
        """What readers have to know of a system on these data, by system."""
        notes = {}
        for name in self.own:
            if self.results[name].coverage:
                notes[name] = f"Run {name}: {self.results[name].coverage}."
        for system, keys in CHOSEN_ON.items():
            if self.dataset.key in keys:
                notes[system] = (
                    f"The rules of {SYSTEM_PHRASES[system]} were chosen on {len(keys)} "
                    "collections, this one among them."
                )
        return notes

    @property
    def unmeasured(self):
        """Why nothing can be compared; None where something can."""
        grades = (grade for row in self.dataset.qrels.values() for grade in row.values())
        return None if any(grade > 0 for grade in grades) else "nothing is judged relevant"

    def same_inputs(self, pairs):
        reasons = {}
        for pair in pairs:
            both = [self.results.get(system) for system in pair]
            # Nobody can tell what a callable reads.
            if all(isinstance(result, RetrievalResult) for result in both):
                reasons[pair] = _same_input(*both)
        return {pair: reason for pair, reason in reasons.items() if reason}


def _same_input(first, second):
    """Why two pipelines read the same on every query; None where they do not."""
    settings = dict(first.config)
    different = {name for name, value in dict(second.config).items() if settings[name] != value}
    if not different:
        return "both are one system with these settings"
    if different == {"mmr"} and first.config.reranker:
        documents = [np.sort(result.stages["rerank"].ids, axis=1) for result in (first, second)]
        if np.array_equal(*documents):
            return "marginal relevance dropped no document, so the reranker read the same ones"
    reranked = {"rerank"} & {*first.costs.index, *second.costs.index}
    if different <= set(OF_RERANKER) and not reranked:
        return "the reranker reads none of these questions"
    if different <= {"query_words", "query_reading"}:
        # A word more or less, or another window, changes the scores of a list.
        lists = ((first.stages[name], second.stages[name]) for name in first.config.lists)
        if all(np.array_equal(one.scores, other.scores) for one, other in lists):
            return "both read the same of these questions"
    return None


# --- systems


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
    return compared | runs_on(data, runs, max_missing)


def compared_systems(index, queries, modes=None, **settings):
    """Names of the pipelines that the chapter compares: those asked for, and BM25 beside them.

    BM25 with the cut of the pipeline is a baseline wherever it reads something else.
    """
    names = [name for name in MODES if name not in QUERY_TREATMENTS] if modes is None else modes
    names = dict.fromkeys(["full" if names else "bm25", "bm25", *names])
    bm25 = index.passages().bm25("default")
    limit = config_for("bm25_cut", **settings).words_read(bm25.mean_words)
    if limit is None or bm25.count_words(queries).max() <= limit:
        return [name for name in names if name != "bm25_cut"]
    return list(names | {"bm25_cut": None})


def milliseconds_per_question(results, n_questions):
    """Processor time of each pipeline for a question; building the index is left out.

    What a system finds remembered because another one did the same before it, the encoding of
    questions and the reranker's scores, counts as what the other one took.
    """
    costs = {}
    for name, result in results.items():
        if isinstance(result, RetrievalResult) and name not in CONTROL_SYSTEMS:
            config = result.config
            costs[name] = dict(result.costs["cpu_s"].drop("index", errors="ignore"))
            costs[name]["reranker"] = f"{config.reranker} on {config.cut}"
            costs[name]["encoder"] = config.uses_encoder
    costs = pd.DataFrame(costs).T
    for stage, shared in (("encode queries", "encoder"), ("rerank", "reranker")):
        if stage in costs:
            longest = costs.groupby(shared)[stage].transform("max")
            costs[stage] = longest.where(costs[stage].notna())
    total = costs.drop(columns=["reranker", "encoder"], errors="ignore").sum(axis=1)
    return (1000 * total / n_questions).to_dict()


# --- tables


def halves(data, first=None, second=None):
    """Two splits by name, or halves of a dataset that share no group of queries."""
    if first and second:
        return [load(data.key, name) for name in (first, second)]
    parts = halve(data.groups or {query: query for query in data.qrels}, seed=0)
    if not all(parts.values()):
        raise InputError(f"{data.name}: all questions are of one group, which cannot be divided")
    names = "first", "second"
    return [
        data.subset(queries, f"{data.split}_{name}_half")
        for name, queries in zip(names, parts.values(), strict=True)
    ]


def published_figures(key, index, *, n_resamples=10_000, seed=0):
    """Figures that others published for a data set, and ours under their settings."""
    tables = [pd.DataFrame(columns=PUBLISHED_COLUMNS)]
    for figure in read_yaml(PUBLISHED_FIGURES).get(key, []):
        systems = {"ours": HybridRetriever(index, **figure["settings"])}
        study = run_ablation(load(key, figure["split"]), systems, list(figure["values"]))
        ours = pd.concat(
            estimates(frame, study.clusters, n_resamples=n_resamples, seed=seed)
            for frame in study.scores.values()
        )
        ours = ours.rename(columns={"value": "ours", "low": "ours low", "high": "ours high"})
        ours = ours.assign(
            **{name: figure[name] for name in ("source", "system", "split")},
            measure=list(figure["values"]),
            published=list(figure["values"].values()),
            kind="reproduced" if figure.get("reproduces", True) else "reference",
        )
        tables.append(ours.assign(difference=ours["ours"] - ours["published"]))
    table = pd.concat(tables, ignore_index=True)[PUBLISHED_COLUMNS]
    return table.astype({"ours low": float, "ours high": float})


def data_table(dataset):
    rows = dict(dataset.counts)
    of_query = "all documents" if dataset.candidates is None else "judged documents only"
    rows["ranked for each query"] = of_query
    if dataset.missing:
        rows["judged but missing"] = dataset.missing
    if dataset.groups is not None:
        groups = dataset.queries["query_id"].map(dataset.groups)
        rows["groups of dependent queries"] = groups.nunique()
    if dataset.card is not None:
        licence = dataset.card.licence
        use = "non-commercial only" if licence.non_commercial else "permissive"
        rows["licence"] = f"{licence.name} ({use})"
    rows["fingerprint"] = dataset.fingerprint[:16]
    return pd.DataFrame(rows.items(), columns=["item", "value"])


def kept_by_stage(study, system):
    """Share of each question's relevant documents that each stage of a system keeps.

    A question without a relevant document has no row.
    """
    result = study.results[system]
    cuts = {"Any list": ("fused", None), "Returned": ("final", EVALUATION_DEPTH)}
    if isinstance(result, RetrievalResult):
        config = result.config
        lists = {SYSTEM_NAMES[name]: (name, config.pool) for name in config.lists}
        cuts = lists | cuts | {f"First {config.top_k}": ("final", config.top_k)}
    queries = study.dataset.queries["query_id"].tolist()
    relevant = relevant_documents(study.dataset)
    shares = pd.DataFrame(index=list(relevant), columns=list(cuts), dtype=float)
    for label, (stage, depth) in cuts.items():
        run = result.run(queries, stage)
        for query, wanted in relevant.items():
            kept = wanted.intersection(list(run[query])[:depth])
            shares.loc[query, label] = len(kept) / len(wanted)
    return shares


def lost_documents(study, system, depth=10):
    """Questions of which a system loses a relevant document, by where it loses it."""
    returned = study.runs()[system]
    listed = study.runs("fused")[system]
    lost = {"lost: in no list": [], "lost: by the last cut": []}
    for query, relevant in relevant_documents(study.dataset).items():
        if relevant - listed[query].keys():
            lost["lost: in no list"].append(query)
        if relevant & listed[query].keys() - set(list(returned[query])[:depth]):
            lost["lost: by the last cut"].append(query)
    return {tag: ids for tag, ids in lost.items() if ids}


def relevant_documents(dataset):
    relevant = {}
    for query in dataset.queries["query_id"]:
        grades = dataset.qrels.get(query, {})
        relevant[query] = {document for document, grade in grades.items() if grade > 0}
    return {query: documents for query, documents in relevant.items() if documents}


def ingest(folder, dataset, vectors, provider):
    documents = dataset.documents[dataset.documents["text"].str.strip() != ""]
    rows = [
        (name, 0, text) for name, text in zip(documents["doc_id"], documents["text"], strict=True)
    ]
    loader = dataset.card.loader if dataset.card else "beir"
    about = {"provider": provider, "input_root": dataset.name, "preprocessing": {"loader": loader}}
    vectors = np.asarray(vectors)[documents.index]
    return write_manifest(folder, dataset.key, "refs", rows, vectors=vectors, **about)
