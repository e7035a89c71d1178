"""Cards: every shipped one is valid, and a wrong one names file and field."""

import yaml
from cases import not_refused
from toy_card import toy_card

from casebook import paths
from casebook.data import cards, list_datasets

GOOD = toy_card({"corpus.jsonl": b""}, [{"mirror": "toy"}])


def test_every_shipped_card_is_valid_and_complete():
    shipped = cards.cards()
    assert sorted(path.stem for path in paths.CARDS.glob("*.yml")) == list(shipped)
    assert {"consumer_contracts_qa", "privacy_qa", "smoke"} <= set(shipped)
    for card in shipped.values():
        assert card.splits[card.default_split].queries > 0
    assert list_datasets() == list(shipped)


CHANGES = [
    ({"key": "../toy"}, "key"),
    ({"key": "other"}, "key"),
    ({"colour": "red"}, "colour"),
    ({"licence": {"name": "MIT"}}, "licence.non_commercial"),
    ({"loader": "os.system"}, "loader"),
    ({"files": {"../../x": "0" * 64}}, r"files\.\S+"),
    ({"files": {"a": "abc"}}, "files.a"),
    ({"sources": [{"mirror": "../x"}]}, "sources.0.mirror"),
    ({"sources": [{"url": "http://example.org"}]}, "sources.0.url"),
    ({"sources": [{"url": "https://me:hunter22@host/{file}"}]}, "sources.0.url"),
    ({"splits": {"test": {"documents": -1}}}, "splits.test.documents"),
]


def test_a_wrong_card_names_file_and_field(tmp_path):
    def read(changes):
        path = tmp_path / "toy.yml"
        path.write_text(yaml.safe_dump(GOOD | changes))
        return cards.load_card(path)

    cases = [(changes, f"toy\\.yml: .*{field}") for changes, field in CHANGES]
    assert not_refused(read, cases) == []


def test_texts_are_shown_as_the_licence_permits():
    texts = {key: cards.may_show(card) for key, card in cards.cards().items()}
    assert texts["smoke"] == texts["privacy_qa"] == texts["planted"] == {"items", "documents"}
    assert texts["consumer_contracts_qa"] == {"items"}  # clauses stay away
    assert texts["fire2017_irled"] == texts["climate_fever_claims"] == set()
    assert cards.may_show(None) == set()
