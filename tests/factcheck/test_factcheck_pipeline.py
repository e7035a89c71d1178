"""The pipeline end to end on the project's own claims, and how it fails."""

import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from casebook.factcheck.memo import Memo
from casebook.factcheck.model import INSUFFICIENT, NOT_SUPPORTED, SUPPORTED
from casebook.factcheck.outcomes import outcomes
from casebook.factcheck.stance_models import ModelStance

from casebook.errors import InputError
from casebook.factcheck.claims import read_claims, read_plain
from casebook.factcheck.pipeline import (
    DOCUMENTED_CONFIG,
    STAGES,
    EvidenceBase,
    FactChecker,
    PipelineConfig,
    fuse_queries,
)
from casebook.factcheck.stance import PlaceholderStance
from casebook.retrieval.fusion import reciprocal_rank_fusion
from casebook.retrieval.rankings import RankedLists


def test_own_claims_are_balanced_and_split_by_source(claims):
    counts = Counter((claim.split, claim.label) for claim in claims)
    assert len(claims) >= 120
    for split in ("train", "test"):
        assert counts[split, SUPPORTED] == counts[split, NOT_SUPPORTED]
    assert {claim.hops for claim in claims} == {0, 1, 2, 3}
    sources = {
        split: {atom.doc_id.rsplit("-", 1)[0] for claim in claims if claim.split == split for atom in claim.atoms}
        for split in ("train", "test")
    }
    assert not sources["train"] & sources["test"]


def test_gold_labels_follow_from_gold_atoms(claims):
    for claim in claims:
        labels = {atom.label for atom in claim.atoms}
        expected = NOT_SUPPORTED if NOT_SUPPORTED in labels else SUPPORTED
        assert claim.label == (expected if labels else INSUFFICIENT)


def test_held_out_claims_are_decided_far_better_than_by_the_majority(base, stance, claims):
    test = [claim for claim in claims if claim.split == "test"]
    results = FactChecker(base, stance).check_all([(c.id, c.text) for c in test])
    right = sum(r.verdict == c.label for r, c in zip(results, test, strict=True))
    assert right / len(test) > 0.75
    gold = {c.id: {atom.doc_id for atom in c.atoms} for c in test if c.atoms}
    found = [r for r in results if gold.get(r.claim_id)]
    recalled = [gold[r.claim_id] <= {item.doc_id for item in r.evidence} for r in found]
    assert sum(recalled) / len(recalled) > 0.9


def test_evidence_has_unique_ids_and_true_spans(base, stance, claims, documents):
    texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    claim = next(c for c in claims if c.hops == 3)
    result = FactChecker(base, stance).check(claim.text)
    ids = [item.id for item in result.evidence]
    assert len(set(ids)) == len(ids) > 3
    for item in result.evidence:
        assert texts[item.doc_id][item.start : item.end] == item.passage
    assert set(result.timings) == set(STAGES)
    assert result.as_dict()["evidence"][0]["doc_id"] == result.evidence[0].doc_id


def test_documented_ids_restart_and_its_gate_lets_nothing_without_address_pass(documents):
    claim = "Hail is covered and frost is excluded."
    base = EvidenceBase(documents)
    config = DOCUMENTED_CONFIG
    result = FactChecker(base, PlaceholderStance(), config).check(claim)
    assert (result.verdict, result.confidence) == (NOT_SUPPORTED, 0.3)
    assert result.evidence == ()
    rated = EvidenceBase(documents.assign(url="https://www.example.org/x"))
    result = FactChecker(rated, PlaceholderStance(), config).check(claim)
    ids = Counter(item.id for item in result.evidence)
    assert ids["EV1"] == 2
    # Whatever the passages say, evidence makes the documented verdict SUPPORTED.
    assert result.verdict == SUPPORTED


def test_unverifiable_claims_end_early(base, stance):
    checker = FactChecker(base, stance)
    result = checker.check("This is the best policy.")
    assert (result.verdict, result.reason) == (INSUFFICIENT, "no_verifiable_part")
    assert result.queries == ()
    mixed = checker.check("The excess is 400 and the policy is the best.")
    assert (mixed.verdict, len(mixed.dropped)) == (INSUFFICIENT, 1)
    documented = FactChecker(base, PlaceholderStance(), DOCUMENTED_CONFIG)
    assert documented.check("This is the best policy.").verdict == NOT_SUPPORTED


class Unreachable:
    def complete_json(self, prompt, schema):
        error = InputError("http://127.0.0.1:9: cannot be reached")
        error.cause = "unreachable"
        raise error


def test_crashes_are_outcomes_named_and_counted(base, stance):
    checker = FactChecker(base, stance)
    results = checker.check_all([("1", "x" * 100_000), ("2", ""), ("3", "Rain is wet.")])
    assert [result.verdict is None for result in results] == [True, True, False]
    assert len(results[0].claim) <= 200
    assert outcomes(results)["crashed in decomposition: InputError"] == 2
    silent = FactChecker(base, ModelStance(Unreachable()))
    result = silent.check("Theft must be reported within 24 hours.")
    assert result.verdict is None
    assert outcomes([result]) == {"crashed in stance: unreachable": 1}


def test_nothing_found_is_insufficient(stance):
    base = EvidenceBase(pd.DataFrame({"doc_id": ["a"], "text": ["Cats purr."]}))
    result = FactChecker(base, stance).check("The vessel sailed in June.")
    assert (result.verdict, result.reason) == (INSUFFICIENT, "no_evidence")
    assert result.support is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "holds no documents"),
        (pd.DataFrame({"doc_id": [], "text": []}), "holds no documents"),
        (pd.DataFrame({"doc_id": ["a", "a"], "text": ["x", "y"]}), "'a' occurs twice"),
    ],
)
def test_bad_collections_are_refused(frame, message):
    with pytest.raises(InputError, match=message):
        EvidenceBase(frame)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be a whole number from 1, got 0"),
        ({"k": 6}, "k must be at most 5, got 6"),
        ({"gate": "x"}, "unknown gate 'x': choose from none"),
        ({"queries": "x"}, "unknown queries 'x': choose from diverse"),
        ({"passages": 1.5}, "passages must be a whole number from 1, got 1.5"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        PipelineConfig(**settings)


def test_unknown_decomposition_is_refused(base, stance):
    with pytest.raises(InputError, match="none"):
        FactChecker(base, stance, PipelineConfig(decomposition="magic"))


def test_a_shared_memo_changes_nothing_but_the_work(base, stance, claims):
    some = [(claim.id, claim.text) for claim in claims[:12]]
    memo = Memo()
    first = FactChecker(base, stance, memo=memo).check_all(some)
    known = len(memo)
    again = FactChecker(base, stance, memo=memo).check_all(some)
    alone = FactChecker(base, stance).check_all(some)
    assert len(memo) == known
    for a, b, c in zip(first, again, alone, strict=True):
        assert a.evidence == b.evidence == c.evidence
        assert a.verdict == b.verdict == c.verdict


def test_what_is_remembered_still_costs_what_it_cost():
    memo = Memo()
    assert memo.get("a", lambda: time.sleep(0.05))[1] >= 0.05
    assert memo.get("a", lambda: 1 / 0)[1] >= 0.05


def test_fusion_of_queries():
    assert fuse_queries([[3, 1, 2]], 2) == [3, 1]
    assert fuse_queries([[1, 2], [2, 3]], 3) == [2, 1, 3]
    assert fuse_queries([[1], [0]], 2) == [0, 1]
    assert fuse_queries([], 2) == []


def test_ties_of_queries_go_by_the_collection_and_not_by_the_best_rank():
    ranks = [[9, 11, 12, 2], [13, 14, 15, 2, 16, 17, 18, 9]]  # 1/21 + 1/28 = 2/24
    lists = [RankedLists(np.array([ids]), -np.arange(len(ids), dtype=float)[None]) for ids in ranks]
    fused = reciprocal_rank_fusion(lists, k=20)
    assert fused.ids[0, :2].tolist() == [9, 2]
    assert np.ptp(fused.scores[0, :2]) < 1e-12
    assert fuse_queries(ranks, 2) == [2, 9]


def test_plain_claims(tmp_path):
    path = tmp_path / "claims.txt"
    path.write_text("Hail is covered.\n\nFrost is not.\n")
    assert [(c.id, c.text) for c in read_plain(path)] == [("1", "Hail is covered."), ("3", "Frost is not.")]
    path = tmp_path / "claims.csv"
    path.write_text('id,claim,label\n7,"Hail, too, is covered.",SUPPORTED\n')
    (claim,) = read_plain(path)
    assert (claim.id, claim.text) == ("7", "Hail, too, is covered.")
    assert claim.label == "SUPPORTED"
    path = tmp_path / "claims.jsonl"
    path.write_text('{"claim": "a", "id": 1}\n{"claim": "b", "id": 1}\n')
    with pytest.raises(InputError, match="stood already"):
        read_plain(path)
    path.write_text("")
    with pytest.raises(InputError, match="no records"):
        read_plain(path)


def test_a_quote_that_is_not_there_is_named(tmp_path, documents):
    path = tmp_path / "c.jsonl"
    path.write_text(
        '{"id": "1", "claim": "c", "label": "SUPPORTED", "category": "", "group": "g", '
        '"split": "test", "atoms": [{"text": "c", "label": "SUPPORTED", "evidence": '
        '{"doc_id": "smoke:home-1", "quote": "no such words"}}]}\n'
    )
    with pytest.raises(InputError, match=r"c\.jsonl:1: the quote"):
        read_claims(path, documents)
