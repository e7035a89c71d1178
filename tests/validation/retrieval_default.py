"""The retrieval default against its own parts, chosen with one family left out.

``python tests/validation/retrieval_default.py ROWS`` keeps the scores of each query
under ROWS (collections that are there already are not run again), prints what the
choice would be without each family of collections, and writes the two tables of the
methods page. Collections that this machine lacks are named and left out.
"""

import itertools
import json
import os
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.data.sources import Absent
from casebook.data.splits import RetrievalDataset
from casebook.frames import contrasts
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex
from casebook.retrieval.pipeline import HybridRetriever

METHODS = Path(__file__).parents[2] / "book" / "methods"
MEASURE = "nDCG@10"
FIXED = [
    *("bm25", "bm25_stemmed", "bm25_chunked", "dense", "dense_chunked"),
    *("rrf", "rrf_chunked", "reranker_only", "documented"),
]
PARTS = [*FIXED, "with_mmr", "fused", "fused_mmr", "no_chunking"]
NAMES = ["full", *PARTS]
WHOLE = {"chunking": False}  # as in notebooks/experiments.yml
SHORT = {"max_passages": 4}  # minutes instead of an hour
NEVER = 1_000_000  # words of no document
# The least work first, which wins among equals.
CANDIDATES = {
    f"passages from {least}, reranked to {most}": {"passages_from": least, "rerank_words": most}
    for least, most in itertools.product((NEVER, 200, 130, 0), (80, 100, 150, None))
}
CANDIDATES["documented"] = {"mode": "documented"}
DEFAULT = "passages from 200, reranked to 100"


def collection(name, documents, queries, relevant):
    """A data set of texts; ``relevant`` are the rows of each query's documents."""
    found = [row for row in range(len(queries)) if relevant[row]]
    ids = [f"q{n}" for n in found]
    return RetrievalDataset(
        key=name,
        split="all",
        documents=pd.DataFrame({"text": documents}).assign(
            doc_id=[f"d{n}" for n in range(len(documents))]
        ),
        queries=pd.DataFrame({"query_id": ids, "text": [queries[n] for n in found]}),
        qrels={f"q{n}": {f"d{row}": 1 for row in relevant[n]} for n in found},
    )


def words(text, count, start=0):
    return " ".join(text.split()[start : start + count])


def judgments(count):
    """Words of 40 citing judgments, after the header, among 300 precedents."""
    data, draw = load("fire2017_irled"), random.Random(5)
    texts = dict(zip(data.documents["doc_id"], data.documents["text"], strict=True))
    citing = data.queries.sample(40, random_state=5)
    cited = {d for q in citing["query_id"] for d in data.qrels[q] if texts[d].strip()}
    others = [d for d, text in texts.items() if text.strip() and d not in cited]
    kept = sorted(cited | set(draw.sample(others, 300 - len(cited))))
    rows = {d: row for row, d in enumerate(kept)}
    return collection(
        f"judgments_{count}",
        [texts[d] for d in kept],
        [words(t, count, min(150, len(t.split()) // 10)) for t in citing["text"]],
        [[rows[d] for d in data.qrels[q] if d in rows] for q in citing["query_id"]],
    )


CITED = (
    r"(?i)\b(?:sections?|ss?\.|u/s\.?)\s*"
    r"(\d+[A-Z]?(?:\s*(?:,|/|and|read with|r/w)\s*\d+[A-Z]?)*)\s*(?:of\s+(?:the\s+)?)?"
    r"(?:I\.?P\.?C|Indian\s+Penal\s+Code|Penal\s+Code)"
)
NUMBER = re.compile(r"\d+[A-Z]?")


def statutes(count):
    """Words of 120 judgments round a cited section, numbers removed: which section?"""
    path = Path(os.environ["CASEBOOK_DATA_MIRROR"], "indian_acts", "ipc.json")
    sections = pd.DataFrame(json.loads(path.read_text("utf-8")))
    rows = {str(number): row for row, number in enumerate(sections["Section"])}
    citation = re.compile(CITED)
    queries, relevant = [], []
    for text in load("fire2017_irled").documents["text"].sample(frac=1, random_state=7):
        cited = [n for m in citation.finditer(text) for n in NUMBER.findall(m.group(1))]
        known = {rows[number] for number in cited if number in rows}
        if not 1 <= len(known) <= 8:
            continue
        before = NUMBER.sub("", text[: citation.search(text).start()]).split()
        start = max(0, len(before) - count // 3)
        query = words(NUMBER.sub("", text), count, start)
        if len(query.split()) >= 0.8 * count:
            queries.append(query)
            relevant.append(known)
        if len(queries) == 120:
            break
    texts = sections["section_title"] + ". " + sections["section_desc"]
    return collection(f"statutes_{count}", texts.tolist(), queries, relevant)


def claims(key, asked, held):
    """Claims as queries, the evidence of more claims as documents."""
    data = load(key, kind="claims")
    chosen = data.claims.sample(held, random_state=3)
    link = re.compile(r"\[\[[^|\]]*\|([^\]]*)\]\]")
    evidence = data.evidence[data.evidence["claim_id"].isin(chosen["claim_id"])]
    texts = [
        link.sub(r"\1", f"{source}: {text}")
        for source, text in zip(evidence["source"], evidence["text"], strict=True)
    ]
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    says = evidence["label"].fillna("SUPPORTED").isin(["SUPPORTED", "NOT_SUPPORTED"])
    relevant = {}
    for claim, text, counts in zip(evidence["claim_id"], texts, says, strict=True):
        if counts:
            relevant.setdefault(claim, set()).add(rows[text])
    asked = chosen.head(asked)
    found = [relevant.get(claim, set()) for claim in asked["claim_id"]]
    return collection(key, list(rows), asked["claim"].tolist(), found)


def halves(key):
    texts = load(key).documents["text"].tolist()
    halves = [(len(text.split()) // 2, text) for text in texts]
    return collection(
        f"{key} halves",
        [words(text, len(text.split()), half) for half, text in halves],
        [words(text, half) for half, text in halves],
        [[row] if half >= 30 else [] for row, (half, _) in enumerate(halves)],
    )


def joined_questions():
    data = load("consumer_contracts_qa")
    rows = {d: row for row, d in enumerate(data.documents["doc_id"])}
    asked = {}
    for query, text in zip(data.queries["query_id"], data.queries["text"], strict=True):
        asked.setdefault(rows[next(iter(data.qrels[query]))], []).append(text)
    queries = [" ".join(texts) for texts in asked.values()]
    texts = data.documents["text"].tolist()
    return collection("joined_questions", texts, queries, [[row] for row in asked])


def statute_answers():
    """Questions on the act with two other wordings and their answer."""
    data = load("pdpabench", "train")
    queries = data.queries.head(200)
    citation = re.compile(r"PDPA s\.[\w()]+")
    texts = [
        " ".join([row.text, *row.variants, citation.sub("the Act", row.gold_answer)])
        for row in queries.itertuples()
    ]
    kept = data.subset(queries["query_id"], "answers")
    return replace(kept, queries=kept.queries.assign(text=texts), groups=None)


# Family, collection, settings. A family is left out as a whole.
COLLECTIONS = {
    "smoke": ("smoke", lambda: load("smoke"), {}),
    "smoke_halves": ("smoke", lambda: halves("smoke"), {}),
    "insurance": ("insurance", lambda: load("insurance"), {}),
    "insurance_halves": ("insurance", lambda: halves("insurance"), {}),
    "consumer_contracts_qa": ("contracts", lambda: load("consumer_contracts_qa"), {}),
    "joined_questions": ("contracts", joined_questions, {}),
    "contract_halves": ("contracts", lambda: halves("consumer_contracts_qa"), {}),
    "privacy_qa": ("privacy", lambda: load("privacy_qa"), {}),
    "pdpabench test": ("pdpabench", lambda: load("pdpabench", "test"), {}),
    "pdpabench train": ("pdpabench", lambda: load("pdpabench", "train"), {}),
    "statute_answers": ("pdpabench", statute_answers, {}),
    "statutes_60": ("judgments", lambda: statutes(60), {}),
    "statutes_200": ("judgments", lambda: statutes(200), {}),
    "feverous": ("claims", lambda: claims("feverous_s", 300, 500), {}),
    "climate": ("claims", lambda: claims("climate_fever_claims", 300, 700), {}),
    "licence_notices": ("licences", lambda: load("./licence_notices"), WHOLE),  # data/make
    "fire2017_irled": ("judgments", lambda: load("fire2017_irled"), WHOLE),
    "judgments_100": ("judgments", lambda: judgments(100), SHORT),
    "judgments_400": ("judgments", lambda: judgments(400), SHORT),
}


def scores(data, settings):
    index, systems = (
        CorpusIndex(data.documents),
        {n: {"mode": n, **settings} for n in NAMES},
    )
    if settings == WHOLE:  # what reads chunks would take hours, or is there already
        for name in ("dense_chunked", "rrf_chunked"):
            del systems[name]
        systems["bm25_chunked"] = {"mode": "bm25_chunked", "chunking": True}
    systems |= {name: {**own, **settings} for name, own in CANDIDATES.items()}
    if data.key == "fire2017_irled":  # whatever reads would read for hours
        words = {"full", "bm25", "bm25_stemmed", *CANDIDATES} - {"documented"}
        systems = {name: own for name, own in systems.items() if name in words}
    retrievers = {name: HybridRetriever(index, **own) for name, own in systems.items()}
    study = run_ablation(data, retrievers, [MEASURE])
    frame = study.scores[MEASURE]
    return frame.assign(group=study.clusters or list(frame.index))[["group", *frame]]


def shortfall(frame, candidate):
    """How many standard errors a candidate lies below the part it loses to most."""
    if candidate not in frame:
        return np.inf
    parts = [part for part in FIXED if part in frame]
    gaps = frame[parts].sub(frame[candidate], axis=0).groupby(frame["group"]).sum()
    errors = np.sqrt((gaps**2).sum())
    return (gaps.sum() / errors.where(errors > 0, np.inf)).max()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    frames = {}
    for name, (_, make, settings) in COLLECTIONS.items():
        path = folder / f"{name.replace(' ', '_')}.csv"
        if not path.exists():
            print(name, flush=True)
            try:
                scores(make(), settings).to_csv(path)
            except (Absent, KeyError, FileNotFoundError) as error:
                print(f"{name} is not on this machine: {error}")
                continue
        frames[name] = pd.read_csv(path, index_col=0)
    for name, table in report(frames).items():
        path = METHODS / f"{name}.csv"
        table.to_csv(path, index=False, float_format="%.3f", lineterminator="\n")


def report(frames):
    shortfalls = [[shortfall(frame, key) for frame in frames.values()] for key in CANDIDATES]
    falls = pd.DataFrame(shortfalls, list(CANDIDATES), list(frames))
    print(falls.round(2).to_string())
    print("with all:", falls.max(axis=1).idxmin())
    rows = {name: frame[frame.columns.intersection(NAMES)].mean() for name, frame in frames.items()}
    rows = pd.DataFrame(rows, index=[*PARTS, "full"]).T.rename_axis("collection").reset_index()
    lines = []
    for name, frame in frames.items():
        parts = [part for part in PARTS if part in frame]
        tested = frame[[*parts, "full"]]
        if not np.allclose(frame["full"], frame[DEFAULT]):
            raise SystemExit(f"{name}: the default is not {DEFAULT}")
        best = frame[parts].mean().idxmax()
        each = contrasts(tested, [("full", best)], frame["group"]).iloc[0]
        found = contrasts(tested, [("full", part) for part in parts], frame["group"])
        below = found.loc[(found["p"] <= 0.05) & (found["difference"] < 0), "against"]
        others = [other for other in frames if COLLECTIONS[other][0] != COLLECTIONS[name][0]]
        held = falls[others].max(axis=1).idxmin()
        bounds = "" if np.isnan(each.low) else f" [{each.low:+.3f}, {each.high:+.3f}]"
        without = frame[held].mean() if held in frame else np.nan
        lines.append(
            {
                "collection": name,
                "queries": len(frame),
                "best part": f"{best} {frame[best].mean():.3f}",
                "full": f"{frame['full'].mean():.3f}",
                "difference": f"{each.difference + 0.0:+.3f}{bounds}",
                "p": f"{each.p:.3f}",
                "above full, p < .05": " ".join(below) or "none",
                "chosen without it": f"{held}: {without:.3f}",
            }
        )
    return {"retrieval_default": pd.DataFrame(lines), "retrieval_parts": rows}


if __name__ == "__main__":
    main()
