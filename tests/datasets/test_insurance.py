"""The insurance collection, and the folder layout it can be exchanged in."""

import itertools
import json
import re

import numpy as np
import pytest

from casebook import paths
from casebook.datasets import load
from casebook.datasets.corpus import RetrievalDataset
from casebook.datasets.insurance import ROOT_VARIABLES, dataset_root, read_mini_insurance, write_mini_insurance
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.measures.ranking import evaluate

BOM = "\ufeff".encode()
ROW = {"id": "q1", "text": "a fire?", "relevantDocId": "policy-fire"}


@pytest.fixture(scope="module")
def insurance():
    return load("insurance")


@pytest.fixture
def folder(tmp_path):
    """Give a sound folder of two policies and one query, with marks and CRLF."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "queries").mkdir()
    (tmp_path / "policies" / "policy-fire.txt").write_bytes(BOM + b"Fire.\r\nSmoke.")
    (tmp_path / "policies" / "Policy-Flood.txt").write_bytes(b"Flood.")
    (tmp_path / "queries" / "queries.json").write_bytes(BOM + json.dumps([ROW]).encode())
    return tmp_path


def rewrite(folder, rows):
    text = rows if isinstance(rows, str) else json.dumps(rows)
    (folder / "queries" / "queries.json").write_text(text)


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def test_sizes(insurance):
    lengths = insurance.documents["text"].str.split().str.len()
    assert len(insurance.documents) >= 64
    assert len(insurance.queries) >= 190
    assert lengths.between(120, 260).all()
    assert (insurance.documents["line"].value_counts() == 6).all()
    assert insurance.documents["line"].nunique() >= 8
    columns = ["title", "text", "line", "insurer", "year"]
    assert insurance.documents[columns].notna().all(axis=None)
    assert set(insurance.queries["wording"]) == {"plain", "professional"}


def test_texts_are_distinct(insurance):
    assert insurance.queries["text"].str.lower().is_unique
    assert insurance.documents["title"].is_unique
    bags = [words(text) for text in insurance.documents["text"]]
    shared = [len(a & b) / len(a | b) for a, b in itertools.combinations(bags, 2)]
    assert max(shared) < 0.3


def test_no_query_names_a_policy_or_quotes_one(insurance):
    texts = " ".join(insurance.documents["text"].str.lower())
    insurers = words(" ".join(insurance.documents["insurer"])) & {
        name.split()[0].lower() for name in insurance.documents["insurer"]
    }
    for query in insurance.queries["text"].str.lower():
        assert not words(query) & insurers
        tokens = query.split()
        spans = [" ".join(tokens[i : i + 7]) for i in range(len(tokens) - 6)]
        assert not [span for span in spans if span in texts]


def test_judgements_cover_the_line_and_are_graded(insurance):
    line = insurance.documents.set_index("doc_id")["line"]
    own = {name: set(line.index[line == name]) for name in line.unique()}
    asked = insurance.queries.set_index("query_id")["line"]
    for query, judged in insurance.qrels.items():
        assert own[asked[query]] <= set(judged)
        assert set(judged.values()) <= {0, 1, 2}
        assert 2 in judged.values()
        assert 0 in judged.values()
    relevant = [sum(g > 0 for g in judged.values()) for judged in insurance.qrels.values()]
    assert 0.25 < np.mean(np.array(relevant) > 1) < 0.6
    assert max(relevant) <= 5
    found = {d for row in insurance.qrels.values() for d, grade in row.items() if grade}
    assert found == set(line.index)


def test_groups_share_judgements_and_halves_share_no_group(insurance):
    seen = {}
    for query, group in insurance.groups.items():
        assert seen.setdefault(group, insurance.qrels[query]) == insurance.qrels[query]
    assert len(seen) == 157
    first, second = (set(load("insurance", s).groups.values()) for s in ("dev", "test"))
    assert not first & second
    assert first | second == set(seen)


def test_card_holds_the_hashes_of_the_shipped_files(insurance):
    for name, expected in insurance.card.files.items():
        assert sha256_file(paths.DATA / "insurance" / name) == expected.sha256


def test_rankings_are_far_from_chance_and_from_perfect(insurance):
    import bm25s

    index = bm25s.BM25()
    tokens = [
        bm25s.tokenize(frame["text"].tolist(), stopwords="en", show_progress=False)
        for frame in (insurance.documents, insurance.queries)
    ]
    index.index(tokens[0], show_progress=False)
    n = len(insurance.documents)
    rows, scores = index.retrieve(tokens[1], k=n, show_progress=False)
    ids = insurance.documents["doc_id"].to_numpy()
    queries = insurance.queries["query_id"]
    lexical = {
        q: dict(zip(ids[r].tolist(), s.tolist(), strict=True)) for q, r, s in zip(queries, rows, scores, strict=True)
    }
    drawn = np.random.default_rng(0).random((len(queries), n))
    chance = {q: dict(zip(ids, s.tolist(), strict=True)) for q, s in zip(queries, drawn, strict=True)}
    mean = {
        name: evaluate(insurance.qrels, run, ["nDCG@10", "RR"]).mean
        for name, run in (("lexical", lexical), ("chance", chance))
    }
    assert mean["chance"]["nDCG@10"] < 0.12
    assert 0.5 < mean["lexical"]["nDCG@10"] < 0.85
    assert 0.5 < mean["lexical"]["RR"] < 0.85


def test_export_reads_back(insurance, tmp_path):
    write_mini_insurance(insurance, tmp_path / "out")
    back = read_mini_insurance(tmp_path / "out")
    assert back.qrels == insurance.qrels
    assert back.groups == insurance.groups
    texts = insurance.documents.set_index("doc_id")["text"]
    assert back.documents.set_index("doc_id")["text"].to_dict() == texts.to_dict()
    assert back.documents["doc_id"].tolist() == sorted(texts.index)
    columns = ["query_id", "text", "line", "wording", "group"]
    assert back.queries[columns].equals(insurance.queries[columns])
    again = write_mini_insurance(back, tmp_path / "again")
    files = sorted(p.relative_to(again) for p in again.rglob("*.*"))
    for name in files:
        assert (tmp_path / "out" / name).read_bytes() == (again / name).read_bytes()


def test_marks_line_ends_and_case_are_normalised(folder):
    dataset = read_mini_insurance(folder, key="toy")
    assert dataset.documents["doc_id"].tolist() == ["Policy-Flood", "policy-fire"]
    assert dataset.documents["text"].tolist() == ["Flood.", "Fire.\nSmoke."]
    assert dataset.key == "toy"
    assert dataset.groups is None
    rewrite(folder, [ROW | {"relevantDocId": "POLICY-flood"}])
    assert read_mini_insurance(folder).qrels == {"q1": {"Policy-Flood": 1}}


def test_graded_judgements_and_groups(folder):
    graded = {"policy-fire": 2, "policy-flood": 0}
    rewrite(folder, [ROW | {"relevant": graded, "group": "g", "tags": ["a", "b"]}])
    dataset = read_mini_insurance(folder)
    assert dataset.qrels == {"q1": {"policy-fire": 2, "Policy-Flood": 0}}
    assert dataset.groups == {"q1": "g"}
    assert dataset.queries.columns.tolist() == ["query_id", "text", "group", "tags"]
    back = read_mini_insurance(write_mini_insurance(dataset, folder / "again"))
    assert back.fingerprint == dataset.fingerprint


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("[{", r"queries\.json: is not JSON"),
        ("{}", "must be a list of at least one query"),
        ([], "must be a list of at least one query"),
        ([3], "row 1: is not an object"),
        ([ROW, {"id": "q2", "text": "x"}], "row 2: field 'relevantDocId' must be text"),
        ([ROW | {"text": " "}], "row 1: field 'text' must be text, not ' '"),
        ([ROW, ROW | {"id": "Q1"}], "row 2: id 'Q1' stood already in row 1"),
        ([ROW | {"query_id": "x"}], "row 1: has a field 'query_id'"),
        ([ROW | {"relevantDocId": "theft"}], "row 1: names the policy 'theft', which"),
        ([ROW | {"relevant": []}], "row 1: field 'relevant' must be an object"),
        ([ROW | {"relevant": {"policy-fire": 0.5}}], "grade 0.5 of 'policy-fire'"),
        ([ROW | {"relevant": {"policy-fire": True}}], "grade True of 'policy-fire'"),
        ([ROW | {"relevant": {"policy-fire": 1, "POLICY-fire": 1}}], "'POLICY-fire' twice"),
        ([ROW | {"relevant": {"policy-fire": 0}}], "has not the best grade"),
        ([ROW | {"relevant": {"policy-flood": 1}}], "has not the best grade"),
        ([ROW | {"group": "g"}, ROW | {"id": "q2"}], "row 2: field 'group' must be"),
    ],
)
def test_defects_of_queries_are_named(folder, rows, message):
    rewrite(folder, rows)
    with pytest.raises(InputError, match=message):
        read_mini_insurance(folder)


def test_defects_of_files_are_named(folder):
    with pytest.raises(InputError, match="holds no policy"):
        read_mini_insurance(folder / "absent")
    (folder / "policies" / "POLICY-FIRE.txt").write_text("Again.")
    with pytest.raises(InputError, match=r"has, but for case, the name of \w"):
        read_mini_insurance(folder)
    (folder / "policies" / "POLICY-FIRE.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"POLICY-FIRE\.txt: is not UTF-8"):
        read_mini_insurance(folder)
    (folder / "policies" / "POLICY-FIRE.txt").write_text("\n")
    with pytest.raises(InputError, match=r"POLICY-FIRE\.txt: is empty"):
        read_mini_insurance(folder)
    (folder / "policies" / "POLICY-FIRE.txt").unlink()
    (folder / "queries" / "queries.json").unlink()
    with pytest.raises(InputError, match=r"queries\.json: cannot be read"):
        read_mini_insurance(folder)


def test_writer_refuses_what_the_layout_cannot_hold(folder, tmp_path):
    dataset = read_mini_insurance(folder)
    with pytest.raises(InputError, match="exists: name a new folder"):
        write_mini_insurance(dataset, folder)
    documents = dataset.documents.assign(doc_id=["../escape", "policy-fire"])
    changed = RetrievalDataset("x", "test", documents, dataset.queries, dataset.qrels)
    with pytest.raises(InputError, match="is not allowed"):
        write_mini_insurance(changed, tmp_path / "new")
    documents = dataset.documents.assign(doc_id=["Policy-Fire", "policy-fire"])
    changed = RetrievalDataset("x", "test", documents, dataset.queries, dataset.qrels)
    with pytest.raises(InputError, match="differ in case alone"):
        write_mini_insurance(changed, tmp_path / "new")
    none = {"q1": {"policy-fire": 0}}
    changed = RetrievalDataset("x", "test", dataset.documents, dataset.queries, none)
    with pytest.raises(InputError, match="'q1' has no relevant policy"):
        write_mini_insurance(changed, tmp_path / "new")
    queries = dataset.queries.assign(relevant="policy-fire")
    changed = RetrievalDataset("x", "test", dataset.documents, queries, dataset.qrels)
    with pytest.raises(InputError, match="have a column 'relevant'"):
        write_mini_insurance(changed, tmp_path / "new")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"policies", "queries"}


def test_root_is_looked_up_in_order(folder, monkeypatch):
    for name in ROOT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert dataset_root() == paths.ROOT / "samples" / "insurance"
    monkeypatch.setenv(ROOT_VARIABLES[1], "some/where")
    assert dataset_root() == paths.ROOT / "some" / "where"
    monkeypatch.setenv(ROOT_VARIABLES[0], " ")
    assert dataset_root() == paths.ROOT / "some" / "where"
    monkeypatch.setenv(ROOT_VARIABLES[0], str(folder))
    assert dataset_root() == folder
    assert read_mini_insurance().counts["documents"] == 2


@pytest.mark.data
def test_samples_of_the_layout(mirror):
    samples = mirror / "embeddingshift" / "samples" / "insurance"
    dataset = read_mini_insurance(samples)
    assert dataset.counts == {"documents": 3, "queries": 5, "judgements": 5}
    first = ["policy-fire-water", "policy-flood-storm", "policy-theft-claims"]
    assert dataset.documents["doc_id"].tolist() == first
    gold = [next(iter(judged)) for judged in dataset.qrels.values()]
    assert gold == [first[0], first[2], first[1], first[1], first[1]]
    assert not dataset.documents["text"].str.startswith("\ufeff").any()
