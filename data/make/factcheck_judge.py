"""Learn the weights of the default judge, and write ``lib/casebook/factcheck/judge.yml`` again.

    python data/make/factcheck_judge.py            # prints what it would write
    python data/make/factcheck_judge.py --write    # writes it

The weights are those of a logistic regression on standardised features. It learns from our own
training claims, with the sentences that decide them and with those that the search finds, and from
edited sentences of documents that no test claim is about: cut ones hold; those with another number,
name or word, with a negation more or less, an opposite, a name of the sentence beside, or two words
exchanged do not. In both, words are exchanged for words of near meaning. No claim of others is seen.
"""

import random
import re
import sys
from pathlib import Path

import numpy as np
import yaml
from sklearn.linear_model import LogisticRegression

from casebook.factcheck import claims, stance, words
from casebook.factcheck.evidence import EvidenceBase, EvidencePassage
from casebook.factcheck.judges import PlaceholderStance
from casebook.factcheck.pipeline import FactChecker
from casebook.text import sentence_texts

FILE = Path(stance.__file__).with_name("judge.yml")
SENTENCES = 1_500
MOST_REWORDED = 0.8  # of the words of a sentence
JOINED = 0.5  # share of the edited texts that are two sentences in one
EDITS_COUNT = 2.0  # times as much as each of the other two parts
HEAD = """\
# Weights of the default judge, `casebook.factcheck.stance.PublicJudge`, of raw features. Learnt by
# data/make/factcheck_judge.py; `learnt from` counts its examples. No claim of others was seen.
"""


def passages_of(texts, document=""):
    return [EvidencePassage(0, 0, len(text), text, "", document) for text in texts]


def claims_with_evidence(base):
    """Parts of our training claims with the sentences that decide them, and as the search finds them."""
    checker = FactChecker(base, PlaceholderStance())
    gold, found = [], []
    for claim in claims.read_claims(base.documents, split="train"):
        for atom in claim.atoms:
            label = atom.label == "SUPPORTED"
            gold.append((atom.text, base.holding(atom), label))
            result = checker.check(atom.text)
            rows = [(base.rows[item.doc_id], item.start, item.end) for item in result.evidence]
            passages = [base.passage(*row) for row in rows]
            if passages:
                found.append((atom.text, passages, label))
    return gold, found


def documents_of_no_test_claim(documents):
    sources = {
        atom.doc_id.rpartition("-")[0]
        for claim in claims.read_claims(documents, split="test")
        for atom in claim.atoms
    }
    return [
        text
        for doc_id, text in zip(documents["doc_id"], documents["text"], strict=True)
        if doc_id.rpartition("-")[0] not in sources
    ]


class Rewording:
    """Words of near meaning: the nearest vectors of single words of a vocabulary."""

    def __init__(self, texts, rng):
        plain = {
            word.text.lower() for text in texts for word in words.words(text) if word.kind == "word"
        }
        self.vocabulary = sorted(plain)
        self.rng = rng
        vectors = np.vstack([stance.vectors_of(word)[0] for word in self.vocabulary])
        cosines = vectors @ vectors.T
        stems = np.array([words.words(word)[0].stem for word in self.vocabulary])
        cosines[stems[:, None] == stems] = -1
        self.near = dict(zip(self.vocabulary, cosines.argmax(axis=1), strict=True))

    def __call__(self, text):
        share = self.rng.uniform(0, MOST_REWORDED)

        def exchange(match):
            word = match.group()
            if word not in self.near or self.rng.random() > share:
                return word
            return self.vocabulary[self.near[word]]

        return re.sub(r"\b[a-z]{3,}\b", exchange, text)


def false_edits(text, beside, names, vocabulary, rng):
    """Texts that a sentence contradicts, by kind."""
    found = {}
    listed = words.words(text)
    numbers = [word.text for word in listed if word.text.replace(",", "").isdigit()]
    own = [word.text for word in listed if word.kind == "name"]
    plain = [word.text for word in listed if word.kind == "word" and word.text.islower()]
    if numbers:
        number = rng.choice(numbers)
        value = int(number.replace(",", ""))
        found["number"] = text.replace(
            number, f"{rng.choice([value * 2, value + 5, value + 1])}", 1
        )
    if own:
        found["name"] = text.replace(rng.choice(own), rng.choice(names), 1)
    others = [
        word.text for word in words.words(beside) if word.kind == "name" and word.text not in own
    ]
    if own and others:
        found["borrowed"] = text.replace(rng.choice(own), rng.choice(others), 1)
    if plain:
        found["word"] = re.sub(rf"\b{rng.choice(plain)}\b", rng.choice(vocabulary), text, count=1)
    if len(set(plain)) > 3:
        first, second = rng.sample(sorted(set(plain)), 2)
        swap = {first: second, second: first}
        found["exchanged"] = re.sub(rf"\b(?:{first}|{second})\b", lambda m: swap[m.group()], text)
    auxiliary = re.search(r"\b(is|are|was|were|may|must|can|will|would|has|have)\b(?! not)", text)
    if " not " in text:
        found["negation"] = text.replace(" not ", " ", 1)
    elif auxiliary:
        found["negation"] = f"{text[: auxiliary.end()]} not{text[auxiliary.end() :]}"
    for line in words.CLAIM_WORDS["opposites"]:
        first, *rest = line.split()
        if re.search(rf"\b{first}\b", text):
            found["opposite"] = re.sub(rf"\b{first}\b", rng.choice(rest), text, count=1)
    return found


def edits(texts, rng):
    """True and false claims made of sentences, each with the sentence and one or two beside it."""
    reworded = Rewording(texts, rng)
    names = sorted(
        {word.text for text in texts for word in words.words(text) if word.kind == "name"}
    )
    places = []
    for text in texts:
        parts = sentence_texts(text)
        places += [(parts, n) for n, part in enumerate(parts) if 6 <= len(part.split()) <= 40]
    rows = []
    for parts, n in rng.sample(places, min(SENTENCES, len(places))):
        text = parts[n]
        evidence = passages_of(parts[max(n - rng.randint(0, 1), 0) : n + 2])
        beside = parts[n - 1] if n else parts[-1]
        if n + 1 < len(parts) and rng.random() < JOINED:
            text = f"{text.rstrip('.')} and {parts[n + 1][:1].lower()}{parts[n + 1][1:]}"
        true = rng.choice([text, re.sub(r",[^,]*$", ".", text)])
        rows.append((reworded(true), evidence, True))
        found = false_edits(text, beside, names, reworded.vocabulary, rng)
        if len(parts) > 4:
            found["elsewhere"] = parts[(n + 3) % len(parts)]
        changed = [edit for edit in found.values() if edit != text]
        if changed:
            edit = found["opposite"] if "opposite" in found else rng.choice(changed)
            rows.append((reworded(edit), evidence, False))
    return rows


def learnt_weights(X, y, sample_weight):
    mean = X.mean(axis=0)
    scale = np.maximum(X.std(axis=0), 1e-9)
    model = LogisticRegression(C=0.3, solver="newton-cg", tol=1e-10, max_iter=2_000)
    model.fit((X - mean) / scale, y, sample_weight=sample_weight)
    slopes = model.coef_[0] / scale
    weights = dict(zip(stance.FEATURES, slopes.tolist(), strict=True))
    return weights | {"intercept": float(model.intercept_[0] - slopes @ mean)}


def learnt():
    """Weights, and how many examples of each part they were learnt from."""
    documents = claims.load_documents()
    gold, found = claims_with_evidence(EvidenceBase(documents))
    made = edits(documents_of_no_test_claim(documents), random.Random(0))
    rows, shares = [], []
    for part, share in ((gold, 1.0), (found, 1.0), (made, EDITS_COUNT)):
        rows += part
        shares += [share / len(part)] * len(part)
    X = np.array([stance.features(claim, passages) for claim, passages, _ in rows])
    y = np.array([label for *_, label in rows])
    weights = learnt_weights(X, y, np.array(shares) / np.mean(shares))
    counts = {
        "training claims": len(gold),
        "with found evidence": len(found),
        "edited sentences": len(made),
    }
    return {name: round(value, 4) for name, value in weights.items()}, counts


def main():
    weights, counts = learnt()
    text = HEAD + yaml.safe_dump({"learnt from": counts, "weights": weights}, sort_keys=False)
    print(text)
    if "--write" in sys.argv:
        FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
