"""Models of entailment against the bare model, by their labels, and what is kept of them."""

import numpy as np
import pytest
from cases import not_refused
from scipy.special import softmax
from tiny_models import logits_of, named

from casebook.models.entailment import CLASSES, EntailmentModel
from casebook.models.language import costs_in_words

ORDER = ("contradiction", "entailment", "neutral")
PREMISES = ["you may cancel", "we may sue", "the court may refund the contract"]
HYPOTHESES = ["cancel", "you pay", "you can sue"]


pytestmark = pytest.mark.usefixtures("fresh_answers")


@pytest.fixture
def three(tmp_path, make_classifier):
    """A random model of three classes, in another order than ours and in capitals."""
    return named(make_classifier(tmp_path / "three", 3), [name.upper() for name in ORDER])


def test_probabilities_in_the_order_of_the_classes(three):
    probabilities = EntailmentModel(three).probabilities(PREMISES, HYPOTHESES)
    shares = softmax(logits_of(three, zip(PREMISES, HYPOTHESES, strict=True)), axis=1)
    expected = shares[:, [ORDER.index(name) for name in CLASSES]]
    assert np.allclose(probabilities, expected, atol=1e-5)
    assert len(np.unique(probabilities[:, 0])) == 3
    assert EntailmentModel(three).probabilities([], []).shape == (0, 3)


def test_classes_with_numbers_only_can_be_named_in_the_order_of_the_outputs(three):
    expected = EntailmentModel(three).probabilities(PREMISES, HYPOTHESES)
    named(three, [f"LABEL_{n}" for n in range(3)])
    model = EntailmentModel(three, classes=ORDER)
    assert np.array_equal(model.probabilities(PREMISES, HYPOTHESES), expected)
    turned = EntailmentModel(three, classes=("entailment", "contradiction", "neutral"))
    assert np.array_equal(turned.probabilities(PREMISES, HYPOTHESES), expected[:, [1, 0, 2]])


def test_classes_that_could_be_mistaken_are_refused_before_anything_is_loaded(
    tmp_path, make_classifier
):
    numbers = [f"LABEL_{n}" for n in range(3)]
    cases = [
        (numbers, ("entailment", "neutral"), "has the classes LABEL_0, LABEL_1, LABEL_2, not"),
        (numbers, ("good", "bad", "neutral"), "has the classes good, bad, neutral, not"),
        (numbers, (), "name them in the order of its outputs, such as entailment:neutral"),
        (("good", "bad", "ugly"), (), "good, bad, ugly.*model of natural language inference"),
        (("entailment", "neutral", "entails"), (), "has the classes"),
        (("entailment", "contradiction"), (), "has the classes"),
    ]

    def load(labels, classes):
        folder = make_classifier(tmp_path / "-".join([*labels, *classes]), len(labels))
        return EntailmentModel(named(folder, labels), classes=classes)

    assert not_refused(load, cases) == []


def test_what_is_longer_than_the_model_reads_is_counted(three):
    model = EntailmentModel(three)
    # 32 tokens, three of which are special ones.
    model.probabilities(["sue " * 28, "sue " * 29], ["you", "you"])
    assert model.costs["cut off"] == 1
    words = costs_in_words(model.costs, asked="pairs")
    assert words == (
        "2 pairs, 0 from the cache, 1 cut off because they are longer than the model reads"
    )
