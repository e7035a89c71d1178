"""Explanations with their sources, and their scores under all rules of faithfulness."""

import re
from collections import namedtuple
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from casebook import frames
from casebook.data.folders import read_collection
from casebook.data.tables import read_roles, read_table
from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.measures.faithfulness import (
    MATCHED,
    MISMATCHED,
    RULES,
    THRESHOLD,
    pair_sources,
    sentence_rows,
    separation,
)
from casebook.scores import Scores
from casebook.sensitivity.extract import extract_sheet
from casebook.stats.samples import generator
from casebook.text import content_words, sentence_texts

LEAST_SOURCES = 5
FAITHFULNESS = "faithfulness"
SENTENCES = "AUROC of sentences"
CONDITIONS = {MATCHED: "own source", MISMATCHED: "foreign sources"}
# How explanations are made, and why a question has none.
KINDS = {
    "template": ("template: the question and a quotation", "no sentence to quote"),
    "gold": ("reference answers", "no reference answer"),
    "explainer": (
        "sentences of the explainer, each on a fact found in both",
        "nothing in common",
    ),
}


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations and their sources, both by key."""

    name: str
    kind: str
    explanations: dict
    sources: dict
    source_of: dict  # {explanation: its source}
    left_out: dict  # {reason: count}
    reading: dict | None = None  # what was read of a file
    card: object = None  # of the data

    @property
    def title(self):
        return self.card.title if self.card else self.name

    @property
    def texts(self):
        return self.explanations, self.sources, self.source_of

    @property
    def own_sources(self):
        return {
            source: self.sources[source]
            for source in sorted(set(self.source_of.values()))
        }

    def table(self):
        about = {"how they were made": self.kind}
        for what, texts in {
            "explanations": self.explanations,
            "sources": self.own_sources,
        }.items():
            words = pd.Series(texts).str.split().str.len()
            about |= {what: len(words), f"words of {what}, median": int(words.median())}
        about |= {
            f"left out: {reason}": count for reason, count in self.left_out.items()
        }
        return pd.DataFrame([about | (self.reading or {})])


# --- explanations of questions


def explain_dataset(dataset, kind="template", *, limit=None, seed=0):
    """Explanations of the best, first relevant document of each question, at most `limit` of them.

    `kind` is one of `KINDS`: ``template``, ``gold`` (reference answers) or ``explainer``
    (sentences of `Explainer`).
    """
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise InputError(
            f"explanations: {kind!r}: choose from {known}, or a file of your own"
        )
    texts = dataset.documents.set_index("doc_id")["text"].to_dict()
    best = _best_documents(dataset)
    questions = dataset.queries.set_index("query_id").loc[list(best)]
    if kind == "gold" and "gold_answer" not in questions:
        raise InputError(
            f"{dataset.name} has no reference answers: choose others than gold"
        )
    name = dataset.name
    if kind == "gold":
        found = questions["gold_answer"]
    elif kind == "template":
        asked = questions["text"].items()
        found = {key: _quotation(text, texts[best[key]]) for key, text in asked}
    else:
        name = f"{name}.corrected_explainer"
        explainer = Explainer({document: texts[document] for document in best.values()})
        found = {}
        for key, text in questions["text"].items():
            explanation = explainer.result(extract_sheet(text, key).sheet, best[key])
            if explanation.sentences[0].kind != "nothing":
                found[key] = explanation.text
    explanations = pd.Series(found, dtype=object).dropna().to_dict()
    source_of = {key: best[key] for key in explanations}
    description, reason = KINDS[kind]
    left_out = {reason: len(best) - len(explanations)}
    of_kind = name, description, explanations, texts, source_of, left_out
    return limited(Explained(*of_kind, card=dataset.card), limit, seed)


def _best_documents(dataset):
    """The best, first relevant document of each question that the data have."""
    best = {}
    for question in dataset.queries["query_id"]:
        grades = dataset.qrels.get(question, {})
        relevant = [
            doc for doc in grades if grades[doc] >= 1 and doc not in dataset.lacking
        ]
        if relevant:
            best[question] = max(relevant, key=grades.get)
    return best


def _quotation(text, source):
    """A question and the sentence of the source that shares most content words with it.

    The question is its first sentence, at most 60 words. None if the source has none.
    """
    question = (
        " ".join([*sentence_texts(text), text][0].split()[:60]).rstrip(".,;:?!") + "."
    )
    asked = content_words(question)
    quotable = sentence_texts(source[:20_000])
    if not quotable:
        return None
    usual = [sentence for sentence in quotable if 5 <= len(sentence.split()) <= 40]
    best = max(
        usual or quotable, key=lambda sentence: len(asked & content_words(sentence))
    )
    best = re.sub("[“”]", "", re.sub(r"\s+", " ", best))
    return f"It was found for: {question} It says: “{best}”"


# --- one's own explanations


def read_explanations(path, folder=None, columns=None, rows=None, lists="json"):
    """Explanations of documents of a folder (sources), or of texts of the file (contexts)."""
    texts = (
        read_collection(folder).set_index("doc_id")["text"].to_dict() if folder else {}
    )
    table = read_table(path, rows)
    reading = read_roles(table, "explanations", ["explanation"], columns, lists=lists)
    if "id" not in reading:
        reading.table["id"] = [f"line {row}" for row in table.index]
    keys = reading.texts("id")
    reading.refuse_repeats("id")
    explanations = dict(zip(keys, reading.texts("explanation"), strict=True))
    contexts = reading.lists("contexts")
    source = reading.texts("source", may_be_empty=True)
    several = reading.lists("sources")
    sources = {name: text for name, text in texts.items() if text.strip()}
    source_of = {}
    for row, key in keys.items():
        named = [source[row]] if source[row] else several[row]
        if bool(contexts[row]) == bool(named):
            reading.refuse(
                row, "name one of 'source', 'sources' (ids) or 'contexts' (texts)"
            )
        parts = own = contexts[row]
        if named:
            parts = list(dict.fromkeys(named))
            for name in parts:
                if name not in sources:
                    place = folder or "no folder of sources was named, which"
                    reading.refuse(
                        row, f"source {name!r}: {place} has no such document with text"
                    )
            own = [sources[name] for name in parts]
        source_of[key] = "\0".join(parts)
        sources.setdefault(source_of[key], "\n\n".join(own))
    about = Path(path).stem, "explanations of your own"
    return Explained(*about, explanations, sources, source_of, {}, reading.record())


def limited(explained, limit, seed):
    """At most so many explanations, drawn, of enough sources to compare."""
    keys = list(explained.explanations)
    if limit and limit < len(keys):
        order = generator(seed, "explanations").permutation(len(keys))
        keys = [keys[i] for i in sorted(order[:limit])]
        drawn = {key: explained.explanations[key] for key in keys}
        source_of = {key: explained.source_of[key] for key in keys}
        left_out = explained.left_out | {
            "not drawn": len(explained.explanations) - limit
        }
        explained = replace(
            explained, explanations=drawn, source_of=source_of, left_out=left_out
        )
    n_texts = len(set(explained.own_sources.values()))
    if n_texts < LEAST_SOURCES:
        count = f"{n_texts} different source(s) with an explanation"
        raise InputError(
            f"{explained.name}: {count}, {LEAST_SOURCES} are the fewest to compare"
        )
    return explained


# --- scores under all rules


# Scores: a row per rule, condition, explanation, source and sentence; {rule: explanations x
# conditions}; a row per rule and measure.
ExplanationScores = namedtuple("ExplanationScores", "rows grounded estimates")


def score_explanations(explained, *, foreign=3, pool=None, n_resamples=10_000, seed=0):
    """Scores under all rules, against own sources and some of other explanations (or a `pool`)."""
    texts = explained.texts
    others = pair_sources(*texts, draws=foreign, seed=seed, pool=pool)
    rows = sentence_rows(*texts, others)
    judged = rows.dropna(subset="share")
    is_grounded = judged["share"] >= THRESHOLD - 1e-12
    judged = judged.assign(grounded=is_grounded.astype(float))
    about = {"title": explained.title, "unit": "explanations", "cluster": "sources"}
    about |= {"names": RULES, "n_resamples": n_resamples, "seed": seed}
    of_sentences = {"measure": SENTENCES, "unit": "sentences", "control_name": "chance"}
    grounded = {}
    tables = []
    for rule in RULES:
        claims = judged[judged["rule"] == rule]
        means = claims.pivot_table("grounded", "explanation", "condition", sort=False)
        means = means.reindex(
            index=claims["explanation"].unique(), columns=[MATCHED, MISMATCHED]
        )
        grounded[rule] = means
        values = means[[MATCHED]].set_axis([rule], axis=1).astype(float)
        clusters = pd.Series(explained.source_of, dtype=object).loc[means.index]
        scores = Scores(
            values, FAITHFULNESS, explained.name, clusters=clusters, **about
        )
        area = frames.coefficients(
            {rule: separation(rows, rule)}, clusters.nunique(), 0.5
        )
        tables.append(scores.described(area.assign(**of_sentences)))
        control = {
            "control": means[MISMATCHED].mean(),
            "control_name": "foreign sources",
        }
        tables.append(scores.estimates().assign(**control))
    estimates = pd.concat(tables, ignore_index=True)
    estimates["reason"] = estimates["reason"].mask(estimates["n"] == 0, "no_claim")
    return ExplanationScores(rows, grounded, estimates)


def score_tables(explained, scored):
    """Scores of the rules, and of each explanation with its sentences that are not grounded."""
    names = {"system_name": "rule", "control_name": "against"}
    columns = [
        "rule",
        "measure",
        "value",
        "low",
        "high",
        "against",
        "control",
        "n",
        "reason",
    ]
    rules = scored.estimates.rename(columns=names)[columns]
    items = pd.DataFrame(index=pd.Index(explained.explanations, name="id"))
    for rule, title in RULES.items():
        items[[title, f"{title}, foreign"]] = scored.grounded[rule][
            [MATCHED, MISMATCHED]
        ]
    is_weak = "rule == 'corrected' and condition == @MATCHED and share < @THRESHOLD"
    weak = scored.rows.query(is_weak)
    numbers = weak["sentence"].add(1).astype(str)
    listed = numbers.groupby(weak["explanation"]).agg(", ".join)
    items["sentences not grounded"] = listed.reindex(items.index, fill_value="")
    return {"rules": rules, "explanations": items.reset_index()}
