"""Our own collections: sizes, judgements that hold, generators that write what is shipped, honest rankings."""

import itertools
import re
import runpy

import bm25s
import numpy as np
import pytest

from casebook import paths
from casebook.data import load
from casebook.data.cards import cards
from casebook.data.sets import drift_stages
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.measures.ranking import evaluate

DRIFT = runpy.run_path(str(paths.DATA / "make" / "drift.py"))
PLANTED = runpy.run_path(str(paths.DATA / "make" / "planted.py"))


@pytest.fixture(scope="module")
def insurance():
    return load("insurance")


@pytest.fixture(scope="module")
def smoke():
    return load("smoke")


def texts(dataset):
    return dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def nearest(documents):
    """Largest share of words that two documents have in common."""
    bags = [words(text) for text in documents]
    return max(len(a & b) / len(a | b) for a, b in itertools.combinations(bags, 2))


@pytest.mark.parametrize("name", ["smoke", "insurance", "planted"])
def test_cards_hold_the_hashes_of_the_shipped_files(name):
    card = cards()[name]
    for file, expected in card.files.items():
        assert sha256_file(paths.DATA / card.sources[0].shipped / file) == expected.sha256


@pytest.mark.parametrize(
    ("name", "documents", "queries", "groups", "per_part", "lengths"),
    [("smoke", 48, 34, 27, ("agreement", 6), (60, 180)), ("insurance", 66, 311, 157, ("line", 6), (120, 260))],
)
def test_sizes(name, documents, queries, groups, per_part, lengths):
    data = load(name)
    assert (len(data.documents), len(data.queries)) == (documents, queries)
    assert len(set(data.groups.values())) == groups
    assert data.documents["text"].str.split().str.len().between(*lengths).all()
    assert (data.documents[per_part[0]].value_counts() == per_part[1]).all()
    assert data.documents["text"].is_unique and data.queries["text"].str.lower().is_unique


@pytest.mark.parametrize("name", ["smoke", "insurance"])
def test_halves_share_no_group_and_wordings_share_their_judgements(name):
    whole, dev, test = load(name), load(name, "dev"), load(name, "test")
    assert not set(dev.groups.values()) & set(test.groups.values())
    assert dev.qrels | test.qrels == whole.qrels
    seen = {}
    for query, group in whole.groups.items():
        assert seen.setdefault(group, whole.qrels[query]) == whole.qrels[query]


def test_judgements_of_smoke_are_graded_with_near_misses(smoke):
    for judged in smoke.qrels.values():
        grades = list(judged.values())
        assert set(grades) <= {0, 1, 2}
        assert grades.count(2) in (1, 2) and grades.count(0) >= 2


def test_judgements_of_insurance_cover_the_line_and_are_graded(insurance):
    line = insurance.documents.set_index("doc_id")["line"]
    own = {name: set(line.index[line == name]) for name in line.unique()}
    asked = insurance.queries.set_index("query_id")["line"]
    for query, judged in insurance.qrels.items():
        assert own[asked[query]] <= set(judged)
        assert {0, 2} <= set(judged.values()) <= {0, 1, 2}
    relevant = [sum(g > 0 for g in judged.values()) for judged in insurance.qrels.values()]
    assert 0.25 < np.mean(np.array(relevant) > 1) < 0.6 and max(relevant) <= 5
    found = {d for row in insurance.qrels.values() for d, grade in row.items() if grade}
    assert found == set(line.index)


def test_no_query_of_insurance_names_a_policy_or_quotes_one(insurance):
    assert nearest(insurance.documents["text"]) < 0.3
    every = " ".join(insurance.documents["text"].str.lower())
    insurers = {name.split()[0].lower() for name in insurance.documents["insurer"]}
    for query in insurance.queries["text"].str.lower():
        assert not words(query) & insurers
        tokens = query.split()
        assert not [i for i in range(len(tokens) - 6) if " ".join(tokens[i : i + 7]) in every]


def lexical_run(dataset):
    index, n = bm25s.BM25(), len(dataset.documents)
    tokens = [
        bm25s.tokenize(frame["text"].tolist(), stopwords="en", show_progress=False)
        for frame in (dataset.documents, dataset.queries)
    ]
    index.index(tokens[0], show_progress=False)
    rows, scores = index.retrieve(tokens[1], k=n, show_progress=False)
    ids = dataset.documents["doc_id"].to_numpy()
    queries = dataset.queries["query_id"]
    return {q: dict(zip(ids[r], s.tolist(), strict=True)) for q, r, s in zip(queries, rows, scores, strict=True)}


@pytest.mark.parametrize(
    ("name", "measure", "low", "high"), [("smoke", "P@1", 0.4, 0.9), ("insurance", "RR", 0.5, 0.85)]
)
def test_lexical_rankings_are_far_from_chance_and_from_perfect(name, measure, low, high):
    data = load(name)
    assert low < evaluate(data.qrels, lexical_run(data), [measure]).mean[measure] < high


def test_planted_is_what_its_generator_writes():
    data = load("planted")
    documents, queries, qrels, truth = PLANTED["plant"]()
    assert data.fingerprint.startswith("8fa5b63bd64c95ea")
    assert data.documents["text"].tolist() == [f"{row.text}" for row in documents.itertuples()]
    assert data.queries["text"].tolist() == queries["text"].tolist() and data.qrels == qrels
    # The weights can be read off the scores.
    matches = truth.documents == truth.queries[0]
    weights = np.linalg.lstsq(matches.astype(float), truth.scores(0))[0]
    np.testing.assert_allclose(weights, np.array([8, 4, 2, 1, 0, 0, 0]) / 15, atol=1e-12)
    assert all(max(judged.values()) == 3 for judged in qrels.values())


def test_text_of_planted_cases_holds_the_facts():
    documents, queries, _, truth = PLANTED["plant"](300, 20, seed=3)
    sentences = [set(text.rstrip(".").split(". ")) for text in documents["text"]]
    asked = [set(text.rstrip(".").split(". ")) for text in queries["text"]]
    matches = (truth.queries[:, None, :4] == truth.documents[None, :, :4]).sum(axis=2)
    assert [[len(q & d) for d in sentences] for q in asked] == matches.tolist()
    assert not queries["text"].str.contains("clerk|heard|filed").any()


@pytest.fixture(scope="module")
def stages():
    return drift_stages(seed=1337)


def test_stages_are_what_their_generator_writes(stages):
    rows = list(DRIFT["records"](seed=1337))
    policies = {row["policy"]: row["text"] for row in rows if "policy" in row}
    asked = [row for row in rows if "question" in row]
    assert texts(stages[1]) == policies
    assert stages[2].queries["text"].tolist() == [row["rewritten"] for row in asked]
    assert stages[0].qrels == {row["question"]: row["relevant"] for row in asked}
    assert [stage.fingerprint[:12] for stage in stages] == ["f973a0eb65f5", "f983490bef05", "3c9b7856dce2"]


def test_one_part_changes_at_each_stage(stages):
    base, corpus, query = stages
    assert [len(stage.documents) for stage in stages] == [80, 100, 100]
    assert texts(base).items() <= texts(corpus).items()
    assert all("-confuser-" in name for name in set(texts(corpus)) - set(texts(base)))
    assert corpus.queries.equals(base.queries) and texts(query) == texts(corpus)
    assert query.queries.drop(columns="text").equals(base.queries.drop(columns="text"))
    assert (query.queries["text"] != base.queries["text"]).all()
    assert len({id(stage.qrels) for stage in stages}) == 1 and base.groups == query.groups


EXCLUSION = re.compile(r"never paid|do not pay|Excluded in|No indemnity")


def grade_by_reading(query, text):
    """Grade from the two texts alone: which facts of the question the policy holds."""
    amount = re.search(r"(?<=EUR )[\d,]+\d|[\d,]+\d(?= euros)", query).group()
    topic, _, perils = next(t for t in DRIFT["TOPICS"].values() if t[0] in query or t[1] in query)
    peril = next(p for p in perils if p[1] in query or p[2] in query)
    condition = next(c for c in DRIFT["CONDITIONS"] if c[1] in query or c[2] in query)
    if not all(fact in text for fact in (topic, peril[0], condition[0])) or EXCLUSION.search(text):
        return 0
    if not re.search(rf"EUR {amount}(?!,?\d)", text):
        return 0
    place = next((name for name in DRIFT["REGIONS"] if f" in {name}" in query), None)
    return 2 if place is None or place in text else 1


def test_judgements_of_the_stages_are_what_the_texts_say(stages):
    for stage in stages[:2]:
        for query, asked in zip(stage.queries["query_id"], stage.queries["text"], strict=True):
            read = {name: grade_by_reading(asked, t) for name, t in texts(stage).items()}
            assert {name: grade for name, grade in read.items() if grade} == stage.qrels[query]


def test_stages_leak_nothing_and_confusers_cost_something(stages):
    identifiers = re.compile(r"policy-|confuser|q\d{4}|family-")
    for stage in stages:
        assert not any(map(identifiers.search, (*stage.documents["text"], *stage.queries["text"])))
    assert nearest(stages[1].documents["text"]) < 0.8
    several = np.mean([len(judged) > 1 for judged in stages[0].qrels.values()])
    assert 0.3 < several < 0.8
    found = [evaluate(stage.qrels, lexical_run(stage), ["nDCG@10"]).mean["nDCG@10"] for stage in stages]
    assert found[0] > found[1]


def test_collections_that_are_not_shipped_say_which_are():
    with pytest.raises(InputError, match="seeds 1337, 1338, 1339, 1340, 1341"):
        drift_stages(seed=7)
    with pytest.raises(InputError, match="no collection of 12 policies"):
        drift_stages(12, 24)
