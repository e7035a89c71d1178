"""Entailment models: classes by name, probabilities as the bare model gives them."""

import json

import numpy as np
import pytest

from casebook.errors import InputError
from casebook.models.entailment import CLASSES, EntailmentModel

ORDER = ("contradiction", "entailment", "neutral")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, make_classifier):
    """Give a random three-class model whose classes stand in another order."""
    found = make_classifier(tmp_path_factory.mktemp("nli") / "three", 3)
    return named(found, ORDER)


def named(folder, labels):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["id2label"] = {str(n): label.upper() for n, label in enumerate(labels)}
    config["label2id"] = {label.upper(): n for n, label in enumerate(labels)}
    path.write_text(json.dumps(config))
    return folder


def test_probabilities_in_the_order_of_the_classes(folder):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    premises, hypotheses = ["you may cancel", "we may sue"], ["cancel", "you pay"]
    found = EntailmentModel(folder).probabilities(premises, hypotheses)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    inputs = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = model(**inputs).logits.softmax(dim=1).numpy()
    columns = [ORDER.index(name) for name in CLASSES]
    assert np.allclose(found, expected[:, columns], atol=1e-5)
    assert EntailmentModel(folder).probabilities([], []).shape == (0, 3)


def test_classes_that_are_not_the_three_are_refused(tmp_path, make_classifier):
    folder = named(make_classifier(tmp_path / "odd", 3), ("good", "bad", "ugly"))
    with pytest.raises(InputError, match="bad, good, ugly"):
        EntailmentModel(folder).probabilities(["a"], ["b"])


def test_a_model_that_is_not_there_is_one_line():
    with pytest.raises(InputError, match="'/nowhere/model' does not exist"):
        EntailmentModel("/nowhere/model")


def test_the_judge_of_the_command_is_the_model_in_the_folder(casebook, folder, tmp_path):
    """A premise is the document's name and the passage, the hypothesis the claim."""
    passage, claim = "You may cancel.", "We may sue."
    collection, claims = tmp_path / "mine", tmp_path / "claims.txt"
    collection.mkdir()
    row = {"_id": "d", "title": "You", "text": f"{passage} We sue."}
    (collection / "corpus.jsonl").write_text(json.dumps(row) + "\n")
    claims.write_text(claim + "\n")
    code, text, error = casebook(
        *("factcheck", "run", claims, "--corpus", f"{collection}", "--json"), *("--stance", f"entailment:{folder}")
    )
    assert code == 0, error
    items = json.loads(text)["claims"][0]["evidence"]
    assert items
    premises = [f"You. {item['passage']}" for item in items]
    shares = EntailmentModel(folder).probabilities(premises, [claim] * len(items))
    for item, (yes, no, neither) in zip(items, shares, strict=True):
        likeliest = max((yes, "supports"), (no, "refutes"), (neither, "neutral"))[1]
        assert item["stance"] == likeliest
        if likeliest != "neutral":
            assert item["probability"] == pytest.approx(yes / (yes + no), abs=1e-6)
