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
