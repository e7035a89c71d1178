"""Explanations made for a dataset, or stored with it, and their sources."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from casebook.counterfactual.explanations import Explainer
from casebook.datasets.jsonl import read_jsonl
from casebook.datasets.sources import MIRROR_VARIABLE
from casebook.errors import InputError
from casebook.measures.legal_text import content_words, sentences
from casebook.paths import valid_name
from casebook.sensitivity.extract import extract_sheet

MOST_QUESTION = 60  # words of a question that the template repeats
CITATION = "[?CITATION?]"
AROUND = 600  # characters on either side of a masked citation


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations, their sources, and who belongs to whom."""

    name: str
    kind: str
    explanations: dict
    sources: dict
    own: dict
    cited: dict
    left_out: dict


def _first_relevant(dataset):
    """Yield each question with its best, first relevant document."""
    for row in dataset.queries.to_dict("records"):
        judged = dataset.qrels.get(row["query_id"], {})
        lacking = dataset.lacking
        relevant = [d for d, g in judged.items() if g >= 1 and d not in lacking]
        if relevant:
            yield row, max(relevant, key=lambda d: judged[d])


def _texts(dataset):
    return dict(zip(dataset.documents["doc_id"], dataset.documents["text"], strict=True))


def template_explanations(dataset):
    """Quote the best sentence of the relevant document."""
    texts, explanations, own, left_out = _texts(dataset), {}, {}, {}
    for row, document in _first_relevant(dataset):
        question = _question(row["text"])
        quoted = _best_sentence(question, texts[document])
        if quoted is None:
            left_out["no sentence to quote"] = left_out.get("no sentence to quote", 0) + 1
            continue
        key = row["query_id"]
        explanations[key] = f"It was found for: {question} It says: “{quoted}”"
        own[key] = document
    kind = "template: the question and a quotation"
    return Explained(dataset.name, kind, explanations, texts, own, {}, left_out)


def _question(text):
    """Shorten a long question to what stands around its first masked citation."""
    place = text.find(CITATION)
    if place >= 0:
        text = text[max(0, place - AROUND) : place + AROUND].replace(CITATION, " ")
    spans = sentences(text)
    if place >= 0 and len(spans) > 2:
        spans = spans[len(spans) // 2 :]
    words = text[spans[0][0] : spans[0][1]].split() if spans else text.split()
    return " ".join(words[:MOST_QUESTION]).rstrip(".,;:?!") + "."


def _best_sentence(question, text, most=40):
    """Sentence of a text that shares most content with a question, None without one."""
    asked = content_words(question)
    spans = [text[a:b] for a, b in sentences(text[:20_000])]
    fit = [s for s in spans if 5 <= len(s.split()) <= most] or spans
    if not fit:
        return None
    best = max(fit, key=lambda s: len(asked & content_words(s)))
    return re.sub(r"\s+", " ", best).replace("“", "").replace("”", "")


def explainer_explanations(dataset, documented=False):
    """Let the explainer say why the relevant document was found."""
    texts, explanations, own, left_out = _texts(dataset), {}, {}, {}
    pairs = list(_first_relevant(dataset))
    explainer = Explainer({document: texts[document] for _, document in pairs}, documented)
    for row, document in pairs:
        sheet = extract_sheet(row["text"], row["query_id"]).sheet
        found = explainer.result(sheet, document)
        if {sentence.kind for sentence in found.sentences} <= {"nothing", "similarity"}:
            why = "nothing in common found"
            left_out[why] = left_out.get(why, 0) + 1
            continue
        explanations[row["query_id"]], own[row["query_id"]] = found.text, document
    rules = "documented" if documented else "corrected"
    kind = f"sentences of the explainer, {rules} rules"
    name = f"{dataset.name}.{rules}_explainer"
    return Explained(name, kind, explanations, texts, own, {}, left_out)


def gold_explanations(dataset):
    """Take the reference answers as explanations."""
    if "gold_answer" not in dataset.queries:
        raise InputError(f"{dataset.name} has no reference answers")
    texts, explanations, own = _texts(dataset), {}, {}
    for row, document in _first_relevant(dataset):
        explanations[row["query_id"]] = row["gold_answer"]
        own[row["query_id"]] = document
    kind = "reference answers"
    cited = _citations(dataset, own)
    return Explained(dataset.name, kind, explanations, texts, own, cited, {})


def _citations(dataset, own):
    if "citation" not in dataset.documents:
        return {}
    known = dict(zip(dataset.documents["doc_id"], dataset.documents["citation"], strict=True))
    return {key: known[document] for key, document in own.items()}


def stored_answers(dataset, run):
    """Read the answers of one stored run of PDPABench with their evidence."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        raise InputError(f"stored answers need {MIRROR_VARIABLE} to be set")
    folder = Path(mirror) / "pdpabench" / "generation" / valid_name(run, "run of answers")
    path = folder / "detailed_results.jsonl"
    if not path.is_file():
        raise InputError(f"{path}: no stored answers; choose from the folder's runs")
    texts = _texts(dataset)
    relevant = {row["query_id"]: doc for row, doc in _first_relevant(dataset)}
    explanations, sources, own, cited, left_out = {}, {}, {}, {}, {}
    known = _citations(dataset, {d: d for d in texts})
    fields = {"qid": str, "prediction": dict, "reranking": dict}
    for _, row in read_jsonl(path, fields):
        key, answer = row["qid"], row["prediction"].get("answer_text")
        shown = [d for d in row["reranking"].get("used_ids_r3", []) if d in texts]
        passages = shown or [d for d in [relevant.get(key)] if d]
        if not answer or not passages:
            why = "no answer" if not answer else "no passage"
            left_out[why] = left_out.get(why, 0) + 1
            continue
        explanations[key], own[key] = answer, key
        sources[key] = "\n\n".join(texts[d] for d in passages)
        cited[key] = "; ".join(known[d] for d in passages if d in known)
    name = f"{dataset.name}.{run}"
    kind = f"stored answers of {run}"
    return Explained(name, kind, explanations, sources, own, cited, left_out)
