"""Explanations with their sources, copies with planted defects, and detectors of these defects."""

import math
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data.folders import read_collection
from casebook.data.sources import MIRROR_VARIABLE
from casebook.data.tables import read_roles, read_table
from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.frames import DIFFERENCE_COLUMNS, area_contrasts, areas
from casebook.measures.faithfulness import (
    MATCHED,
    MISMATCHED,
    RULES,
    THRESHOLD,
    faithfulness,
    grounded_share,
    pair_sources,
    sentence_rows,
    sentence_shares,
    separation,
)
from casebook.measures.mentions import find_flip, provisions, share_named
from casebook.measures.quotations import find_quotes, share_quoted_rightly
from casebook.paths import valid_name
from casebook.readers import read_jsonl
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT
from casebook.sensitivity.extract import extract_sheet
from casebook.stats.intervals import Interval, bootstrap_mean, clustered_wilson
from casebook.stats.samples import generator, number_or_none
from casebook.text import content_words, sentence_texts, sentences
from casebook.verdicts import NO_DIFFERENCE, NO_UNIT_DIFFERS, verdict_of

LEAST_SOURCES = 5
SWAPPED = "source swapped"
PLANTED_DEFECTS = (
    "number changed",
    "negation turned",
    "foreign sentence",
    "quotation stitched",
)
FAITHFULNESS = {f"{rule} faithfulness": f"Faithfulness, {name}" for rule, name in RULES.items()}
SHARE_OF_WORDS = {rule: f"Share of words, {name}" for rule, name in RULES.items()}
DETECTORS = {
    **FAITHFULNESS,
    **SHARE_OF_WORDS,
    "weighted": "Share of words, rare ones count more",
    "mentions": "Mentions",
    "polarity": "Negation",
    "quotes": "Quotations",
}
"""Detectors and their names. The faithfulness of a rule is its share of grounded sentences."""
DETECTOR_CONTRASTS = [
    ("corrected faithfulness", "documented faithfulness"),
    ("corrected faithfulness", "code faithfulness"),
    ("corrected", "documented"),
    ("corrected", "code"),
]
"""The standard measure and COUNTERCASE's, which are compared."""
SENTENCES = "AUROC of sentences"


# --- explanations and their sources


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations and their sources, both by key."""

    name: str
    kind: str
    explanations: dict
    sources: dict
    source_of: dict  # {explanation: its source}
    cited: dict  # {explanation: citations of its passages}
    left_out: dict  # {reason: count}
    reading: dict | None = None  # what was read of a file


EXPLAINERS = {
    "explainer": (
        "corrected",
        "sentences of the standard explainer, each of which names a fact that it found in the "
        "source",
    ),
    "documented explainer": (
        "documented",
        "sentences of COUNTERCASE's explainer, which it does not check",
    ),
}
EXPLANATION_KINDS = ("template", "gold", *EXPLAINERS)


def explain_dataset(dataset, kind="template", *, limit=None, seed=0):
    """Explain each question's best, first relevant document; draw at most `limit` explanations.

    `kind` is ``template`` (the question and a quotation), ``gold`` (reference answers),
    ``explainer`` or ``documented explainer`` (sentences of `Explainer`), or the name of a run of
    PDPABench's stored answers.
    """
    pairs = list(_first_relevant(dataset))
    if kind == "template":
        explained = _template_explanations(dataset, pairs)
    elif kind == "gold":
        explained = _reference_answers(dataset, pairs)
    elif kind in EXPLAINERS:
        explained = _explainer_sentences(dataset, pairs, kind)
    elif dataset.key == "pdpabench":
        explained = _stored_answers(dataset, pairs, kind)
    else:
        raise InputError(
            f"explanations: {kind!r}: choose from {', '.join(EXPLANATION_KINDS)}, a file of your "
            "own, or with dataset=pdpabench a run of its answers"
        )
    return limited(explained, limit, seed)


def _first_relevant(dataset):
    """Yield each question with its best, first relevant document that the data have."""
    for question in dataset.queries.to_dict("records"):
        grades = dataset.qrels.get(question["query_id"], {})
        relevant = [doc for doc in grades if grades[doc] >= 1 and doc not in dataset.lacking]
        if relevant:
            yield question, max(relevant, key=grades.get)


def _document_column(dataset, name):
    if name not in dataset.documents:
        return {}
    return dict(zip(dataset.documents["doc_id"], dataset.documents[name], strict=True))


def _template_explanations(dataset, pairs):
    texts = _document_column(dataset, "text")
    explanations = {}
    for question, document in pairs:
        quotation = _quotation(question["text"], texts[document])
        if quotation is not None:
            explanations[question["query_id"]] = quotation
    return _explained(
        dataset.name,
        "template: the question and a quotation",
        explanations,
        texts,
        pairs,
        reason="no sentence to quote",
    )


def _reference_answers(dataset, pairs):
    if "gold_answer" not in dataset.queries:
        raise InputError(
            f"{dataset.name} has no reference answers: choose other explanations than gold"
        )
    explanations = {}
    cited = {}
    citations = _document_column(dataset, "citation")
    for question, document in pairs:
        key = question["query_id"]
        if question["gold_answer"] is not None:
            explanations[key] = question["gold_answer"]
        if citations:
            cited[key] = citations[document]
    texts = _document_column(dataset, "text")
    explained = _explained(dataset.name, "reference answers", explanations, texts, pairs, reason="")
    return replace(explained, cited=cited)


def _explainer_sentences(dataset, pairs, kind):
    """Explain by the sentences of an explainer; a question is left out if it finds nothing."""
    rules, description = EXPLAINERS[kind]
    texts = _document_column(dataset, "text")
    explainer = Explainer({doc: texts[doc] for _, doc in pairs}, rules == "documented")
    explanations = {}
    for question, document in pairs:
        key = question["query_id"]
        explanation = explainer.result(extract_sheet(question["text"], key).sheet, document)
        kinds = {sentence.kind for sentence in explanation.sentences}
        if not kinds <= {"nothing", "similarity"}:
            explanations[key] = explanation.text
    return _explained(
        f"{dataset.name}.{rules}_explainer",
        description,
        explanations,
        texts,
        pairs,
        reason="nothing in common found",
    )


def _explained(name, kind, explanations, texts, pairs, *, reason):
    """Give each explanation its document as source, and count the questions without one."""
    source_of = {}
    for question, document in pairs:
        if question["query_id"] in explanations:
            source_of[question["query_id"]] = document
    left_out = {}
    if len(explanations) < len(pairs):
        left_out[reason] = len(pairs) - len(explanations)
    return Explained(name, kind, explanations, texts, source_of, {}, left_out)


def _stored_answers(dataset, pairs, run):
    """Read the answers of one run of PDPABench with the passages that the model saw."""
    path = _stored_run(run)
    texts = _document_column(dataset, "text")
    citations = _document_column(dataset, "citation")
    relevant = {question["query_id"]: [document] for question, document in pairs}
    explanations = {}
    sources = {}
    cited = {}
    left_out = Counter()
    for _, row in read_jsonl(path, {"qid": str, "prediction": dict, "reranking": dict}):
        key = row["qid"]
        answer = row["prediction"].get("answer_text")
        passages = [doc for doc in row["reranking"].get("used_ids_r3", []) if doc in texts]
        passages = passages or relevant.get(key)
        if not answer:
            left_out["no answer"] += 1
        elif not passages:
            left_out["no passage"] += 1
        else:
            explanations[key] = answer
            sources[key] = "\n\n".join(texts[doc] for doc in passages)
            cited[key] = "; ".join(citations[doc] for doc in passages if doc in citations)
    return Explained(
        name=f"{dataset.name}.{run}",
        kind=f"stored answers of {run}",
        explanations=explanations,
        sources=sources,
        source_of={key: key for key in explanations},
        cited=cited,
        left_out=dict(left_out),
    )


def _stored_run(run):
    """Give the file of one run of PDPABench's answers."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        raise InputError(f"stored answers need {MIRROR_VARIABLE} to be set")
    folder = Path(mirror) / "pdpabench" / "generation" / valid_name(run, "run of answers")
    path = folder / "detailed_results.jsonl"
    if not path.is_file():
        raise InputError(f"{path}: no stored answers; choose from the folder's runs")
    return path


def _quotation(text, source):
    """Give a question and the sentence of the source that shares most content words with it.

    None if the source has no sentence.
    """
    question = _short_question(text)
    question_words = content_words(question)
    source_sentences = sentence_texts(source[:20_000])
    if not source_sentences:
        return None
    candidates = [sentence for sentence in source_sentences if 5 <= len(sentence.split()) <= 40]
    best = max(
        candidates or source_sentences,
        key=lambda sentence: len(question_words & content_words(sentence)),
    )
    best = re.sub(r"\s+", " ", best).replace("“", "").replace("”", "")
    return f"It was found for: {question} It says: “{best}”"


def _short_question(text):
    """Give the first 60 words of a question.

    Of a judgment they are those of the sentence around its first masked citation.
    """
    mask = "[?CITATION?]"
    position = text.find(mask)
    if position >= 0:
        text = text[max(0, position - 600) : position + 600].replace(mask, " ")
    spans = sentences(text)
    if position >= 0 and len(spans) > 2:
        spans = spans[len(spans) // 2 :]
    if spans:
        start, end = spans[0]
        text = text[start:end]
    return " ".join(text.split()[:60]).rstrip(".,;:?!") + "."


# --- one's own explanations


def read_explanations(path, folder=None, columns=None, rows=None, lists="json"):
    """Explanations of documents of a folder (sources), or of texts of the file (contexts)."""
    texts = {}
    if folder is not None:
        documents = read_collection(folder)
        texts = dict(zip(documents["doc_id"], documents["text"], strict=True))
    table = read_table(path, rows)
    reading = read_roles(table, "explanations", ["explanation"], columns, lists=lists)
    if "id" not in reading:
        reading.table["id"] = [f"line {row}" for row in table.index]
    keys = reading.texts("id")
    reading.refuse_repeats("id")
    explanations = reading.texts("explanation")
    contexts = reading.lists("contexts")
    source = reading.texts("source", may_be_empty=True)
    named = reading.lists("sources").where(source == "", source.map(lambda name: [name]))
    for row in keys.index[contexts.map(bool) == named.map(bool)][:1]:
        kinds = "'source' (an id), 'sources' (a list of ids) or 'contexts' (a list of texts)"
        reading.refuse(row, f"name one of {kinds}")
    for row, name in named.explode().dropna().items():
        if not texts.get(name, "").strip():
            problem = "name the folder of the sources too"
            if folder:
                problem = f"{folder} has no such document with text"
            reading.refuse(row, f"source {name!r}: {problem}")
    sources = {name: text for name, text in texts.items() if text.strip()}
    source_of = {}
    for key, words, names in zip(keys, contexts, named, strict=True):
        parts = words or list(dict.fromkeys(names))
        source_of[key] = "\0".join(parts)
        words = words or [texts[name] for name in parts]
        sources.setdefault(source_of[key], "\n\n".join(words))
    n_contexts = contexts.map(bool).sum()
    reading.notes.append(f"{n_contexts} with contexts, {len(table) - n_contexts} with sources")
    return Explained(
        Path(path).stem,
        "explanations of your own",
        dict(zip(keys, explanations, strict=True)),
        sources,
        source_of,
        {},
        {},
        reading.record(),
    )


def limited(explained, limit, seed):
    """Draw at most so many explanations, of enough sources to compare."""
    keys = list(explained.explanations)
    if limit is not None and len(keys) > limit:
        order = generator(seed, "explanations").permutation(len(keys))
        sample = [keys[i] for i in sorted(order[:limit])]
        explained = replace(
            explained,
            explanations={key: explained.explanations[key] for key in sample},
            source_of={key: explained.source_of[key] for key in sample},
            left_out=explained.left_out | {"not drawn": len(keys) - limit},
        )
    texts = {explained.sources[source] for source in explained.source_of.values()}
    if len(texts) < LEAST_SOURCES:
        count = f"{len(texts)} different source(s) with an explanation"
        raise InputError(f"{explained.name}: {count}, {LEAST_SOURCES} are the fewest to compare")
    return explained


# --- scores under all rules


@dataclass(frozen=True, eq=False)
class ExplanationScores:
    """Explanations against own and foreign sources, under all rules."""

    rows: pd.DataFrame  # a row per rule, condition, explanation, source and sentence
    grounded: dict  # {rule: explanations x conditions}
    numbers: dict  # {rule: {"AUROC of sentences": number, "faithfulness": number}}


def score_explanations(explained, *, foreign=3, pool=None, n_resamples=10_000, seed=0):
    """Score explanations under all rules, against their own sources and some of others (`pool`)."""
    texts = (explained.explanations, explained.sources, explained.source_of)
    rows = sentence_rows(*texts, pair_sources(*texts, draws=foreign, seed=seed, pool=pool))
    grounded = {}
    numbers = {}
    nothing = Interval(None, None, None, 0.95, 0, "", "no_claim").number()
    for rule in RULES:
        claims = rows[(rows["rule"] == rule) & rows["share"].notna()]
        claims = claims.assign(grounded=claims["share"] >= THRESHOLD - 1e-12)
        means = claims.pivot_table("grounded", "explanation", "condition", sort=False)
        means = means.reindex(index=claims["explanation"].unique(), columns=[MATCHED, MISMATCHED])
        grounded[rule] = means
        if claims.empty:
            numbers[rule] = {SENTENCES: nothing, "faithfulness": nothing}
            continue
        faithful = bootstrap_mean(
            means[MATCHED].to_numpy(),
            clusters=[explained.source_of[key] for key in means.index],
            n_resamples=n_resamples,
            seed=seed,
        )
        numbers[rule] = {
            SENTENCES: separation(rows, rule).number(0.5),
            "faithfulness": faithful.number(number_or_none(means[MISMATCHED].mean())),
        }
    return ExplanationScores(rows, grounded, numbers)


def score_report(explained, scored):
    """Give scores of explanations as plain data: the rules, then each explanation by sentence."""
    matched = scored.rows[scored.rows["condition"] == MATCHED]
    shares_by_rule = {
        key: rows.groupby("rule")["share"].apply(list).to_dict()
        for key, rows in matched.groupby("explanation")
    }
    items = []
    for key in explained.explanations:
        item = {"id": key, "source": explained.source_of[key].split("\0")}
        for rule, means in scored.grounded.items():
            shares = shares_by_rule[key].get(rule, ())
            item[rule] = {
                "faithfulness": number_or_none(means[MATCHED].get(key)),
                "foreign": number_or_none(means[MISMATCHED].get(key)),
                "shares": [number_or_none(share) for share in shares],
            }
        items.append(item)
    return {
        "explanations": explained.name,
        "threshold": THRESHOLD,
        **scored.numbers,
        "items": items,
    }


def score_parts(report):
    """Give the scores of explanations as lines and tables for people."""
    against = {"faithfulness": "foreign sources", SENTENCES: "chance"}
    numbers = []
    for rule, title in RULES.items():
        for measure, number in report[rule].items():
            row = {"rule": title, "measure": measure, "against": against[measure]}
            numbers.append(row | number)
    numbers = pd.DataFrame(numbers)
    numbers[["low", "high"]] = numbers["ci"].tolist()
    columns = ["rule", "measure", "value", "low", "high", "against", "control", "n", "reason"]
    items = []
    for item in report["items"]:
        row = {"id": item["id"]}
        for rule, title in RULES.items():
            row[title] = item[rule]["faithfulness"]
            row[f"{title}, foreign"] = item[rule]["foreign"]
        not_grounded = [
            str(number)
            for number, share in enumerate(item["corrected"]["shares"], 1)
            if share is not None and share < THRESHOLD
        ]
        row["sentences not grounded"] = ", ".join(not_grounded)
        items.append(row)
    title = (
        f"{report['explanations']}: {len(items)} explanations, sentences grounded at "
        f"{THRESHOLD:.0%} of their words"
    )
    return [title], numbers[columns], pd.DataFrame(items)


# --- planted defects


_NUMBER = re.compile(r"(?<![\w.(\[])\d{1,3}(?:,\d{3})*(?![\w)\]])")
_AUXILIARY = re.compile(
    r"\b(?P<verb>may|must|shall|will|can|is|are|was|were|has|have|does|do)\b(?P<negation> not)?"
)
_BREAK = re.compile(r"(?<=[.:?!]) (?=[A-Z“])")


def corrupt(explanations, *, seed=0):
    """Copy explanations with one defect each: {defect: {key: text}}.

    A text that does not allow a defect has no copy.
    """
    keys = list(explanations)
    order = generator(seed, "corruptions").permutation(len(keys))
    following = {keys[a]: keys[b] for a, b in zip(order, np.roll(order, -1), strict=True)}
    copies = {defect: {} for defect in PLANTED_DEFECTS}
    for key, text in explanations.items():
        donor = explanations[following[key]]
        spoilt = {
            "number changed": _number_changed(text),
            "negation turned": _negation_turned(text),
            "foreign sentence": _foreign_sentence(text, donor),
            "quotation stitched": _stitched(text, donor),
        }
        for defect, copy in spoilt.items():
            if copy is not None and copy != text:
                copies[defect][key] = copy
    return copies


def _number_changed(text):
    """Double the last number and add one."""
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return None
    last = matches[-1]
    number = int(last.group().replace(",", ""))
    return f"{text[: last.start()]}{2 * number + 1}{text[last.end() :]}"


def _negation_turned(text):
    """Take the "not" from the last auxiliary verb, or add it."""
    matches = list(_AUXILIARY.finditer(text))
    if not matches:
        return None
    last = matches[-1]
    turned = last["verb"] if last["negation"] else f"{last['verb']} not"
    return f"{text[: last.start()]}{turned}{text[last.end() :]}"


def _foreign_sentence(text, donor):
    """Replace the last sentence by that of another text."""
    return text[: _start_of_last_sentence(text)] + donor[_start_of_last_sentence(donor) :]


def _start_of_last_sentence(text):
    starts = [match.end() for match in _BREAK.finditer(text)]
    return starts[-1] if starts else 0


def _stitched(text, donor):
    """Replace the second half of the last quotation by that of another text."""
    quotes = find_quotes(text)
    donor_quotes = find_quotes(donor)
    if not quotes or not donor_quotes:
        return None
    start, end = quotes[-1]
    donor_start, donor_end = donor_quotes[-1]
    words = text[start:end].split()
    donor_words = donor[donor_start:donor_end].split()
    stitched = words[: len(words) // 2] + donor_words[len(donor_words) // 2 :]
    return f"{text[:start]}{' '.join(stitched)}{text[end:]}"


# --- detectors of defects


def detector_scores(explanation, source, weights):
    """Score an explanation with every detector, higher for more faithful.

    A score is None where there is nothing to judge.
    """
    faithful = {}
    mean_shares = {}
    for rule, supports in sentence_shares(explanation, source).items():
        shares = [support.share for support in supports if support.share is not None]
        faithful[f"{rule} faithfulness"] = grounded_share(shares) if shares else None
        mean_shares[rule] = _mean(shares)
    source_sentences = tuple(sentence_texts(source))
    same_polarity = []
    for start, end in sentences(explanation):
        turned = find_flip(explanation[start:end], source_sentences)
        if turned is not None:
            same_polarity.append(not turned)
    return {
        **faithful,
        **mean_shares,
        "weighted": faithfulness(explanation, source, weights=weights).mean_share,
        "mentions": share_named(explanation, source),
        "polarity": _mean(same_polarity),
        "quotes": share_quoted_rightly(explanation, [source]),
    }


def _mean(values):
    return math.fsum(values) / len(values) if values else None


def scored_copies(explained, weights, *, seed=0):
    """Score every original and its spoilt copies by every detector.

    Gives a row per defect, explanation and version. The source of a copy is its own, but for the
    defect "source swapped", where the text is the original's.
    """
    own_sources = {}
    originals = {}
    for key, text in explained.explanations.items():
        own_sources[key] = explained.sources[explained.source_of[key]]
        originals[key] = detector_scores(text, own_sources[key], weights)
    foreign = pair_sources(
        explained.explanations, explained.sources, explained.source_of, draws=1, seed=seed
    )
    swapped = {key: explained.sources[source] for key, (source,) in foreign.items()}
    spoilt = {SWAPPED: explained.explanations} | corrupt(explained.explanations, seed=seed)
    rows = []
    for defect, copies in spoilt.items():
        sources = swapped if defect == SWAPPED else own_sources
        for key, text in copies.items():
            row = {"defect": defect, "key": key, "source": explained.source_of[key]}
            rows.append(row | {"original": True} | originals[key])
            copy = detector_scores(text, sources[key], weights)
            rows.append(row | {"original": False} | copy)
    frame = pd.DataFrame(rows, columns=["defect", "key", "source", "original", *DETECTORS])
    return frame.astype(dict.fromkeys(DETECTORS, float)).astype({"original": bool})


def detect(copies):
    """AUROC of every detector for originals against copies with a defect, clustered by source.

    `n` copies have the defect; `judged` are those where original and copy have a score. Where every
    copy scores as its original there is no interval.
    """
    rows = []
    for defect in (SWAPPED, *PLANTED_DEFECTS):
        versions = copies[copies["defect"] == defect]
        for detector in DETECTORS:
            scored = _with_scores(versions, [detector])
            row = {
                "defect": defect,
                "detector": detector,
                "n": len(versions) // 2,
                "judged": len(scored) // 2,
            }
            if scored.empty:
                row |= {"groups": 0, "reason": "nothing to judge"}
            else:
                row |= _detection(scored, detector)
            rows.append(row)
    columns = ["defect", "detector", "n", "auroc", "low", "high", "judged", "groups", "reason"]
    return with_reasons(rows, columns).astype({"auroc": float, "low": float, "high": float})


def with_reasons(rows, columns=None):
    """Give rows as a frame in which a missing reason is None, whatever type pandas infers."""
    table = pd.DataFrame(rows, columns=columns)
    for name in table.columns.intersection(["reason", "noticed_reason"]):
        table[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return table


def _with_scores(versions, detectors):
    """Keep the explanations of which the detectors can score both original and copy."""
    has_scores = versions[detectors].notna().all(axis=1)
    return versions[has_scores.groupby(versions["key"]).transform("all")]


def _detection(scored, detector):
    """AUROC of one detector on the copies of one defect, with its interval."""
    area = areas(scored["original"], scored[[detector]], scored["source"], scored["key"])
    return detection_row(area, is_blind=_is_blind(scored, detector))


def detection_row(area, *, is_blind):
    """AUROC with its interval, which a detector that scores every copy as its original lacks."""
    [row] = area.rename(columns={"value": "auroc"}).drop(columns=["system", "n"]).to_dict("records")
    if is_blind:
        row |= {"low": math.nan, "high": math.nan, "reason": NO_UNIT_DIFFERS}
    return row


def _is_blind(scored, detector):
    """Say whether every copy scores as its original."""
    versions = scored.pivot_table(detector, "key", "original")
    return (versions[True] == versions[False]).all()


def detection_contrasts(copies, margin=0.0):
    """Contrast the AUROCs of the standard and of COUNTERCASE's measures on the same copies."""
    rows = []
    for defect in (SWAPPED, *PLANTED_DEFECTS):
        versions = copies[copies["defect"] == defect]
        for system, against in DETECTOR_CONTRASTS:
            scored = _with_scores(versions, [system, against])
            if len(scored):
                row = _detection_contrast(scored, system, against, margin)
                rows.append({"defect": defect} | row)
    columns = ["defect", *DIFFERENCE_COLUMNS, "level", "baseline", "verdict", "reason"]
    return with_reasons(rows, columns).astype({"low": float, "high": float})


def _detection_contrast(scored, system, against, margin):
    """Difference of two AUROCs on the copies of one defect, with its verdict."""
    [row] = area_contrasts(
        scored["original"],
        scored[[system, against]],
        [(system, against)],
        scored["source"],
        scored["key"],
    ).to_dict("records")
    row["n"] = len(scored) // 2
    no_unit_differs = (
        row["low"] == row["high"] == 0
        or row["level"] == row["baseline"] == 1
        or scored[system].rank().equals(scored[against].rank())
        or (_is_blind(scored, system) and _is_blind(scored, against))
    )
    if no_unit_differs:
        row |= {"difference": 0.0, "low": None, "high": None, "reason": NO_UNIT_DIFFERS}
    row["verdict"] = verdict_of(row["low"], row["high"], margin, reason=row["reason"])
    return row


def detection_answer(row, margin):
    """Give the fields of a `Headline` on whether standard faithfulness notices a defect better."""
    levels = f"standard {row['level']:.3f}, COUNTERCASE {row['baseline']:.3f}"
    rule = RULES[row["against"].removesuffix(" faithfulness")]
    return {
        "system": "Standard faithfulness",
        "against": f"{rule} ({levels})",
        "measure": "AUROC of faithfulness",
        "margin": margin,
        "unit": "explanations",
        "cluster": "sources",
        "level": row["level"],
        "baseline": row["baseline"],
        "chance": 0.5 - row["baseline"],
        "answers": _detection_answers(row, margin),
        "words": {HELPS: "better", HURTS: "COUNTERCASE better"},
    }


def _detection_answers(row, margin):
    """Give the opening words by verdict."""
    alike = {}
    if min(row["level"], row["baseline"]) >= 0.9:
        alike = dict.fromkeys([NO_EFFECT, NO_DIFFERENCE], "Both notice it")
    elif max(row["level"], row["baseline"]) < 0.5 + margin:
        alike = dict.fromkeys([NO_EFFECT, NO_DIFFERENCE], "Neither notices it")
    extent = ""
    if min(abs(row["low"]), abs(row["high"])) < margin:
        extent = f", though perhaps by less than the difference that matters ({margin:g})"
    return {
        HELPS: f"Yes{extent}",
        HURTS: f"No, COUNTERCASE's notices it better{extent}",
        **alike,
    }


# --- citations


def cited_provisions(explained):
    """Count the provisions that explanations cite.

    They are compared with the citations of their own passages (matched) and of those of the next
    explanation (mismatched).
    """
    keys = [key for key in explained.explanations if explained.cited.get(key)]
    rows = []
    if keys:
        following = keys[1:] + keys[:1]
        rows += _citation_states(explained, MATCHED, keys, keys)
        rows += _citation_states(explained, MISMATCHED, keys, following)
    return pd.DataFrame(rows, columns=["condition", "state", "count", "share", "low", "high", "n"])


def _citation_states(explained, condition, keys, passage_keys):
    """Give a row per state of the provisions of explanations against those of passages."""
    states = []
    for key, passage_key in zip(keys, passage_keys, strict=True):
        provisions = _provisions(explained.explanations[key])
        of_passages = _provisions(explained.cited[passage_key])
        states.append([_citation_state(number, of_passages) for number in provisions])
    sizes = [len(of_explanation) for of_explanation in states]
    rows = []
    for state in ("exact", "same section", "absent"):
        counts = [of_explanation.count(state) for of_explanation in states]
        share = clustered_wilson(counts, sizes)
        rows.append(
            {
                "condition": condition,
                "state": state,
                "count": sum(counts),
                **share.row("share"),
            }
        )
    return rows


def _provisions(text):
    """List the distinct numbers of the provisions that a text cites."""
    numbers = dict.fromkeys(provision.partition(" ")[2] for provision in provisions(text))
    return [number.removesuffix("(0)") for number in numbers]


def _citation_state(number, provisions):
    if any(number == provision or number.startswith(f"{provision}(") for provision in provisions):
        return "exact"
    sections = {provision.partition("(")[0] for provision in provisions}
    return "same section" if number.partition("(")[0] in sections else "absent"
