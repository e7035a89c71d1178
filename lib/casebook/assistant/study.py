"""What is measured of an assistant's answers: rows of scores with baselines, estimates, contrasts, planted defects."""

import math
import os
import re
import string
from collections import Counter
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.assistant import ANSWERED, TEMPLATES
from casebook.assistant.log import NAMES, checked_log, not_answered, read_log
from casebook.data.registry import load
from casebook.data.sources import MIRROR_VARIABLE
from casebook.errors import InputError
from casebook.explain.study import corrupt, explain, with_reasons
from casebook.explain.study import scores as detector_scores
from casebook.frames import contrasts, estimates
from casebook.measures.classification import auroc
from casebook.measures.faithfulness import documented_faithfulness, faithfulness, inverse_frequency
from casebook.measures.mentions import share_named
from casebook.measures.quotations import bracket_references, share_held
from casebook.measures.ranking import evaluate
from casebook.paths import DATA
from casebook.progress import track
from casebook.readers import read_jsonl
from casebook.stats.intervals import FEWEST
from casebook.stats.samples import stream
from casebook.text import UNSPACED
from casebook.verdicts import NO_UNIT_DIFFERS, gate_verdict

MEASURES = {key: row["name"] for key, row in NAMES["measures"].items()}
"""Key in the files to the name that readers see."""
CONTROLS = {key: row.get("baseline") for key, row in NAMES["measures"].items()}
DEFECTS, DETECTORS = NAMES["defects"], NAMES["detectors"]
COMPARISONS = NAMES["comparisons"]
OWN = "faithfulness"  # of the detectors the measure that the chapter itself reports
MARGIN = 0.05  # differences of shares below it do not matter; of words none is stated


# --- logs that are shipped or published

GOLD_TEMPLATE = "Template, gold clause quoted"
BM25_TEMPLATE = "Template, first clause of BM25 quoted"
_QUOTED = re.compile(r"“[^“”]*”$")


def shipped_log(name):
    """Log of a data set and its name: our own on ``smoke``, PDPABench's published answers, else templates.

    Where no mirror has PDPABench's answers, templates on ConsumerContractsQA stand in for them.
    """
    if name == "smoke":
        return read_log(DATA / "assistant" / "answers.jsonl"), name
    folder = Path(os.environ.get(MIRROR_VARIABLE) or ".") / ANSWERED / "generation"
    if name == ANSWERED and folder.is_dir():
        return _published_answers(folder), name
    name = TEMPLATES if name == ANSWERED else name
    return _templates(name), name


def check_systems(values):
    """Refuse systems that have no answers in the shipped log of a data set."""
    if values["focus"] or values["against"]:
        systems = shipped_log(values["dataset"])[0]["system"].unique().tolist()
        for name in ("focus", "against"):
            if values[name] and values[name] not in systems:
                raise InputError(
                    f"{name}: the log has no system {values[name]!r}; it has {', '.join(systems)}"
                )


def demonstration(name):
    """What wrote the answers of a shipped log, where no language model did; else None."""
    return (
        None
        if name == ANSWERED
        else NAMES["demonstrations"].get(name, NAMES["demonstrations"]["templates"])
    )


def _published_answers(folder):
    """PDPABench's answers to its test questions, of four runs, with the passages that were shown."""
    data, runs = load(ANSWERED, "test", titles=False), []
    texts = {
        row["doc_id"]: f"{row['citation']}: {row['text']}"
        for row in data.documents.to_dict("records")
    }
    fields = {"qid": str, "query": str, "prediction": dict, "reranking": dict, "gold": dict}
    for system, run in NAMES["published"].items():
        rows = [row for _, row in read_jsonl(folder / run / "detailed_results.jsonl", fields)]
        runs.append(pd.json_normalize(rows).assign(system=system))
    log = pd.concat(runs, ignore_index=True)
    shown = [[name for name in ids if name in texts] for ids in log["reranking.used_ids_r3"]]
    sections = log["gold.canonical_sections"].str[0].str.extract(r"(\d+[A-Z]*)")[0]
    known = {"id": "qid", "question": "query", "seconds": "metrics.latency_s"}
    known |= {
        "reference": "gold.gold_answer_extended",
        "abstained": "prediction.abstained",
        "system": "system",
    }
    return pd.DataFrame({name: log[field] for name, field in known.items()}).assign(
        answer=log["prediction.answer_text"].fillna(""),
        contexts=pd.Series([[texts[name] for name in ids] or None for ids in shown]),
        context_ids=pd.Series([ids or None for ids in shown]),
        relevant=[list(data.qrels.get(name, {})) for name in log["qid"]],
        group="section " + sections.fillna("none"),
        cost=math.nan,
    )


def _templates(name):
    """Templates that quote a clause: the one that answers the question, or the first one that BM25 finds."""
    from casebook.retrieval.pipeline import HybridRetriever

    data = load(name, titles=False)
    made, clauses = (
        explain(data),
        dict(zip(data.documents["doc_id"], data.documents["text"], strict=True)),
    )
    asked = data.queries.set_index("query_id")["text"].to_dict()
    found = HybridRetriever(data.documents, mode="bm25").retrieve_many(
        [asked[key] for key in made.explanations], 3
    )
    rows = []
    for number, (key, text) in enumerate(made.explanations.items()):
        hits = found.hits(number)
        lists = {GOLD_TEMPLATE: [made.own[key]], BM25_TEMPLATE: [hit.doc_id for hit in hits]}
        for system, ids in lists.items():
            texts = [clauses[one] for one in ids]
            opening = " ".join((texts or [""])[0].split()[:60])
            # Without what stands before the quotation: the question repeated is no claim about the clause.
            answer = _QUOTED.search(text).group() if system == GOLD_TEMPLATE else opening
            known = {
                "id": key,
                "question": asked[key],
                "answer": answer,
                "contexts": texts,
                "context_ids": ids,
            }
            known |= {
                "reference": None,
                "relevant": [made.own[key]],
                "system": system,
                "abstained": None,
            }
            rows.append(
                known
                | {
                    "group": (data.groups or {}).get(key, key),
                    "seconds": math.nan,
                    "cost": math.nan,
                }
            )
    return pd.DataFrame(rows)


# --- scores of single answers

_ABSTAINS = re.compile(
    "|".join(part for parts in NAMES["abstentions"].values() for part in parts), re.IGNORECASE
)
_REFERENCES = re.compile(r"\s*\[\d+(?:\s*[,;–-]\s*\d+)*\]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "，。！？；：、（）")


def abstains(answer):
    """Whether an answer is empty, or its first 200 characters decline to answer: a rule of thumb over phrases."""
    return not answer.strip() or bool(_ABSTAINS.search(answer[:200].replace("’", "'")))


def normalised(text):
    """Text as SQuAD compares it: lower case, without punctuation, articles and spare blanks.

    Where a script has no blanks between words, each character counts as a word, as in MLQA's evaluation.
    """
    return " ".join(_words(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))))


def _words(text):
    return UNSPACED.sub(r" \g<0> ", text).split()


def token_f1(answer, reference):
    """F1 of the words that answer and reference share, as SQuAD defines it."""
    ours, theirs = normalised(answer).split(), normalised(reference).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def without_references(answer):
    """Answer without passage numbers such as [1] or [2, 3], which are no words of it."""
    return _REFERENCES.sub("", answer)


def grounding(answer, contexts):
    """Scores of an answer against contexts, None where there is nothing to judge."""
    numbers, answer = bracket_references(answer), without_references(answer)
    return {
        "faithfulness": faithfulness(answer, contexts).score,
        "original:faithfulness": documented_faithfulness(answer, contexts) if contexts else None,
        "mentions": share_named(answer, "\n\n".join(contexts)),
        "quotations": share_held(answer, dict(enumerate(contexts))),
        "citations": sum(number in range(len(contexts)) for number in numbers) / len(numbers)
        if numbers
        else None,
    }


def score_answers(log, *, foreign=3, seed=0):
    """Score every answer of a log, and the same answer against what belongs to other questions.

    Parameters
    ----------
    log : pandas.DataFrame
        As `casebook.assistant.log.read_log` gives it.
    foreign : int, default 3
        Other questions whose contexts and references serve as the baseline of each answer.
    seed : int, default 0
        Seed of the draw of other questions.

    Returns
    -------
    pandas.DataFrame
        A row per answer: ``id``, ``system``, ``group``, ``abstained``, ``closed`` (the system saw no contexts and is
        held against those of the first system that did), ``question repeated`` (faithfulness of the question itself),
        and each key of `MEASURES`, with its value on what is foreign as ``<key> baseline``. NaN: undefined.

    Raises
    ------
    InputError
        If the log has no rows.

    Examples
    --------
    >>> from casebook.assistant.study import score_answers, shipped_log
    >>> rows = score_answers(shipped_log("smoke")[0])
    >>> sorted(rows["system"].unique()), "faithfulness" in rows
    (['No retrieval', 'Retrieval'], True)
    """
    if not len(log):
        raise InputError("the log has no answers")
    log = log.reset_index(drop=True)
    first = log["id"].drop_duplicates().tolist()
    groups = dict(zip(log["id"], log["group"], strict=True))
    contexts = {
        row.id: row.contexts for row in log[::-1].itertuples() if row.contexts
    }  # of the first that has them
    references = {row.id: _references(row) for row in log.itertuples() if row.reference is not None}
    order, others = np.random.Generator(stream(seed, "other questions")), {}
    for key in first:
        apart = [other for other in first if groups[other] != groups[key]] or [
            k for k in first if k != key
        ]
        others[key] = [apart[place] for place in order.permutation(len(apart))[:foreign]]
    rows = []
    for row in track(log.itertuples(), "answers", len(log)):
        own = row.contexts if row.contexts is not None else contexts.get(row.id)
        failed = isinstance(
            getattr(row, "no_answer", None), str
        )  # there is no text that could be right or wrong
        gone = failed or (abstains(row.answer) if row.abstained is None else row.abstained)
        known = {
            "id": row.id,
            "system": row.system,
            "group": row.group,
            "abstained": gone,
            "closed": row.contexts is None,
            "seconds": row.seconds,
            "question repeated": faithfulness(row.question, own).score if own else None,
            "answered": not gone,
            "words": None if failed else len(_words(row.answer)),
        }
        if own is not None and not gone:
            known |= grounding(row.answer, own)
            known |= _means(
                [grounding(row.answer, contexts[one]) for one in others[row.id] if one in contexts]
            )
        if row.reference is not None and not failed:
            known |= _agreement(row.answer, _references(row))
            known |= _means(
                [
                    _agreement(row.answer, references[one])
                    for one in others[row.id]
                    if one in references
                ]
            )
            known["words baseline"] = len(_words(row.reference))
        rows.append(known)
    frame = pd.DataFrame(rows).reindex(columns=_COLUMNS)
    frame = pd.concat([frame, _retrieval(log, others)], axis=1)
    return frame.astype(dict.fromkeys(frame.columns[5:], float))


_COLUMNS = ["id", "system", "group", "abstained", "closed", "seconds", "question repeated"]
_COLUMNS += [name for key in MEASURES if "@" not in key for name in (key, f"{key} baseline")]


def _references(row):
    """All reference answers to a question; logs of our own making have one."""
    return getattr(row, "references", None) or [row.reference]


def _agreement(answer, references):
    """Agreement with the reference that is closest, as SQuAD counts several."""
    exact = any(normalised(answer) == normalised(reference) for reference in references)
    return {
        "token F1": max(token_f1(answer, reference) for reference in references),
        "exact": float(exact),
    }


def _means(found):
    """Mean of each score over what is foreign."""
    return pd.DataFrame(found, dtype=float).mean().add_suffix(" baseline").to_dict()


RANKING = ["nDCG@10", "R@10"]


def _retrieval(log, others):
    """Ranking measures of the contexts, and of those of other questions."""
    tables = [pd.DataFrame(columns=RANKING, dtype=float)]
    for _, part in log.groupby("system", sort=False):
        asked = part[part["relevant"].notna() & part["context_ids"].notna()]
        if not len(asked):
            continue
        lists = dict(zip(asked["id"], asked["context_ids"], strict=True))
        swapped = {
            key: next((lists[other] for other in others[key] if other in lists), [])
            for key in lists
        }
        table = _ranking(asked, lists)
        if any(swapped.values()):
            table = table.join(_ranking(asked, swapped).add_suffix(" baseline"))
        tables.append(table.set_index(asked.index))
    columns = [*RANKING, *(f"{name} baseline" for name in RANKING)]
    return pd.concat(tables).reindex(index=log.index, columns=columns)


def _ranking(asked, lists):
    """Ranking measures of lists of documents, a row per question."""
    qrels = {row.id: dict.fromkeys(row.relevant, 1) for row in asked.itertuples()}
    runs = {
        key: {doc: -float(place) for place, doc in enumerate(ids)} for key, ids in lists.items()
    }
    return evaluate(qrels, runs, RANKING).frame().loc[asked["id"], RANKING]


# --- means and differences


def measured(rows, keys=MEASURES):
    """Keys of the measures that some answer has."""
    return [key for key in keys if rows[key].notna().any()]


def summary(rows, *, n_resamples=10_000, seed=0):
    """Mean of every system and measure with interval, baseline, and the number of answers where it is undefined."""
    found = []
    for key in measured(rows):
        for system, part in rows.groupby("system", sort=False):
            known = part.dropna(subset=[key])
            if len(known):
                clusters = None if known["group"].is_unique else known["group"].tolist()
                row = (
                    estimates(known[[key]], clusters, n_resamples=n_resamples, seed=seed)
                    .iloc[0]
                    .to_dict()
                )
                control = known.get(f"{key} baseline", pd.Series(dtype=float)).mean()
                row |= {
                    "system": system,
                    "measure": key,
                    "control": control,
                    "control_name": CONTROLS.get(key),
                }
                found.append(row | {"undefined": len(part) - len(known)})
    return with_reasons(found)


def _contrast(pair, groups, **options):
    """Contrast of the first of two columns of scores with the second, and the means of both."""
    (first, second), groups = pair, groups.loc[pair.index]
    clusters = None if groups.is_unique else groups.tolist()
    row = contrasts(pair, [(first, second)], clusters, **options).iloc[0].to_dict()
    return row | {"level": pair[first].mean(), "baseline": pair[second].mean()}


def against_foreign(rows, system, *, seed=0):
    """Contrasts of one system's faithfulness with simple baselines on the same answers, that of foreign contexts first.

    The others are the question repeated as an answer, and the answers of each system that saw no contexts. A baseline
    that no answer has is left out.
    """
    key = "faithfulness"
    part = rows[rows["system"] == system].set_index("id")
    baselines = {
        CONTROLS[key]: part[f"{key} baseline"],
        "the question repeated": part["question repeated"],
    }
    for other, closed in rows[rows["closed"] & (rows["system"] != system)].groupby(
        "system", sort=False
    ):
        baselines[f"{other} (answers without contexts)"] = closed.set_index("id")[key]
    pairs = [
        pd.DataFrame({system: part[key], name: scores}).dropna()
        for name, scores in baselines.items()
    ]
    return with_reasons(
        [_contrast(pair, part["group"], margin=MARGIN, seed=seed) for pair in pairs if len(pair)]
    )


_OUTCOMES = {"wins": 1, "ties": 0, "losses": -1}


def differences(rows, keys=MEASURES, *, pairs=None, margin=MARGIN, seed=0):
    """Paired differences of systems by measure, over the questions on which both have a value.

    Intervals of one measure hold together for all its pairs (Bonferroni). ``wins``, ``ties`` and ``losses`` count
    questions.
    """
    systems, found = rows["system"].drop_duplicates().tolist(), []
    groups = rows.drop_duplicates("id").set_index("id")["group"]
    for key in measured(rows, keys):
        wide = rows.pivot_table(index="id", columns="system", values=key)
        known = [pair for pair in pairs or combinations(systems, 2) if {*pair} <= {*wide}]
        how = {"margin": 0.0 if key == "words" else margin, "level": 1 - 0.05 / max(len(known), 1)}
        for pair in (wide[list(names)].dropna() for names in known):
            if not len(pair):
                continue
            row = {"measure": key} | _contrast(pair, groups, **how, seed=seed)
            row["p_adjusted"] = min(1.0, row["p"] * len(known))
            if key == "words":  # more is not better
                row["verdict"] = {"better": "more", "worse": "fewer"}.get(
                    row["verdict"], row["verdict"]
                )
            gain = np.sign(pair.iloc[:, 0] - pair.iloc[:, 1])
            found.append(
                row | {name: int((gain == sign).sum()) for name, sign in _OUTCOMES.items()}
            )
    return with_reasons(found)


# --- a new log against an old one

GATED = ("answered", "faithfulness", "token F1")  # answered: nothing passes by answering less


def gate_logs(new, old, measures=None, *, margin=MARGIN, common=False, collection=None, seed=0):
    """Decide whether a new log is not worse than an old one by more than a margin, paired by question.

    Parameters
    ----------
    new, old : path-like
        Logs of the same questions, see `casebook.assistant.log.read_log`; paired by id where both name ids, else by
        question. With several systems those of one name are compared, or of one ending after the last comma.
    measures : sequence of str, optional
        Keys of `MEASURES`; by default those of `GATED` that both logs have. All must pass.
    margin : float, default 0.05
        Loss that is tolerated.
    common : bool
        Compare the questions that both have, if they are not the same ones.
    collection : str or path-like, optional
        Where contexts are ids of it.
    seed : int
        Of the sign patterns.

    Returns
    -------
    dict
        ``verdict`` (``pass``, ``fail``, ``undecided`` or ``incomparable``), ``rows`` (a contrast per measure and system
        with its own verdict: the lower bound of the 95 % interval lies above minus the margin, or the upper one below)
        and ``notes``. Of answers that failed only ``answered`` says anything: without it the logs are incomparable,
        unless ``common``.

    Raises
    ------
    InputError
        If a log cannot be read or a measure is unknown.

    Examples
    --------
    >>> from casebook.assistant.study import gate_logs
    >>> from casebook.paths import DATA
    >>> log = DATA / "assistant" / "answers.jsonl"
    >>> gate_logs(log, log, ["token F1"])["verdict"]
    'pass'
    """
    unknown = [key for key in measures or () if key not in MEASURES]
    if unknown:
        raise InputError(f"unknown measure {unknown[0]!r}: choose from {', '.join(MEASURES)}")
    if not 0 <= margin < math.inf:
        raise InputError(f"margin {margin}: give a number from 0 on")
    logs = {"new": checked_log(new, collection), "old": checked_log(old, collection)}
    notes = [
        f"{name}: {note}" for name, log in logs.items() for note in not_answered(log["no_answer"])
    ]
    if not all(log.attrs["named"] for log in logs.values()):
        logs = {name: log.assign(id=log["question"]) for name, log in logs.items()}
    systems = [log["system"].unique().tolist() for log in logs.values()]
    matched = _partners(*systems)
    paired = set(chain(*matched))
    notes += [
        f"system {name!r} has no partner in the other log"
        for name in chain(*systems)
        if name not in paired
    ]
    incomparable = {"verdict": "incomparable", "rows": pd.DataFrame(), "notes": notes}
    if not matched:
        notes.append("no system is in both logs")
        return incomparable
    if (
        measures
        and "answered" not in measures
        and any("not answered" in note for note in notes)
        and not common
    ):
        notes.append("no measure counts what was not answered: gate 'answered' too")
        return incomparable
    found = []
    for pair in matched:
        parts = [
            log[log["system"] == system] for log, system in zip(logs.values(), pair, strict=True)
        ]
        asked = parts[0].merge(parts[1], on="id", how="outer")
        same = asked["question_x"] == asked["question_y"]
        both, apart = asked.loc[same, "id"], asked.loc[~same, "id"]
        if len(apart) and not (common and len(both)):
            notes.append(
                f"{len(apart)} questions differ, such as {min(apart)[:60]!r}; {len(both)} are the same"
            )
            return incomparable | {"rows": pd.DataFrame(found)}
        if len(apart):
            notes.append(f"{len(apart)} questions differ and are left out")
        kept = [
            part[part["id"].isin(both)].assign(system=name)
            for name, part in zip(logs, parts, strict=True)
        ]
        rows = pd.concat(
            [score_answers(one, foreign=0, seed=seed) for one in kept], ignore_index=True
        )
        rows["group"] = rows["id"].map(kept[0].set_index("id")["group"])
        gates = differences(
            rows, measures or GATED, pairs=[("new", "old")], margin=margin, seed=seed
        )
        found += [row | {"system": pair[0], "against": pair[1]} for row in gates.to_dict("records")]
    if not found:
        notes.append("no measure is in both logs")
        return incomparable
    for row in found:
        low, high = (None if math.isnan(bound) else bound for bound in (row["low"], row["high"]))
        if row["reason"] in (NO_UNIT_DIFFERS, "no_variation") and row["groups"] >= FEWEST:
            low = high = row["difference"]  # every question changes by the same amount
        row["verdict"] = gate_verdict(low, high, -margin, inclusive=True)
    verdicts = {row["verdict"] for row in found}
    verdict = next(one for one in ("fail", "undecided", "pass") if one in verdicts)
    return {"verdict": verdict, "rows": pd.DataFrame(found), "notes": notes}


def _partners(new, old):
    """Pair the systems of two logs: by name, the only ones, or another model with and without retrieval."""
    if same := [(one, one) for one in new if one in old]:
        return same
    if len(new) == len(old) == 1:
        return [(new[0], old[0])]
    ends = {name.rpartition(", ")[2]: name for name in old}
    return [(one, ends[end]) for one in new if (end := one.rpartition(", ")[2]) in ends]


# --- planted defects

SPOILT = 150  # answers of which copies are made


def planted_defects(log, system, *, n_resamples=10_000, seed=0):
    """How well measures tell a system's answers from copies with one defect each.

    Returns a row per defect and detector, `OWN` among them: ``auroc`` with interval over groups, ``copies``,
    ``judged`` (those that the detector can score at all), and ``noticed``, the share of these that score below their
    own original, with its interval.
    """
    part = log[(log["system"] == system) & log["contexts"].map(bool)].head(SPOILT).set_index("id")
    answers = {
        key: without_references(text) for key, text in part["answer"].items() if not abstains(text)
    }
    if len(answers) < 2:
        return pd.DataFrame(columns=["defect", "detector", "copies", "judged"])
    source, groups = part["contexts"].map("\n\n".join), part["group"]
    weights = inverse_frequency(source.to_dict().values())

    def scored(texts):
        rows = {
            key: {OWN: faithfulness(text, part["contexts"][key]).score}
            | detector_scores(text, source[key], weights)
            for key, text in texts.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(DETECTORS)).astype(float)

    swapped = _swapped(answers, groups)
    originals = scored(answers)
    rows = []
    for defect, texts in track(
        {"answer swapped": swapped, **corrupt(answers, seed=seed)}.items(), "defects"
    ):
        copies = scored(texts)
        for detector in DETECTORS:
            pair = pd.DataFrame(
                {"copy": copies[detector], "original": originals[detector].reindex(copies.index)}
            )
            row = {"defect": defect, "detector": detector, "copies": len(copies)}
            rows.append(row | _detection(pair.dropna(), groups, n_resamples, seed))
    return with_reasons(rows)


def _swapped(answers, groups):
    """For each answer that of the next question of another group; of the next one where there is no other group."""
    keys, swapped = list(answers), {}
    for place, key in enumerate(keys):
        following = [*keys[place + 1 :], *keys[:place]]
        swapped[key] = answers[
            next((other for other in following if groups[other] != groups[key]), following[0])
        ]
    return swapped


def _detection(pair, groups, n_resamples, seed):
    """AUROC of originals against copies, and the share of copies below their own original."""
    row = {"judged": len(pair)}
    if not len(pair):
        return row
    labels, clusters = np.repeat([True, False], len(pair)), groups[pair.index].tolist()
    area = auroc(labels.tolist(), [*pair["original"], *pair["copy"]], clusters=clusters * 2)
    row |= {"auroc": area.estimate, "low": area.low, "high": area.high, "reason": area.reason}
    if (pair["copy"] == pair["original"]).all():
        row |= {"low": math.nan, "high": math.nan, "reason": NO_UNIT_DIFFERS}
    below = pd.DataFrame({"noticed": (pair["copy"] < pair["original"]).astype(float)})
    share = estimates(
        below, clusters if groups.duplicated().any() else None, n_resamples=n_resamples, seed=seed
    ).iloc[0]
    row |= {"noticed": share["value"], "noticed_low": share["low"], "noticed_high": share["high"]}
    return row | {"noticed_reason": share["reason"], "groups": len(set(clusters))}


def weakest_defect(defects):
    """The defect that `OWN` notices least, as an estimate; None where it judges too few copies.

    Compared are defects of which it can judge half of the copies, and at least five; of equals that with most copies.
    """
    rows = defects[defects["detector"] == OWN]
    rows = rows[rows["judged"] >= rows["copies"].clip(lower=10) / 2]
    if rows.empty:
        return None
    row = rows.sort_values(["noticed", "judged"], ascending=[True, False], kind="stable").iloc[0]
    return row[["defect", "detector", "copies", "groups"]].to_dict() | {
        "value": row["noticed"],
        "low": row["noticed_low"],
        "high": row["noticed_high"],
        "n": row["judged"],
        "reason": row["noticed_reason"],
    }
