"""PDPABench: questions about Singapore's Personal Data Protection Act 2012."""

import pandas as pd

from casebook.datasets.corpus import RetrievalDataset
from casebook.readers import read_jsonl

CORPUS = "corpus/corpus_subsection_v1.jsonl"
QUESTIONS = "qa/pdpa_qa_500.jsonl"
TRIPLES = {
    "train": "splits/train_triples.jsonl",
    "dev": "splits/val_triples.jsonl",
    "test": "splits/test_triples.jsonl",
}


def pdpabench(card, files, split):
    """Convert the study's own files."""
    documents = _documents(files[CORPUS])
    questions, links = _questions(files[QUESTIONS])
    card.expect(chunks=len(documents), questions=len(questions))
    positives = _positives(files[TRIPLES[split.split("_")[0]]])
    queries = questions[questions["query_id"].isin(positives)].reset_index(drop=True)
    if split == "test_single":
        qrels = {query: {positives[query]: 1} for query in queries["query_id"]}
    else:
        qrels = {query: dict.fromkeys(links[query], 1) for query in queries["query_id"]}
    groups = None
    if split == "test_paraphrases":
        queries = _paraphrases(queries)
        groups = dict(zip(queries["query_id"], queries["question_id"], strict=True))
        qrels = {query: qrels[question] for query, question in groups.items()}
    return RetrievalDataset(card.key, split, documents, queries, qrels, card=card, groups=groups)


def _documents(path):
    fields = ("chunk_id", "text", "canonical_citation", "part", "section", "subsection")
    rows = [row for _, row in read_jsonl(path, dict.fromkeys(fields, str))]
    return pd.DataFrame(
        {
            "doc_id": [row["chunk_id"] for row in rows],
            "title": "",
            "text": [row["text"] for row in rows],
            "citation": [row["canonical_citation"] for row in rows],
            "part": [row["part"] for row in rows],
            "section": [row["section"] for row in rows],
            "subsection": [row["subsection"] for row in rows],
        }
    )


def _questions(path):
    """Give all questions as a frame, and the chunks that each one links."""
    fields = {"id": str, "question_user": str, "qa_type": str, "corpus_links": list}
    rows = [row for _, row in read_jsonl(path, fields)]
    questions = pd.DataFrame(
        {
            "query_id": [row["id"] for row in rows],
            "text": [row["question_user"] for row in rows],
            "qa_type": [row["qa_type"] for row in rows],
            "abstain": [row["abstain_allowed"] for row in rows],
            "variants": [row["question_variants"] for row in rows],
            "gold_answer": [row["gold_answer_extended"] for row in rows],
            "gold_answer_short": [row["gold_answer_short"] for row in rows],
            "citations": [row["canonical_sections"] for row in rows],
        }
    )
    links = {row["id"]: [link["chunk_id"] for link in row["corpus_links"]] for row in rows}
    return questions, links


def _positives(path):
    """Give the chunk that the study scored for each question of a split."""
    fields = dict.fromkeys(("qid", "pos_id"), str)
    positives = {}
    for _, row in read_jsonl(path, fields):
        positives.setdefault(row["qid"], row["pos_id"])
    return positives


def _paraphrases(queries):
    """Give one row per other wording, named ``<question>.<n>``."""
    rows = queries.rename(columns={"query_id": "question_id"}).to_dict("records")
    return pd.DataFrame(
        {"query_id": f"{row['question_id']}.{n}", **row, "text": wording}
        for row in rows
        for n, wording in enumerate(row["variants"], start=1)
    )
