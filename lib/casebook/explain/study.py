"""Explanations with their sources, made wrong on purpose, and detectors held against what is wrong."""

import math
import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from casebook.data.folders import read_collection
from casebook.data.sources import MIRROR_VARIABLE
from casebook.errors import InputError
from casebook.explain.templates import Explainer
from casebook.measures.classification import auroc, auroc_difference
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
from casebook.measures.mentions import find_flip, share_named
from casebook.measures.quotations import find_citations, find_quotes, share_held
from casebook.paths import valid_name
from casebook.readers import read_jsonl
from casebook.runs.headlines import HELPS, HURTS, NO_EFFECT, Headline
from casebook.sensitivity.extract import extract_sheet
from casebook.sensitivity.facts import fitting
from casebook.stats.intervals import Interval, bootstrap_mean, clustered_wilson
from casebook.stats.samples import number_or_none, stream
from casebook.text import content_words, sentences
from casebook.verdicts import NO_UNIT_DIFFERS, NOT_MEASURED, verdict_of

LEAST_SOURCES = 5
SWAPPED = "source swapped"
DEFECTS = ("number changed", "negation turned", "foreign sentence", "quotation stitched")
FAITHFULNESS = {f"{rule} faithfulness": f"Faithfulness, {name}" for rule, name in RULES.items()}
SHARES = {rule: f"Share of words, {name}" for rule, name in RULES.items()}
DETECTORS = (
    FAITHFULNESS
    | SHARES
    | {
        "weighted": "Share of words, rare ones count more",
        "mentions": "Mentions",
        "polarity": "Negation",
        "quotes": "Quotations",
    }
)
"""Detectors and their names. The faithfulness of a rule is its share of grounded sentences."""
CONTRASTS = [
    (f"corrected{measure}", f"{rule}{measure}")
    for measure in (" faithfulness", "")
    for rule in ("documented", "code")
]
SENTENCES = "AUROC of sentences"


@dataclass(frozen=True, eq=False)
class Explained:
    """Explanations, their sources, and who belongs to whom; all by key."""

    name: str
    kind: str
    explanations: dict
    sources: dict
    own: dict  # {explanation: its source}
    cited: dict  # {explanation: citations of its passages}
    left_out: dict  # {reason: count}


EXPLAINERS = {
    "explainer": (
        "corrected",
        "sentences of the standard explainer, each of which names a fact that it found in the source",
    ),
    "documented explainer": (
        "documented",
        "sentences of COUNTERCASE's explainer, which it does not check",
    ),
}


KINDS = ("template", "gold", *EXPLAINERS)


def explain(dataset, kind="template", *, limit=None, seed=0):
    """Make or read the explanations of a dataset, each of its best, first relevant document; at most `limit`, drawn.

    `kind` is ``template`` (the question and a quotation), ``gold`` (reference answers), ``explainer`` or
    ``documented explainer`` (sentences of `Explainer`), or the name of a run of PDPABench's stored answers.
    """
    pairs, texts, known = (
        list(_first_relevant(dataset)),
        _column(dataset, "text"),
        _column(dataset, "citation"),
    )
    name, cited, why = dataset.name, {}, ""
    if kind == "template":
        how, why = "template: the question and a quotation", "no sentence to quote"
        found = [_quotation(row["text"], texts[document]) for row, document in pairs]
    elif kind == "gold":
        _check_gold(dataset)
        how, found = "reference answers", [row["gold_answer"] for row, _ in pairs]
        cited = {row["query_id"]: known[document] for row, document in pairs} if known else {}
    elif kind in EXPLAINERS:
        (rules, how), why = EXPLAINERS[kind], "nothing in common found"
        name = f"{name}.{rules}_explainer"
        explainer = Explainer(
            {document: texts[document] for _, document in pairs}, rules == "documented"
        )
        found = [_sentences_of(explainer, row, document) for row, document in pairs]
    else:
        return limited(_stored_answers(dataset, kind, pairs, texts, known), limit, seed)
    made = {
        row["query_id"]: text
        for (row, _), text in zip(pairs, found, strict=True)
        if text is not None
    }
    own = {row["query_id"]: document for row, document in pairs if row["query_id"] in made}
    left_out = {why: len(pairs) - len(made)} if len(made) < len(pairs) else {}
    return limited(Explained(name, how, made, texts, own, cited, left_out), limit, seed)


_Text = Annotated[str, Field(pattern=r"\S")]


class Record(BaseModel):
    """A line of a file of explanations: a text, and ids or texts of what it explains."""

    model_config = ConfigDict(extra="forbid")
    id: _Text | None = None
    explanation: _Text
    source: _Text | None = None
    sources: list[_Text] | None = None
    contexts: list[_Text] | None = None

    @model_validator(mode="after")
    def _one_side(self):
        if sum(map(bool, (self.source, self.sources, self.contexts))) != 1:
            raise ValueError("name one of 'source' (an id), 'sources' (ids) or 'contexts' (texts)")
        return self


def own_explanations(path, folder=None):
    """Take the explanations of a file with their sources, documents of a folder or texts of the file itself."""
    documents = (
        read_collection(folder) if folder is not None else pd.DataFrame(columns=["doc_id", "text"])
    )
    texts = {
        key: text
        for key, text in zip(documents["doc_id"], documents["text"], strict=True)
        if text.strip()
    }
    explanations, own, sources = {}, {}, dict(texts)
    for number, line in read_jsonl(path, {}):
        record = fitting(path, number, line, Record)
        key, ids = (
            record.id or f"line {number}",
            list(dict.fromkeys(record.sources or [record.source])),
        )
        if key in explanations:
            raise InputError.at(path, number, f"id {key!r} comes twice")
        if not record.contexts and (lost := [one for one in ids if one not in texts]):
            where = (
                f"{folder} has no such document with text"
                if folder
                else "name the folder of the sources too"
            )
            raise InputError.at(path, number, f"source {lost[0]!r}: {where}")
        explanations[key], own[key] = record.explanation, "\0".join(record.contexts or ids)
        sources.setdefault(own[key], "\n\n".join(record.contexts or [texts[one] for one in ids]))
    if not explanations:
        raise InputError(f"{path}: holds no explanations")
    return Explained(
        Path(path).stem, "explanations of your own", explanations, sources, own, {}, {}
    )


def check_parameters(values):
    """Refuse explanations that the chapter cannot use, before a kernel starts."""
    kind = values["explanations"]
    if Path(kind).is_absolute():
        limited(own_explanations(kind, values.get("sources")), None, 0)
    elif kind not in KINDS and values["dataset"] != "pdpabench":
        choices = f"{', '.join(KINDS)}, a file of your own, or with dataset=pdpabench a run of its answers"
        raise InputError(f"explanations: {kind!r}: choose from {choices}")
    elif kind not in KINDS and os.environ.get(MIRROR_VARIABLE):
        _stored(kind)


@dataclass(frozen=True, eq=False)
class Scored:
    """Explanations against own and foreign sources, under all rules: sentences, means by explanation, numbers."""

    rows: pd.DataFrame  # a row per rule, condition, explanation, source and sentence
    grounded: dict  # {rule: explanations x conditions}
    numbers: dict  # {rule: {"AUROC of sentences": number, "faithfulness": number}}


def score(explained, *, foreign=3, pool=None, n_resamples=10_000, seed=0):
    """Score explanations under COUNTERCASE's and the standard rule, beside sources of others, out of a `pool`."""
    pairing = pair_sources(
        explained.explanations,
        explained.sources,
        explained.own,
        draws=foreign,
        seed=seed,
        pool=pool,
    )
    rows, grounded, numbers = sentence_rows(pairing), {}, {}
    nothing = Interval(None, None, None, 0.95, 0, "", "no_claim").number()
    for rule in RULES:
        claims = rows[(rows["rule"] == rule) & rows["share"].notna()]
        claims = claims.assign(grounded=claims["share"] >= THRESHOLD - 1e-12)
        means = claims.pivot_table("grounded", "explanation", "condition", sort=False)
        means = grounded[rule] = means.reindex(
            index=claims["explanation"].unique(), columns=[MATCHED, MISMATCHED]
        )
        if claims.empty:
            numbers[rule] = {SENTENCES: nothing, "faithfulness": nothing}
            continue
        clusters = [explained.own[key] for key in means.index]
        own = bootstrap_mean(
            means[MATCHED].to_numpy(), clusters=clusters, n_resamples=n_resamples, seed=seed
        )
        faithful = own.number(number_or_none(means[MISMATCHED].mean()))
        numbers[rule] = {SENTENCES: separation(rows, rule).number(0.5), "faithfulness": faithful}
    return Scored(rows, grounded, numbers)


def score_report(explained, found):
    """Give scores of explanations as plain data: the rules, then each explanation with its sentences."""
    items, rows = [], found.rows[found.rows["condition"] == MATCHED]
    parts = {
        key: part.groupby("rule")["share"].apply(list).to_dict()
        for key, part in rows.groupby("explanation")
    }
    for key in explained.explanations:
        item = {"id": key, "source": explained.own[key].split("\0")}
        for rule, means in found.grounded.items():
            held = {side: number_or_none(means[side].get(key)) for side in (MATCHED, MISMATCHED)}
            shares = [number_or_none(share) for share in parts[key].get(rule, ())]
            item[rule] = {
                "faithfulness": held[MATCHED],
                "foreign": held[MISMATCHED],
                "shares": shares,
            }
        items.append(item)
    return {"explanations": explained.name, "threshold": THRESHOLD, **found.numbers, "items": items}


def score_parts(report):
    """Give the scores of explanations as lines and tables for people."""
    against = {"faithfulness": "foreign sources", SENTENCES: "chance"}
    numbers = pd.DataFrame(
        {"rule": title, "measure": measure, "against": against[measure], **number}
        for rule, title in RULES.items()
        for measure, number in report[rule].items()
    )
    numbers[["low", "high"]] = numbers["ci"].tolist()
    numbers = numbers[
        ["rule", "measure", "value", "low", "high", "against", "control", "n", "reason"]
    ]
    items = []
    for item in report["items"]:
        shares = enumerate(item["corrected"]["shares"], 1)
        below = [str(n) for n, share in shares if share is not None and share < THRESHOLD]
        row = {"id": item["id"]}
        for rule, name in RULES.items():
            row |= {name: item[rule]["faithfulness"], f"{name}, foreign": item[rule]["foreign"]}
        items.append(row | {"sentences not grounded": ", ".join(below)})
    title = f"{report['explanations']}: {len(items)} explanations, sentences grounded at {THRESHOLD:.0%} of their words"
    return [title], numbers, pd.DataFrame(items)


def _first_relevant(dataset):
    """Each question with its best, first relevant document that is here."""
    for row in dataset.queries.to_dict("records"):
        judged = dataset.qrels.get(row["query_id"], {})
        relevant = [d for d, grade in judged.items() if grade >= 1 and d not in dataset.lacking]
        if relevant:
            yield row, max(relevant, key=lambda d: judged[d])


def _column(dataset, name):
    if name not in dataset.documents:
        return {}
    return dict(zip(dataset.documents["doc_id"], dataset.documents[name], strict=True))


def limited(made, limit, seed):
    """Draw at most so many explanations, of enough sources to compare."""
    keys = list(made.explanations)
    if limit is not None and len(keys) > limit:
        order = np.random.Generator(stream(seed, "explanations")).permutation(len(keys))
        chosen = [keys[i] for i in sorted(order[:limit])]
        explanations = {key: made.explanations[key] for key in chosen}
        own, left_out = (
            {key: made.own[key] for key in chosen},
            made.left_out | {"not drawn": len(keys) - limit},
        )
        made = replace(made, explanations=explanations, own=own, left_out=left_out)
    _check_sources(made.name, {made.sources[key] for key in made.own.values()})
    return made


def _check_sources(name, texts):
    if len(texts) < LEAST_SOURCES:
        count = f"{len(texts)} different source(s) with an explanation"
        raise InputError(f"{name}: {count}, {LEAST_SOURCES} are the fewest to compare")


def check_questions(dataset, values):
    """Refuse data of whose questions too few lead to a source of their own, before a kernel starts."""
    if Path(values["explanations"]).is_absolute():
        return
    if values["explanations"] == "gold":
        _check_gold(dataset)
    texts = _column(dataset, "text")
    _check_sources(dataset.name, {texts[document] for _, document in _first_relevant(dataset)})


def _quotation(text, source):
    """The question, and a quotation of the source's sentence that shares most content with it; None without one."""
    question = _short_question(text)
    asked = content_words(question)
    spans = [source[a:b] for a, b in sentences(source[:20_000])]
    fit = [s for s in spans if 5 <= len(s.split()) <= 40] or spans
    if not fit:
        return None
    best = max(fit, key=lambda s: len(asked & content_words(s)))
    best = re.sub(r"\s+", " ", best).replace("“", "").replace("”", "")
    return f"It was found for: {question} It says: “{best}”"


def _short_question(text):
    """First 60 words of a question; of a judgment, of the sentence around its first masked citation."""
    mask = "[?CITATION?]"
    place = text.find(mask)
    if place >= 0:
        text = text[max(0, place - 600) : place + 600].replace(mask, " ")
    spans = sentences(text)
    if place >= 0 and len(spans) > 2:
        spans = spans[len(spans) // 2 :]
    words = text[spans[0][0] : spans[0][1]].split() if spans else text.split()
    return " ".join(words[:60]).rstrip(".,;:?!") + "."


def _sentences_of(explainer, row, document):
    """What the explainer says of why a document was found, None if it finds nothing."""
    found = explainer.result(extract_sheet(row["text"], row["query_id"]).sheet, document)
    kinds = {sentence.kind for sentence in found.sentences}
    return None if kinds <= {"nothing", "similarity"} else found.text


def _check_gold(dataset):
    if "gold_answer" not in dataset.queries:
        raise InputError(
            f"{dataset.name} has no reference answers: choose other explanations than gold"
        )


def _stored(run):
    """File of one stored run of PDPABench's answers."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        raise InputError(f"stored answers need {MIRROR_VARIABLE} to be set")
    path = (
        Path(mirror)
        / "pdpabench"
        / "generation"
        / valid_name(run, "run of answers")
        / "detailed_results.jsonl"
    )
    if not path.is_file():
        raise InputError(f"{path}: no stored answers; choose from the folder's runs")
    return path


def _stored_answers(dataset, run, pairs, texts, known):
    """Answers of one stored run of PDPABench with the passages that the model was shown."""
    path = _stored(run)
    relevant = {row["query_id"]: [document] for row, document in pairs}
    explanations, sources, own, cited, left_out = {}, {}, {}, {}, Counter()
    for _, row in read_jsonl(path, {"qid": str, "prediction": dict, "reranking": dict}):
        key, answer = row["qid"], row["prediction"].get("answer_text")
        shown = [d for d in row["reranking"].get("used_ids_r3", []) if d in texts] or relevant.get(
            key
        )
        if not answer or not shown:
            left_out["no answer" if not answer else "no passage"] += 1
            continue
        explanations[key], own[key] = answer, key
        sources[key] = "\n\n".join(texts[d] for d in shown)
        cited[key] = "; ".join(known[d] for d in shown if d in known)
    name, how = f"{dataset.name}.{run}", f"stored answers of {run}"
    return Explained(name, how, explanations, sources, own, cited, dict(left_out))


# Defects and detectors


_NUMBER = re.compile(r"(?<![\w.(\[])\d{1,3}(?:,\d{3})*(?![\w)\]])")
_AUXILIARY = re.compile(
    r"\b(?P<verb>may|must|shall|will|can|is|are|was|were|has|have|does|do)\b(?P<negation> not)?"
)
_BREAK = re.compile(r"(?<=[.:?!]) (?=[A-Z“])")


def corrupt(explanations, *, seed=0):
    """Copies with one defect each, {defect: {key: text}}; a text that does not allow a defect has no copy."""
    keys = list(explanations)
    order = np.random.Generator(stream(seed, "corruptions")).permutation(len(keys))
    following = {keys[a]: keys[b] for a, b in zip(order, np.roll(order, -1), strict=True)}
    found = {defect: {} for defect in DEFECTS}
    for key, text in explanations.items():
        other = explanations[following[key]]
        copies = (
            _number_changed(text),
            _negation_turned(text),
            _foreign_sentence(text, other),
            _stitched(text, other),
        )
        for defect, copy in zip(DEFECTS, copies, strict=True):
            if copy is not None and copy != text:
                found[defect][key] = copy
    return found


def _number_changed(text):
    """The last number becomes twice itself and one more."""
    for match in reversed(list(_NUMBER.finditer(text))):
        return f"{text[: match.start()]}{2 * int(match.group().replace(',', '')) + 1}{text[match.end() :]}"
    return None


def _negation_turned(text):
    """The last auxiliary verb loses or gets its "not"."""
    for match in reversed(list(_AUXILIARY.finditer(text))):
        turned = match["verb"] if match["negation"] else f"{match['verb']} not"
        return text[: match.start()] + turned + text[match.end() :]
    return None


def _foreign_sentence(text, other):
    """What follows the last sentence break becomes that of another text."""
    ours, theirs = ([0, *(match.end() for match in _BREAK.finditer(one))] for one in (text, other))
    return text[: ours[-1]] + other[theirs[-1] :]


def _stitched(text, other):
    """Half of the last quotation becomes that of another text."""
    ours, theirs = find_quotes(text), find_quotes(other)
    if not ours or not theirs:
        return None
    (start, end), (left, right) = ours[-1], theirs[-1]
    here, there = text[start:end].split(), other[left:right].split()
    return f"{text[:start]}{' '.join([*here[: len(here) // 2], *there[len(there) // 2 :]])}{text[end:]}"


def scores(explanation, source, weights):
    """Score one explanation with every detector, higher for more faithful, None where there is nothing to judge."""
    shares = {
        rule: [share for _, share in pairs if share is not None]
        for rule, pairs in sentence_shares(explanation, source).items()
    }
    there = tuple(source[a:b] for a, b in sentences(source))
    flips = [find_flip(explanation[a:b], there) for a, b in sentences(explanation)]
    kept = [not (flip.negated or flip.modality) for flip in flips if flip is not None]
    return {
        **{
            f"{rule} faithfulness": grounded_share(each) if each else None
            for rule, each in shares.items()
        },
        **{rule: _mean(each) for rule, each in shares.items()},
        "weighted": faithfulness(explanation, source, weights=weights).mean_share,
        "mentions": share_named(explanation, source),
        "polarity": _mean(kept),
        "quotes": share_held(explanation, {"own": source}),
    }


def _mean(values):
    return math.fsum(values) / len(values) if values else None


def scored_copies(explained, weights, *, seed=0):
    """Score every original and its spoilt copies: a row per defect, explanation and version, a column per detector.

    The source of a copy is its own, but for the defect "source swapped", where the text is the original's.
    """
    own = {key: explained.sources[explained.own[key]] for key in explained.explanations}
    pairing = pair_sources(
        explained.explanations, explained.sources, explained.own, draws=1, seed=seed
    )
    swapped = {key: explained.sources[others[0]] for key, others in pairing.foreign.items()}
    originals = {
        key: scores(text, own[key], weights) for key, text in explained.explanations.items()
    }
    spoilt = {SWAPPED: explained.explanations} | corrupt(explained.explanations, seed=seed)
    rows = []
    for defect, copies in spoilt.items():
        sources = swapped if defect == SWAPPED else own
        for key, text in copies.items():
            known = {"defect": defect, "key": key, "source": explained.own[key]}
            rows.append(known | {"original": True} | originals[key])
            rows.append(known | {"original": False} | scores(text, sources[key], weights))
    frame = pd.DataFrame(rows, columns=["defect", "key", "source", "original", *DETECTORS])
    return frame.astype(dict.fromkeys(DETECTORS, float)).astype({"original": bool})


def detect(scored):
    """AUROC of every detector for originals against copies with a defect, clustered by source.

    `n` copies have the defect; `judged` are those where original and copy have a score. Where every copy scores as its
    original there is no interval.
    """
    rows = []
    for defect in (SWAPPED, *DEFECTS):
        part = scored[scored["defect"] == defect]
        for detector in DETECTORS:
            judged = _judged(part, detector)
            row = {
                "defect": defect,
                "detector": detector,
                "n": len(part) // 2,
                "judged": len(judged) // 2,
            }
            if judged.empty:
                row |= {"groups": 0, "reason": "nothing to judge"}
            else:
                row |= _detection(judged, detector)
            rows.append(row)
    columns = ["defect", "detector", "n", "auroc", "low", "high", "judged", "groups", "reason"]
    return with_reasons(rows, columns).astype({"auroc": float, "low": float, "high": float})


def with_reasons(rows, columns=None):
    """Rows as a frame in which a missing reason is None, whatever kind of text pandas infers."""
    table = pd.DataFrame(rows, columns=columns)
    for name in table.columns.intersection(["reason", "noticed_reason"]):
        table[name] = pd.Series([row.get(name) for row in rows], dtype=object)
    return table


def _detection(judged, detector):
    """AUROC of one detector on the copies of one defect, with its interval."""
    area = auroc(
        judged["original"], judged[detector], clusters=judged["source"], units=judged["key"]
    )
    row = {"auroc": area.estimate, "low": area.low, "high": area.high, "reason": area.reason}
    if _is_blind(judged, detector):
        row |= {"low": None, "high": None, "reason": NO_UNIT_DIFFERS}
    return row | {"groups": judged["source"].nunique()}


def _is_blind(judged, detector):
    """Whether every copy scores as its original."""
    versions = judged.pivot_table(detector, "key", "original")
    return (versions[True] == versions[False]).all()


def detection_contrasts(scored, margin=0.0):
    """Contrast the AUROCs of the standard and of COUNTERCASE's measures, defect by defect, on the same copies."""
    rows = []
    for defect in (SWAPPED, *DEFECTS):
        part = scored[scored["defect"] == defect]
        for detector, against in CONTRASTS:
            judged = _judged(part, detector, against)
            if len(judged):
                row = {"defect": defect, "system": detector, "against": against}
                rows.append(row | _contrast(judged, detector, against, margin))
    columns = [
        "defect",
        "system",
        "against",
        "difference",
        "low",
        "high",
        "n",
        "groups",
        "level",
        "baseline",
    ]
    return with_reasons(rows, [*columns, "verdict", "reason"]).astype({"low": float, "high": float})


def _contrast(judged, detector, against, margin):
    """Difference of two AUROCs on the copies of one defect, with its verdict."""
    scores = judged[detector], judged[against]
    found = auroc_difference(
        judged["original"], *scores, clusters=judged["source"], units=judged["key"]
    )
    level, baseline = (auroc(judged["original"], each).estimate for each in scores)
    row = {
        "difference": found.estimate,
        "low": found.low,
        "high": found.high,
        "reason": found.reason,
    }
    row["verdict"] = verdict_of(found.low, found.high, margin)
    alike = (
        found.low == found.high == 0
        or level == baseline == 1
        or scores[0].rank().equals(scores[1].rank())
    )
    if alike or (_is_blind(judged, detector) and _is_blind(judged, against)):
        row |= {
            "difference": 0.0,
            "low": None,
            "high": None,
            "verdict": NOT_MEASURED,
            "reason": NO_UNIT_DIFFERS,
        }
    counts = {"n": len(judged) // 2, "groups": judged["source"].nunique()}
    return row | counts | {"level": level, "baseline": baseline}


def detection_headline(row, defect, dataset, margin):
    """Answer whether standard faithfulness notices a defect better than COUNTERCASE's, from a contrast of the two."""
    levels = f"standard {row['level']:.3f}, COUNTERCASE {row['baseline']:.3f}"
    rule = RULES[row["against"].removesuffix(" faithfulness")]
    reason = row["reason"]
    if row["verdict"] == NOT_MEASURED:
        reason = f"AUROC of faithfulness {row['level']:.3f} each, no difference on any explanation"
    answers = _detection_answers(row, margin)
    return Headline.of(
        row,
        f"Does standard faithfulness notice {defect} better than COUNTERCASE's?",
        dataset=dataset,
        system="Standard faithfulness",
        against=f"{rule} ({levels})",
        measure="AUROC of faithfulness",
        margin=margin,
        unit="explanations",
        cluster="sources",
        level=row["level"],
        baseline=row["baseline"],
        chance=0.5 - row["baseline"],
        reason=reason,
        answers=answers,
        words={
            HELPS: "better",
            HURTS: "COUNTERCASE better",
            NO_EFFECT: "no difference",
            NOT_MEASURED: answers[NOT_MEASURED].lower(),
        },
    )


def _detection_answers(row, margin):
    """Opening words by verdict."""
    levels = row["level"], row["baseline"]
    alike = "No, the difference is too small to matter"
    if min(levels) >= 0.9:
        alike = "Both notice it"
    elif max(levels) < 0.5 + margin:
        alike = "Neither notices it"
    extent = ""
    if min(abs(row["low"]), abs(row["high"])) < margin:
        extent = f", though perhaps by less than the difference that matters ({margin:g})"
    worse = f"No, COUNTERCASE's notices it better{extent}"
    return {HELPS: f"Yes{extent}", HURTS: worse, NO_EFFECT: alike, NOT_MEASURED: alike}


def _judged(part, *detectors):
    """Keep the explanations of which the detectors can score both original and copy."""
    known = part[list(detectors)].notna().all(axis=1).groupby(part["key"]).transform("all")
    return part[known]


# Citations


def cited_provisions(explained):
    """Provisions that explanations cite, against the citations of their own passages and of the next one's."""
    keys = [key for key in explained.explanations if explained.cited.get(key)]
    follow = dict(zip(keys, [*keys[1:], *keys[:1]], strict=True))
    rows = []
    for condition in ("matched", "mismatched") if keys else ():
        states = []
        for key in keys:
            known = _provisions(explained.cited[key if condition == "matched" else follow[key]])
            states.append([_cited(p, known) for p in _provisions(explained.explanations[key])])
        sizes = [len(own) for own in states]
        for state in ("exact", "same section", "absent"):
            counts = [own.count(state) for own in states]
            found = clustered_wilson(counts, sizes)
            rows.append(
                (condition, state, sum(counts), found.estimate, found.low, found.high, sum(sizes))
            )
    return pd.DataFrame(rows, columns=["condition", "state", "count", "share", "low", "high", "n"])


def _provisions(text):
    """Distinct numbers of the provisions that a text cites."""
    found = [c.parts[2] for c in find_citations(text) if c.kind == "provision"]
    return [number.removesuffix("(0)") for number in dict.fromkeys(found)]


def _cited(number, known):
    if any(number == k or number.startswith(f"{k}(") for k in known):
        return "exact"
    sections = {k.partition("(")[0] for k in known}
    return "same section" if number.partition("(")[0] in sections else "absent"
