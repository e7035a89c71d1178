"""The own claims as a dataset and as a study; contract verdicts; shuffled evidence."""

import pytest
from casebook.factcheck.claim_only import claim_only_verdicts
from casebook.factcheck.consumer_verdicts import MAJORITY, SYSTEMS, consumer_study
from casebook.factcheck.own_study import own_study
from casebook.factcheck.stance_pairs import training_pairs
from casebook.factcheck.stance_study import shuffle_passages, stance_study

from casebook.datasets import load
from casebook.errors import InputError
from casebook.factcheck.pipeline import EvidenceBase


def test_cards_and_readers_agree(claims, documents):
    dataset = load("factcheck_claims_all", kind="claims")
    assert dataset.claims["claim_id"].tolist() == [claim.id for claim in claims]
    assert dataset.claims["cluster"].tolist() == [claim.group for claim in claims]
    quotes = dict(zip(documents["doc_id"], documents["text"], strict=True))
    for row in dataset.evidence.to_dict("records"):
        assert row["text"] in quotes[row["source"]]
    assert load("factcheck_decomposition", kind="annotations").counts["queries"] == 69


def test_claims_alone_are_no_help(claims):
    train = [claim for claim in claims if claim.split == "train"]
    test = [claim for claim in claims if claim.split == "test"]
    found = claim_only_verdicts(train, test).set_index("id")["label"]
    right = [found[c.id] == c.label for c in test if c.atoms]
    # Every true claim has a false twin: 0.5 is all that there is to know.
    assert 0.4 < sum(right) / len(right) < 0.62


def test_study_recalls_evidence():
    table = own_study().evidence_recall()
    assert len(table) == 88
    assert table["passages"].le(table["documents"]).all()
    assert table["passages"].mean() > 0.9


def test_shuffled_evidence_leaves_nothing(base, claims):
    pairs = {split: training_pairs([c for c in claims if c.split == split], base) for split in ("train", "test")}
    table = stance_study(pairs["train"], pairs["test"], rarity=base.rarity, n_boot=200)
    table = table.set_index("system")
    assert table.loc["evidence", "auroc low"] > 0.8
    shuffled = table.loc["shuffled evidence"]
    assert shuffled["auroc low"] < 0.5 < shuffled["auroc high"]
    assert table.loc["fitted on shuffled", "auroc"] < 0.6


def test_shuffling_never_gives_the_own_group(base, claims):
    pairs = training_pairs(claims[:20], base)
    for pair, passage in zip(pairs, shuffle_passages(pairs, seed=2), strict=True):
        owners = {p.group for p in pairs if p.passage == passage}
        assert owners - {pair.group}
    with pytest.raises(InputError, match="two groups"):
        shuffle_passages(pairs[:1])


@pytest.fixture(scope="module")
def contracts(require):
    require("consumer_contracts_qa")
    return load("consumer_contracts_qa")


@pytest.mark.data
def test_contract_verdicts_are_near_chance_and_retrieval_is_not(contracts):
    study = consumer_study(contracts)
    table = study.table(n_boot=200).set_index("system")
    assert list(table.index) == list(SYSTEMS)
    assert table["n"].eq(396).all()
    assert table.loc[MAJORITY, "accuracy"] == pytest.approx(218 / 396)
    assert 0.5 < table.loc["question only", "accuracy"] < 0.63
    assert 0.4 < table.loc["retrieved clause", "accuracy"] < 0.63
    # The share of clauses found first is P@1 of the same retrieval.
    assert study.recall(1) < study.recall(3)
    assert study.recall(3) > 0.7
    folds = study.rows.groupby("group")["fold"].nunique()
    assert folds.eq(1).all()
    assert len(study.verdicts("gold clause")) == 396


@pytest.mark.data
def test_evidence_of_contracts_has_spans(contracts):
    base = EvidenceBase(contracts.documents)
    question = contracts.queries["text"].iloc[0]
    (row, *_) = base.search(question)
    found = base.extract(row, question)
    assert found
    for passage in found:
        assert base.texts[row][passage.start : passage.end] == passage.text


def test_a_dataset_without_answers_is_refused():
    with pytest.raises(InputError, match="no answers"):
        consumer_study(load("smoke"))
