"""The staged generator: one part changes at a time, and judgements can be checked."""

import itertools
import json
import re
import time
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casebook.datasets.drift import MAX_QUERIES_PER_POLICY, SIZES, drift_stages, write_drift
from casebook.datasets.drift_facts import draw_policies
from casebook.datasets.drift_text import VARIANTS, render_query
from casebook.datasets.drift_words import CONDITIONS, REGIONS, TOPICS
from casebook.datasets.insurance import read_mini_insurance
from casebook.errors import InputError
from casebook.files import sha256_file
from casebook.measures.ranking import evaluate

EXCLUSION = re.compile(r"never paid|do not pay|Excluded in|No indemnity")

sizes = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, min(100, 16 * n))))
seeds = st.integers(0, 10**6)


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def texts(dataset):
    return dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))


@pytest.fixture(scope="module")
def stages():
    return drift_stages()


@given(sizes, seeds)
@settings(max_examples=30, deadline=None)
def test_sizes_ids_and_texts(size, seed):
    n, asked = size
    for number, stage in enumerate(drift_stages(n, asked, seed)):
        extra = max(1, n // 4) if number else 0
        assert len(stage.documents) == n + extra
        assert len(stage.queries) == asked
        assert stage.documents["text"].is_unique
        assert stage.queries["text"].is_unique
        assert all(2 in judged.values() for judged in stage.qrels.values())


@given(sizes, seeds)
@settings(max_examples=15, deadline=None)
def test_only_the_intended_part_changes(size, seed):
    base, corpus, query, again = drift_stages(*size, seed, stages=4)
    assert texts(base).items() <= texts(corpus).items()
    added = set(texts(corpus)) - set(texts(base))
    assert all("-confuser-" in name for name in added)
    assert corpus.queries.equals(base.queries)
    for later in (query, again):
        assert texts(later) == texts(corpus)
        kept = later.queries.drop(columns="text")
        assert kept.equals(base.queries.drop(columns="text"))
        assert (later.queries["text"] != base.queries["text"]).all()
    for stage in (corpus, query, again):
        assert stage.qrels == base.qrels
        assert stage.groups == base.groups


@given(sizes, seeds)
@settings(max_examples=15, deadline=None)
def test_each_purpose_has_a_stream_of_its_own(size, seed):
    n, asked = size
    whole = drift_stages(n, asked, seed, stages=3)
    fewer = drift_stages(n, max(1, asked // 2), seed, stages=3)
    for left, right in zip(whole, fewer, strict=True):
        assert texts(left) == texts(right)
        assert left.queries.head(len(right.queries)).equals(right.queries)
    for left, right in zip(whole, drift_stages(n, asked, seed, stages=2), strict=False):
        assert left.fingerprint == right.fingerprint


@given(sizes, seeds)
@settings(max_examples=15, deadline=None)
def test_same_seed_same_content_and_another_seed_another(size, seed):
    first, second = (drift_stages(*size, seed) for _ in range(2))
    assert [s.fingerprint for s in first] == [s.fingerprint for s in second]
    other = drift_stages(*size, seed + 1)
    assert texts(other[0]) != texts(first[0])


@given(st.integers(1, 400), seeds)
@settings(max_examples=30, deadline=None)
def test_families_are_told_apart_by_what_is_asked(n, seed):
    policies = draw_policies(n, seed)
    assert len(policies) == n
    asked, members = {}, defaultdict(list)
    for facts in policies.values():
        key = (facts.topic, facts.peril, facts.condition, facts.limit)
        assert asked.setdefault(facts.family, key) == key
        members[facts.family].append(facts)
    assert len(set(asked.values())) == len(asked)
    for family in members.values():
        assert len({facts.region for facts in family}) == len(family) <= 3
        assert len({facts.insurer for facts in family}) == len(family)


def test_every_way_to_ask_gives_another_text():
    facts = next(iter(draw_policies(1, 0).values()))
    ways = itertools.product(range(VARIANTS), (True, False))
    asked = {render_query(facts, variant, place)[0] for variant, place in ways}
    assert len(asked) == 2 * VARIANTS == 3 * MAX_QUERIES_PER_POLICY


def grade_by_reading(query, text):
    """Grade from the two texts alone: which facts of the question the policy holds."""
    amount = re.search(r"(?<=EUR )[\d,]+\d|[\d,]+\d(?= euros)", query).group()
    topic, _, perils = next(t for t in TOPICS.values() if t[0] in query or t[1] in query)
    peril = next(p for p in perils if p[1] in query or p[2] in query)
    condition = next(c for c in CONDITIONS if c[1] in query or c[2] in query)
    facts = (topic, peril[0], condition[0])
    if not all(fact in text for fact in facts) or EXCLUSION.search(text):
        return 0
    if not re.search(rf"EUR {amount}(?!,?\d)", text):
        return 0
    place = next((name for name in REGIONS if f" in {name}" in query), None)
    return 2 if place is None or place in text else 1


def test_judgements_are_what_the_texts_say():
    for stage in drift_stages(120, 240, seed=5, stages=2):
        for query, asked in zip(stage.queries["query_id"], stage.queries["text"], strict=True):
            read = {name: grade_by_reading(asked, t) for name, t in texts(stage).items()}
            found = {name: grade for name, grade in read.items() if grade}
            assert found == stage.qrels[query]


def test_groups_leak_nothing_and_many_questions_have_several_answers(stages):
    base = stages[0]
    owners = defaultdict(set)
    for query, judged in base.qrels.items():
        for name in judged:
            owners[name].add(base.groups[query])
    assert all(len(groups) == 1 for groups in owners.values())
    several = [len(judged) > 1 for judged in base.qrels.values()]
    assert 0.3 < np.mean(several) < 0.8
    identifiers = re.compile(r"policy-|confuser|q\d{4}|family-")
    for stage in stages:
        for text in (*stage.documents["text"], *stage.queries["text"]):
            assert not identifiers.search(text)


def test_policies_are_no_near_duplicates(stages):
    bags = [set(re.findall(r"\w+", text.lower())) for text in texts(stages[1]).values()]
    shared = [len(a & b) / len(a | b) for a, b in itertools.combinations(bags, 2)]
    assert max(shared) < 0.8


def test_knowing_nothing_earns_little_and_confusers_cost_something(stages):
    rng = np.random.default_rng(0)
    ids = stages[0].documents["doc_id"].tolist()
    chance = {query: dict(zip(ids, rng.random(len(ids)).tolist(), strict=True)) for query in stages[0].qrels}
    assert evaluate(stages[0].qrels, chance, ["RR"]).mean["RR"] < 0.2
    overlap = []
    for stage in stages:
        bags = {d: set(re.findall(r"\w+", t.lower())) for d, t in texts(stage).items()}
        run = {
            query: {name: float(len(bag & set(re.findall(r"\w+", text.lower())))) for name, bag in bags.items()}
            for query, text in zip(stage.queries["query_id"], stage.queries["text"], strict=True)
        }
        overlap.append(evaluate(stage.qrels, run, ["RR"]).mean["RR"])
    assert 0.95 > overlap[0] > overlap[1] > 0.4


def test_written_stages_are_byte_equal_and_read_back(tmp_path, stages):
    first, second = tmp_path / "one" / "set", tmp_path / "two" / "set"
    manifest = write_drift(first)
    write_drift(second)
    assert contents(first) == contents(second)
    files = [contents(first / f"stage-{number:02d}") for number in range(3)]
    for name, data in files[0].items():
        if name != "stage.manifest.json":
            assert files[1][name] == data
        if name.startswith("policies/"):
            assert files[2][name] == files[1][name] == data
    assert files[2]["queries/queries.json"] != files[1]["queries/queries.json"]
    for number, stage in enumerate(stages):
        back = read_mini_insurance(first / f"stage-{number:02d}")
        assert back.key == stage.key
        assert back.fingerprint == stage.fingerprint
        assert back.groups == stage.groups
    assert json.loads((first / "dataset.manifest.json").read_text()) == manifest


def test_manifests_count_and_hash(tmp_path):
    manifest = write_drift(tmp_path / "set", 10, 12, seed=3, stages=4)
    assert (manifest["BasePolicies"], manifest["BaseQueries"]) == (10, 12)
    assert (manifest["Seed"], manifest["Stages"]) == (3, 4)
    assert manifest["ConfusersStage1"] == 2
    assert manifest["DatasetName"] == "set"
    for name, expected in manifest["Files"].items():
        assert sha256_file(tmp_path / "set" / name) == expected
        stage = json.loads((tmp_path / "set" / name).read_text())
        folder = (tmp_path / "set" / name).parent
        names = set(contents(folder)) - {"stage.manifest.json"}
        assert set(stage["Files"]) == names
        assert all(sha256_file(folder / n) == h for n, h in stage["Files"].items())
        number = stage["StageIndex"]
        assert stage["CorpusDriftD1"] == (number >= 1)
        assert stage["QueryDriftD2"] == (number >= 2)
        assert (stage["Policies"], stage["Queries"]) == (12 if number else 10, 12)


@pytest.mark.parametrize("arguments", [(0, 1), (1, 0), (1, 1, -1), (1, 1, 0, 0), (5, 81)])
def test_numbers_out_of_range_are_refused(arguments, tmp_path):
    with pytest.raises(InputError, match=r"^drift: "):
        write_drift(tmp_path / "set", *arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", SIZES)
def test_reported_sizes(size):
    stage = drift_stages(*size, stages=1)[0]
    assert (len(stage.documents), len(stage.queries)) == size
    assert stage.documents["text"].is_unique
    assert stage.queries["text"].is_unique


def test_the_most_questions_that_are_allowed_differ():
    stage = drift_stages(9, 9 * MAX_QUERIES_PER_POLICY, seed=2, stages=1)[0]
    assert stage.queries["text"].is_unique


def test_cost_is_linear():
    def seconds(factor):
        start = time.process_time()
        drift_stages(250 * factor, 500 * factor)
        return time.process_time() - start

    small = min(seconds(1) for _ in range(3))
    assert seconds(8) < 20 * small
