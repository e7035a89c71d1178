"""What long queries ask of the pipeline: their words, scope of the dense list, reranker.

``python tests/validation/retrieval_queries.py ROWS`` keeps the scores of each query under ROWS
(collections that are there already are not run again) and writes four tables of the methods page:
what BM25 reads of long queries, what the dense list compares, what late interaction reads, and its time.
Collections that this machine lacks are named and left out.
"""

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import pandas as pd
from retrieval_default import COLLECTIONS, halves, judgments, statutes, write_table

from casebook.data.sources import Absent
from casebook.frames import contrasts
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.latency import time_new_questions
from casebook.retrieval.pipeline import HybridRetriever
from casebook.retrieval.settings import PipelineConfig

MEASURE = "nDCG@10"
LIMITS = (40, 80, 120, 160, 240, 320, 480)
WORDS = {"all words": {}}
WORDS |= {f"{limit} words": {"query_words": limit} for limit in LIMITS}
ALONE = {
    "mmr": False,
    "reranker": None,
    "chunking": False,
    "query_words": None,
    "query_words_from": 0,
}
BM25 = {
    f"{name}, {words}": {"lists": ("bm25",), "bm25_preset": preset, **ALONE, **settings}
    for name, preset in (("bm25", "default"), ("bm25_stemmed", "leaderboard"))
    for words, settings in WORDS.items()
}
# What the full pipeline did before anything here was chosen.
AS_BEFORE = {"query_words": None, "rerank_tokens": None}
AS_BEFORE |= {"passages_from": 0, "rerank_words": None}
PARTS = ["bm25", "bm25_stemmed", "bm25_chunked", "dense", "rrf", "rrf_chunked", "reranker_only"]
FULL = {
    "full": AS_BEFORE,
    "dense passage": {"mode": "dense_chunked"},
    "dense document": {"mode": "dense"},
    "first stage": {**AS_BEFORE, "reranker": None},
    "full, 64 tokens": {**AS_BEFORE, "rerank_tokens": 64},
    "full, 128 tokens": {**AS_BEFORE, "rerank_tokens": 128},
    **{name: {"mode": name} for name in PARTS},
}


def licence_halves():
    data = halves("licence_notices")
    queries = data.queries[data.queries["text"].str.split().str.len() > 300]
    return data.subset(queries["query_id"].sample(300, random_state=3), "long")


# Family and collection of long queries, for BM25.
LONG = {
    "contract_halves": ("contracts", lambda: halves("consumer_contracts_qa")),
    "licence_halves": ("licences", licence_halves),
    **{
        f"{act}_{count}": ("statutes", lambda count=count, act=act: statutes(count, act))
        for act in ("ipc", "crpc", "cpc", "iea")
        for count in (400, 800, 2000)
    },
    "judgments_400": ("judgments", lambda: judgments(400)),
    "judgments_1500": ("judgments", lambda: judgments(1500)),
    "judgments_4000": ("judgments", lambda: judgments(4000)),
    "fire2017_irled": ("judgments", COLLECTIONS["fire2017_irled"][1]),
}
# Family, collection and settings, for the stages that read vectors.
READ_BY_RERANKER = {
    "all tokens": {"rerank_tokens": None},
    "128 tokens": {"rerank_tokens": 128},
    "64 tokens": {"rerank_tokens": 64},
}
NAMES = ["smoke", "consumer_contracts_qa", "pdpabench test", "insurance", "contract_halves"]
NAMES += ["statutes_60", "statutes_200", "insurance_halves", "joined_questions", "judgments_400"]
NAMES += ["privacy_qa", "pdpabench train", "statute_answers"]
SEMANTIC = {name: COLLECTIONS[name] for name in NAMES}
SEMANTIC |= {
    f"{act}_{count}": ("statutes", lambda count=count, act=act: statutes(count, act), {})
    for act, count in (("crpc", 60), ("crpc", 400), ("cpc", 60), ("iea", 60), ("iea", 400))
}


def scores(data, systems):
    index = CorpusIndex(data.documents)
    retrievers = {}
    for name, settings in systems.items():
        retrievers[name] = HybridRetriever(index, **{"mode": "full", **settings})
    study = run_ablation(data, retrievers, [MEASURE])
    frame = study.scores[MEASURE]
    groups = study.clusters or list(frame.index)
    words = index.passages().bm25("default").count_words(data.queries["text"])
    counts = pd.Series(words, data.queries["query_id"])
    times = {}
    for name, result in study.results.items():
        times[name] = result.costs.drop("index").sum()
    frame = frame.assign(group=groups, words=counts.reindex(frame.index))
    return frame, pd.Series(times) * 1000 / len(data.queries)


def rows_of(folder, kind, name, make, systems):
    """Scores and times of one collection, kept or computed now; None where it is absent."""
    path = folder / f"{kind}-{name.replace(' ', '_')}.csv"
    if not path.exists():
        start = time.time()
        try:
            frame, times = scores(make(), systems)
        except (Absent, KeyError, FileNotFoundError) as error:
            print(f"{name} is not on this machine: {error}")
            return None
        times.to_csv(path.with_suffix(".times"), header=False)
        frame.to_csv(path)
        print(f"{kind} {name}: {time.time() - start:.0f} s", flush=True)
    times = pd.read_csv(path.with_suffix(".times"), index_col=0, header=None)[1]
    return pd.read_csv(path, index_col=0), times


def change(frame, system, against):
    columns = frame[[system, against]]
    if (columns[system] == columns[against]).all():
        return "no question differs"
    row = contrasts(columns, [(system, against)], frame["group"]).iloc[0]
    if np.isnan(row["low"]):
        return f"{row['difference']:+.3f}"
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"


def document_words(names):
    """Mean number of words that BM25 indexes of the documents of each collection."""
    indexes = {name: CorpusIndex(LONG[name][1]().documents) for name in names}
    means = {name: index.passages().bm25("default").mean_words for name, index in indexes.items()}
    return pd.Series(means).round().astype(int)


def table(studies, columns):
    """Give a row for each collection; a column is a function of its scores and times."""
    return pd.DataFrame(
        {"collection": name, "questions": len(frame)}
        | {title: cell(frame, times) for title, cell in columns.items()}
        for name, (frame, times) in studies.items()
    )


def mean(system):
    return lambda frame, _: frame[system].mean()


def against(system, other):
    return lambda frame, _: change(frame, system, other)


def milliseconds(system):
    return lambda _, times: f"{times[system]:.1f}"


def best_part(frame):
    parts = [part for part in (*PARTS, "dense passage", "first stage") if part in frame]
    return frame[parts].mean().idxmax()


# What BM25 reads of long queries; a column with the words of documents stands before them.
WORD_COLUMNS = {
    "different words of a question": lambda frame, _: int(frame["words"].median()),
    "all words": mean("bm25, all words"),
    **{
        words: against(f"bm25, {words}", "bm25, all words")
        for words in ("80 words", "160 words", "320 words")
    },
    "stemmed, 80 words": against("bm25_stemmed, 80 words", "bm25_stemmed, all words"),
    **{f"ms, {words}": milliseconds(f"bm25, {words}") for words in ("all words", "80 words")},
}
# What late interaction reads of a query, and the best part of the pipeline.
RERANK_COLUMNS = {
    "full": mean("full"),
    "64 tokens": against("full, 64 tokens", "full"),
    "128 tokens": against("full, 128 tokens", "full"),
    "best part": lambda frame, _: f"{best_part(frame)} {frame[best_part(frame)].mean():.3f}",
    "128 tokens minus best part": lambda frame, _: change(
        frame, "full, 128 tokens", best_part(frame)
    ),
}


def choose_rule(studies, document_words, tolerance=0.005):
    """Choose limit and least length of documents without each family: the largest mean gain.

    Rules that cost a collection more than `tolerance` are left out.
    """
    rules = {}
    for limit, least in itertools.product(LIMITS, (0, 64, 128, 256, 512, 1024)):
        changes = {}
        for name, (frame, _) in studies.items():
            gain = frame[f"bm25, {limit} words"].mean() - frame["bm25, all words"].mean()
            changes[name] = gain if document_words[name] >= least else 0.0
        rules[limit, least] = changes
    rules = pd.DataFrame(rules).T
    families = pd.Series({name: LONG[name][0] for name in studies})
    for left_out in ["none", *families.unique()]:
        kept = families[families != left_out]
        safe = rules[kept.index][rules[kept.index].min(axis=1) >= -tolerance]
        gains = safe.T.groupby(kept).mean().mean()
        best = gains[gains >= gains.max() - 1e-9].index.tolist()
        print(f"without {left_out}: limit, least words of documents {best}")
        of_family = families.index[families == left_out]
        print(rules.loc[best, of_family].round(3).to_string())
    print(rules.round(3).to_string())


def latency_table(times):
    """Mean time of each part by length of the question, and the total of 19 questions in 20."""
    bands = times.groupby("band", sort=False)
    table = bands[["encoding", "search", "reranker", "total"]].mean()
    table.insert(0, "questions", bands.size())
    table["19 in 20 below"] = bands["total"].quantile(0.95)
    return table.reset_index()


def latency(folder):
    path = folder / "latency.csv"
    if not path.exists():
        tables = []
        for name in ("insurance", "contract_halves"):
            data = COLLECTIONS[name][1]()
            index = CorpusIndex(data.documents)
            text = " ".join(data.queries["text"]).split()
            for system, settings in READ_BY_RERANKER.items():
                index.passages(PipelineConfig(**settings).cut).reranker(
                    "maxsim", settings["rerank_tokens"]
                )
                times = time_new_questions(index, questions_of(text), per_band=12, **settings)
                found = latency_table(times)
                found.insert(0, "passages", len(index.passages(PipelineConfig().cut)))
                found.insert(0, "system", system)
                found.insert(0, "collection", name)
                tables.append(found)
        pd.concat(tables).to_csv(path, index=False, float_format="%.1f")
    return pd.read_csv(path)


def questions_of(text, counts=(8, 30, 120, 400), per_count=12):
    """Cut a text into questions of so many words; its words come again where it ends."""
    questions = []
    for count in counts:
        for number in range(per_count):
            start = number * count
            words = [text[(start + step) % len(text)] for step in range(count)]
            questions.append(" ".join(words))
    return questions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, help="folder of the scores of each query")
    rows = parser.parse_args().rows
    rows.mkdir(parents=True, exist_ok=True)
    words = {name: rows_of(rows, "words", name, make, BM25) for name, (_, make) in LONG.items()}
    semantic = {}
    for name, (_, make, settings) in SEMANTIC.items():
        systems = {system: {**row, **settings} for system, row in FULL.items()}
        semantic[name] = rows_of(rows, "semantic", name, make, systems)
    words = {name: study for name, study in words.items() if study}
    semantic = {name: study for name, study in semantic.items() if study}
    lengths = document_words(words)
    choose_rule(words, lengths)
    read = table(words, WORD_COLUMNS)
    read.insert(2, "words of a document", read["collection"].map(lengths))
    tables = {
        "retrieval_query_words": read,
        "retrieval_rerank_tokens": table(semantic, RERANK_COLUMNS),
        "retrieval_latency": latency(rows),
    }
    for name, one in tables.items():
        print(one.to_string())
        write_table(name, one)


if __name__ == "__main__":
    main()
