"""Models of entailment: whether a premise entails a hypothesis, contradicts it, or neither."""

import json
import re
from collections import Counter

import numpy as np
from scipy.special import softmax

from casebook.errors import InputError
from casebook.models.answers import AnswerCache
from casebook.models.cache import SLAB, checked_texts
from casebook.models.rerankers import DECIMALS, PairModel
from casebook.progress import track

CLASSES = ("entailment", "contradiction", "neutral")
ENTAILMENT, CONTRADICTION, NEUTRAL = CLASSES
NOT_ENTAILMENT = "not_entailment"
#: Classes by the names that models give them, in any case and order.
CLASS_OF_LABEL = {
    **dict.fromkeys(["entailment", "entail", "entails", "entailed"], ENTAILMENT),
    **dict.fromkeys(["contradiction", "contradict", "contradicts", "contradictory"], CONTRADICTION),
    **dict.fromkeys(["neutral", "neither"], NEUTRAL),
    **dict.fromkeys(["supports", "supported", "support"], ENTAILMENT),
    **dict.fromkeys(["refutes", "refuted", "refute"], CONTRADICTION),
    **dict.fromkeys(["not_enough_info", "nei"], NEUTRAL),
    **dict.fromkeys(["not_entailment", "non_entailment", "not_entailed"], NOT_ENTAILMENT),
}
_CLASSIFIER = "ForSequenceClassification"
_NUMBERED = re.compile(r"label_\d+")


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

    def __init__(self, name, settings=None, cache=True, classes=()):
        super().__init__(name, settings)
        self._columns = _columns_of_classes(self.name, self.folder, classes)
        if classes:  # in which order the answers that are kept were read
            self.model_hash = " ".join([self.model_hash, *classes])
        self.can_refute = CONTRADICTION in self._columns
        self._cache = AnswerCache() if cache is True else cache or None
        self._remembered = {}
        self.costs = Counter()  # different pairs, those on disk, those longer than the model reads

    def probabilities(self, premises, hypotheses):
        """Probabilities of pairs, (n, 3) in the order of `CLASSES`."""
        pairs = list(zip(checked_texts(premises), checked_texts(hypotheses), strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._remembered]
        self.costs["questions"] += len(new)
        if new and self._cache:
            cached = self._cache.load(self.model_hash, new)
            self._remembered |= cached
            new = [pair for pair in new if pair not in cached]
            self.costs["from the cache"] += len(cached)
        # The longest first, in slabs that are kept at once, so that a run that was killed goes on.
        new.sort(key=lambda pair: (-len(pair[0]) - len(pair[1]), pair))
        for start in track(range(0, len(new), SLAB), f"entailment, {SLAB} pairs at a time"):
            slab = new[start : start + SLAB]
            computed = dict(zip(slab, self._computed(slab), strict=True))
            if self._cache:
                self._cache.store(self.model_hash, computed)
            self._remembered |= computed
        rows = [self._remembered[pair] for pair in pairs]
        return np.array(rows, dtype=float).reshape(len(pairs), len(CLASSES))

    def _computed(self, pairs):
        """Probabilities of pairs in the order of the classes, rounded: the rest is noise."""
        shares = np.round(softmax(self.logits(pairs), axis=1), DECIMALS)
        self.costs["cut off"] += self._cut_off(pairs)
        by_class = {name: shares[:, column] for name, column in self._columns.items()}
        if not self.can_refute:
            by_class[CONTRADICTION] = np.zeros(len(pairs))
        return np.column_stack([by_class[name] for name in CLASSES]).tolist()

    def _cut_off(self, pairs):
        """How many pairs have more tokens than the model reads."""
        tokenizer = self._model.tokenizer
        tokens = tokenizer(*map(list, zip(*pairs, strict=True)), truncation=False)["input_ids"]
        longest = self._model.max_seq_length or tokenizer.model_max_length
        return sum(len(each) > longest for each in tokens)


def _columns_of_classes(name, folder, stated=()):
    """Which output of a model is which class: by its settings, else as stated."""
    labels = _labels(name, folder)
    numbered = all(_NUMBERED.fullmatch(label.lower()) for label in labels)
    if stated and not numbered:
        raise InputError(
            f"entailment model {name!r} names its classes itself ({', '.join(labels)}): "
            f"leave {'+'.join(stated)}= out"
        )
    if stated and len(stated) != len(labels):
        raise InputError(
            f"entailment model {name!r} has {len(labels)} outputs: {'+'.join(stated)} names "
            f"{len(stated)}"
        )
    labels = list(stated) or labels
    classes = [CLASS_OF_LABEL.get(re.sub(r"[\s-]+", "_", label.lower())) for label in labels]
    if sorted(filter(None, classes)) == sorted(CLASSES) and len(labels) == len(CLASSES):
        return {each: column for column, each in enumerate(classes)}
    if len(labels) == 2 and set(classes) == {ENTAILMENT, NOT_ENTAILMENT}:
        return {
            ENTAILMENT: classes.index(ENTAILMENT),
            NEUTRAL: classes.index(NOT_ENTAILMENT),
        }
    listed = ", ".join(labels[:6]) + (", ..." if len(labels) > 6 else "")
    remedy = "give a model of natural language inference"
    if numbered:
        remedy = (
            f"write which is which into id2label of {folder / 'config.json'}, or name the classes "
            f"in the order of its outputs, such as entailment:{'+'.join(reversed(CLASSES))}={name}"
        )
    raise InputError(
        f"entailment model {name!r} has the classes {listed}, not {', '.join(CLASSES)} "
        f"(or entailment, {NOT_ENTAILMENT}): {remedy}"
    )


def _labels(name, folder):
    """Labels of a classifier's outputs, in their order."""
    path = folder / "config.json"
    settings = {}
    if path.is_file():
        try:
            settings = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"{path}: is no JSON: {error}") from error
    kinds = settings.get("architectures") or []
    if not any(str(kind).endswith(_CLASSIFIER) for kind in kinds):
        raise InputError(
            f"entailment model {name!r} is no classifier ({', '.join(map(str, kinds)) or 'no'} "
            f"architecture): give a model of kind ...{_CLASSIFIER}"
        )
    labels = settings.get("id2label")
    if not labels:  # what transformers then calls them
        labels = {n: f"LABEL_{n}" for n in range(int(settings.get("num_labels") or 2))}
    try:
        return [str(labels[key]) for key in sorted(labels, key=int)]
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: id2label is no mapping of numbers to labels") from error
