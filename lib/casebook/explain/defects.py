"""Copies of texts with one defect each, and what measures of faithfulness make of them."""

import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from casebook import frames
from casebook.measures.faithfulness import (
    faithfulness,
    grounded_share,
    inverse_frequency,
    pair_sources,
    sentence_shares,
)
from casebook.measures.mentions import find_flip, share_named
from casebook.measures.quotations import find_quotes, share_quoted_rightly
from casebook.readers import read_yaml
from casebook.runs.headlines import per_cent
from casebook.scores import Scores
from casebook.sentences import upper
from casebook.stats.intervals import cluster_sums, resampled_clusters
from casebook.stats.samples import generator
from casebook.tables import enumerated
from casebook.text import sentence_texts, sentences
from casebook.verdicts import BETTER, NOT_MEASURED, margin_of

_NAMES = read_yaml(Path(__file__).parent / "names.yml")
# Measures and their names. The faithfulness of a rule is its share of grounded sentences.
DETECTORS = {key: words["name"] for key, words in _NAMES["measures"].items()}
PHRASES = {key: words["phrase"] for key, words in _NAMES["measures"].items()}
DEFECTS = _NAMES["defects"]
SWAPPED = next(iter(DEFECTS))
FAITHFULNESS = [name for name in DETECTORS if name.endswith(" faithfulness")]
WORDS = ["corrected", "documented", "code"]
LOWER = "share of copies that score lower"
FEW = 5  # measures, of which a sentence names all


# --- copies


_NUMBER = re.compile(r"(?<![\w.(\[])\d{1,3}(?:,\d{3})*(?![\w)\]])")
_AUXILIARY = re.compile(
    r"\b(?P<verb>may|must|shall|will|can|is|are|was|were|has|have|does|do)\b(?P<negation> not)?"
)
_BREAK = re.compile(r"(?<=[.:?!]) (?=[A-Z“])")


def corrupt(explanations, *, seed=0):
    """Copies of explanations with one defect each: {defect: {key: text}}.

    A text that does not allow a defect has no copy.
    """
    keys = list(explanations)
    order = generator(seed, "corruptions").permutation(len(keys))
    following = {
        keys[a]: keys[b] for a, b in zip(order, np.roll(order, -1), strict=True)
    }
    copies = {defect: {} for defect in _SPOIL}
    for key, text in explanations.items():
        for defect, spoil in _SPOIL.items():
            copy = spoil(text, explanations[following[key]])
            if copy not in (None, text):
                copies[defect][key] = copy
    return copies


def _last_replaced(text, _, form, replacement):
    for last in list(form.finditer(text))[-1:]:
        return text[: last.start()] + replacement(last) + text[last.end() :]


def _other_number(match):
    return str(2 * int(match.group().replace(",", "")) + 1)


def _turned(match):
    return match["verb"] if match["negation"] else f"{match['verb']} not"


def _foreign_sentence(text, donor):
    last = _BREAK.split(donor)[-1]
    return text.removesuffix(_BREAK.split(text)[-1]) + last


def _stitched(text, donor):
    own = find_quotes(text)
    others = find_quotes(donor)
    if not (own and others):
        return None
    start, end = own[-1]
    words = text[start:end].split()
    foreign = donor[slice(*others[-1])].split()
    half = words[: len(words) // 2]
    stitched = " ".join(half + foreign[len(foreign) // 2 :])
    return text[:start] + stitched + text[end:]


_SPOIL = {
    "number changed": partial(_last_replaced, form=_NUMBER, replacement=_other_number),
    "negation turned": partial(_last_replaced, form=_AUXILIARY, replacement=_turned),
    "foreign sentence": _foreign_sentence,
    "quotation stitched": _stitched,
}


# --- scores of copies


def detector_scores(explanation, source, weights):
    """Scores of an explanation by every measure, higher for more faithful.

    A score is None where there is nothing to judge.
    """
    faithful = {}
    mean_shares = {}
    for rule, supports in sentence_shares(explanation, source).items():
        shares = [support.share for support in supports if support.share is not None]
        faithful[f"{rule} faithfulness"] = grounded_share(shares) if shares else None
        mean_shares[rule] = np.mean(shares) if shares else None
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
        "polarity": np.mean(same_polarity) if same_polarity else None,
        "quotes": share_quoted_rightly(explanation, [source]),
    }


def explanation_copies(explained, *, seed=0):
    """Scores of explanations and of their copies, two rows a defect and explanation.

    The first defect is the source of another one.
    """
    weights = inverse_frequency(list(explained.own_sources.values()))
    foreign = pair_sources(*explained.texts, draws=1, seed=seed)
    spoilt = {SWAPPED: explained.explanations} | corrupt(
        explained.explanations, seed=seed
    )
    scored = cache(
        lambda text, source: detector_scores(text, explained.sources[source], weights)
    )
    rows = []
    for defect, texts in spoilt.items():
        for key, text in texts.items():
            own = source = explained.source_of[key]
            if defect == SWAPPED:
                (source,) = foreign[key]
            row = {"defect": defect, "key": key, "source": own}
            rows.append(
                {**row, "original": True, **scored(explained.explanations[key], own)}
            )
            rows.append({**row, "original": False, **scored(text, source)})
    return pd.DataFrame(rows).astype(dict.fromkeys(DETECTORS, float))


# --- what the measures make of copies


def drops(versions, measures):
    """Copies with one defect that score below their original, 1 or 0; missing: not judged."""
    versions = versions.set_index("key")
    originals = versions.loc[versions["original"], measures]
    spoilt = versions.loc[~versions["original"], measures]
    return (spoilt < originals).astype(float).where(spoilt.notna() & originals.notna())


def lower_scores(explained, copies, margin=None, **settings):
    """Whether copies score below their original by the measures that are compared, by defect."""
    settings["margin"] = margin_of("share") if margin is None else margin
    settings |= {
        "unit": "copies",
        "cluster": "sources",
        "names": DETECTORS,
        "phrases": PHRASES,
    }
    scores = {}
    for defect, versions in copies.groupby("defect", sort=False):
        lower = drops(versions, [*FAITHFULNESS, *WORDS])
        judged = lower.dropna()
        unmeasured = None
        if judged.empty:
            judged = lower.fillna(0.0)
            unmeasured = "no explanation has a content word"
        about = {"part": DEFECTS[defect], "unmeasured": unmeasured}
        about["clusters"] = pd.Series(explained.source_of).loc[judged.index]
        about |= {"dataset": explained.name, "title": explained.title}
        scores[DEFECTS[defect]] = Scores(judged, LOWER, **about, **settings)
    return scores


def contrasts(scores, system):
    """One faithfulness against the others, the one that notices most first; and shares of words.

    ``scores`` are those of `lower_scores`; the contrasts of a defect are one family.
    """
    others = [name for name in FAITHFULNESS if name != system]
    words = [(WORDS[0], other) for other in WORDS[1:]]
    tables = []
    for of_defect in scores.values():
        best = of_defect.best(others, "versions")
        pairs = [(system, best), *((system, other) for other in others), *words]
        tables.append(of_defect.contrasts(pairs).assign(dataset=of_defect.dataset))
    return pd.concat(tables, ignore_index=True)


def detection(scores, copies, notices=0.5):
    """Share of copies that score lower than their original, a row for each defect and measure.

    ``n`` are the copies of which original and copy have a score; ``notices`` is the share above
    which a measure is said to notice a defect. The interval is Wilson's over sources, or over
    copies of too few sources.
    """
    shares = []
    for defect, versions in copies.groupby("defect", sort=False):
        lowers = drops(versions, [*DETECTORS]).dropna(axis=1, how="all")
        source_of = versions.drop_duplicates("key").set_index("key")["source"]
        of_defect = scores[DEFECTS[defect]]
        for measure in lowers:
            lower = lowers[measure].dropna()
            sources = source_of[lower.index].tolist()
            clusters, reason = resampled_clusters(sources, len(lower))
            units = np.arange(len(lower)) if clusters is None else clusters
            sums, sizes = cluster_sums(lower.to_numpy(), units)
            share = frames.shares({measure: (sums.ravel(), sizes)})
            share["reason"] = pd.Series([reason], dtype=object)
            about = {"n": len(lower), "groups": len(set(sources)), "control": 0.5}
            about |= {"measure": LOWER, "dataset": of_defect.dataset}
            shares.append(of_defect.described(share.assign(**about)))
    shares = pd.concat(shares, ignore_index=True)
    verdicts = frames.interval_verdicts(shares, notices)
    return shares.assign(null=notices, margin=0.0, verdict=verdicts)


def noticed(shares):
    """Which measures notice which defects: the interval of the share lies above the limit."""
    texts = []
    for (phrase, is_few), rows in shares.groupby(
        ["system_phrase", shares["verdict"] == NOT_MEASURED], sort=False
    ):
        named = "a " + rows.loc[rows["verdict"].isin([BETTER, NOT_MEASURED]), "part"]
        does = "cannot be judged on so few copies with" if is_few else "notices"
        texts.append(
            f"{phrase} {does} {enumerated([*named] or ['none of the defects judged'])}"
        )
    limit = per_cent(shares["null"].iloc[0])
    return f"{upper('; '.join(texts))} (noticed: more than {limit} of the copies score lower)."


def noticed_by(shares, kinds):
    """How many of the measures with a verdict notice each kind of defect; if few, which ones."""
    texts = []
    for kind in kinds:
        measures = shares[
            (shares["part"] == kind) & (shares["verdict"] != NOT_MEASURED)
        ].sort_values("value", ascending=False)
        found = measures.loc[measures["verdict"] == BETTER, "system_phrase"].tolist()
        text = (
            f"a {kind} is noticed by {len(found) or 'none'} of {len(measures)} measures"
        )
        if 0 < len(found) < FEW:
            text += f" ({enumerated(found)})"
        texts.append(text)
    return f"{upper('; '.join(texts))}."


def by_rule(rows):
    """Rows under the keys of ``numbers.json``: rule, and measure of which defect."""
    measures = rows["measure"].replace(LOWER, "drops")
    is_faithfulness = rows["system"].isin(FAITHFULNESS)
    of = is_faithfulness.map({True: " of faithfulness, ", False: " of share, "})
    defects = rows["part"].map({name: defect for defect, name in DEFECTS.items()})
    rules = {name: name.removesuffix(" faithfulness") for name in FAITHFULNESS}
    rows = rows.assign(measure=measures + of + defects)
    return rows.replace({"system": rules, "against": rules})
