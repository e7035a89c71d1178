"""Models of entailment: whether a premise entails a hypothesis, contradicts it, or neither."""

import json
import re
from collections import Counter

import numpy as np
from scipy.special import softmax

from casebook.errors import InputError
from casebook.models.cache import EmbeddingCache, TokenVectors, checked_texts
from casebook.models.rerankers import DECIMALS, PairModel

CLASSES = ("entailment", "contradiction", "neutral")
ENTAILMENT, CONTRADICTION, NEUTRAL = CLASSES
# Names that models give their classes, in any case.
_NAMES = {
    ENTAILMENT: "entailment entail entails entailed supports supported support",
    CONTRADICTION: "contradiction contradict contradicts contradictory refutes refuted refute",
    NEUTRAL: "neutral neither not_enough_info nei not_entailment non_entailment not_entailed",
}
CLASS_OF_LABEL = {
    label: name for name, labels in _NAMES.items() for label in labels.split()
}


class EntailmentModel(PairModel):
    """A sequence-classification model of natural language inference, on disk.

    Its classes are read from ``id2label`` of its ``config.json``: entailment, contradiction and
    neutral in any order and case, or entailment and not_entailment, of which the second is taken
    for neutral. Where they only have numbers there, ``classes`` names them in the order of the
    outputs. Probabilities are kept on disk by model, device, precision and texts.

    Raises
    ------
    InputError
        If the folder holds no classifier, or its labels do not say which class is which.
    """

    def __init__(self, name, settings=None, classes=()):
        super().__init__(name, settings)
        self._columns = self._columns_of_classes(list(classes))
        self._cache = EmbeddingCache()
        self._remembered = {}
        # Different pairs, those on disk, those longer than the model reads.
        self.costs = Counter()

    def probabilities(self, premises, hypotheses):
        """Probabilities of pairs, (n, 3) in the order of `CLASSES`."""
        pairs = list(
            zip(checked_texts(premises), checked_texts(hypotheses), strict=True)
        )
        texts = [json.dumps(pair) for pair in pairs]
        new = [text for text in dict.fromkeys(texts) if text not in self._remembered]
        if new:
            self.costs.update({"questions": len(new), "from the cache": len(new)})
            kept = self._cache.look_up(
                self.model_hash, "entailment", new, self._new_shares
            )
            shares = np.zeros((len(new), len(CLASSES)))
            places = [CLASSES.index(name) for name in self._columns]
            shares[:, places] = kept.vectors[:, list(self._columns.values())]
            self._remembered |= dict(zip(new, shares, strict=True))
        rows = [self._remembered[text] for text in texts]
        return np.array(rows, dtype=float).reshape(len(pairs), len(CLASSES))

    def _new_shares(self, texts):
        """Probabilities of pairs in the order of the outputs, rounded: the rest is noise."""
        self.costs["from the cache"] -= len(texts)
        pairs = [tuple(json.loads(text)) for text in texts]
        tokenizer = self._model.tokenizer
        premises, hypotheses = zip(*pairs, strict=True)
        tokens = tokenizer(list(premises), list(hypotheses), truncation=False)[
            "input_ids"
        ]
        longest = self._model.max_seq_length or tokenizer.model_max_length
        self.costs["cut off"] += sum(len(each) > longest for each in tokens)
        shares = np.round(softmax(self.logits(pairs), axis=1), DECIMALS)
        return {"entailment": TokenVectors.of_rows(shares)}

    def _columns_of_classes(self, stated):
        """Which output of the model is which class: as stated, else by its settings."""
        labels = self.labels
        if len(stated) == len(labels):
            labels = stated
        words = [re.sub(r"[\s-]+", "_", label.lower()) for label in labels]
        classes = [CLASS_OF_LABEL.get(word) for word in words]
        found = {name: column for column, name in enumerate(classes)}
        if len(found) == len(labels) and {ENTAILMENT, NEUTRAL} <= found.keys() <= set(
            CLASSES
        ):
            return found
        raise InputError(
            f"entailment model {self.name!r} has the classes {', '.join(labels)}, not entailment, "
            "contradiction, neutral (or not_entailment): give a model of natural language "
            "inference; or, where they are numbers, name them in the order of its outputs, such as "
            f"entailment:neutral+contradiction+entailment={self.name}"
        )
