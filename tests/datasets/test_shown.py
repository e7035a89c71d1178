"""Texts stand in a report only where the card's licence lets them be passed on."""

from casebook.datasets.cards import cards
from casebook.datasets.shown import may_show


def test_texts_are_shown_as_the_card_permits():
    shown = {key: may_show(card) for key, card in cards().items()}
    assert shown["smoke"] == shown["privacy_qa"] == {"items", "documents"}
    assert shown["factcheck_claims"] == shown["planted"] == {"items", "documents"}
    assert shown["consumer_contracts_qa"] == {"items"}  # clauses stay away
    assert shown["fire2017_irled"] == shown["climate_fever_claims"] == set()
    assert may_show(None) == set()
