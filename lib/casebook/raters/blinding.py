"""Could raters know which system wrote an answer? Leaks in forms, telling words, guesses."""

import io
import math
import re
import zipfile
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from casebook.models.logistic import logistic_regression
from casebook.raters.forms import one_sided_words
from casebook.raters.layouts import GUESS, SHEET
from casebook.raters.read import FURTHER_SHEETS, read_form
from casebook.sheets import read_book
from casebook.stats.intervals import Interval, bounded, wilson
from casebook.stats.samples import generator

FOLDS = 10
MOST_FEATURES = 20_000
LEAST_WEIGHT = 1e-6  # below it a weight is the rounding of 0
_SUSPECT = re.compile(r"side|key|mapping|answer_?key|system_?name|solution|arm", re.I)


def scan_forms(paths, words, columns=None):
    """Look for what tells the systems (`words`: their names) in forms, sent out or returned."""
    # A name within a word, "rag" in "paragraph", tells nothing in running text, but does in an
    # id or a file name.
    pattern = "|".join(rf"_?{re.escape(word)}_?" for word in words) or r"(?!)"
    alone = re.compile(rf"\b(?:{pattern})\b", re.I)
    anywhere = re.compile(pattern, re.I)
    rows = []
    for path in paths:
        form = read_form(path, columns)
        book = read_book(path)
        leaks = [("file name", "word", word) for word in _words(anywhere, form.path.name)]
        for sheet in book.sheets:
            leaks += _scan_sheet(form, sheet, anywhere)
        leaks += _scan_rows(form, alone, anywhere)
        leaks += _scan_parts(form.path, alone)
        rows += [(str(form.path), *leak) for leak in leaks]
    return pd.DataFrame(rows, columns=["file", "where", "kind", "found"])


def _scan_sheet(form, sheet, anywhere):
    """Find sheets that a form does not need, and names of sheets that tell something."""
    size = f"{len(sheet.table) + bool(sheet.head)} rows"
    if sheet.hidden:
        yield f"sheet {sheet.name}", "hidden_sheet", size
    if sheet.name not in {form.sheet, *FURTHER_SHEETS}:
        yield f"sheet {sheet.name}", "extra_sheet", size
    if sheet.name not in {SHEET, form.path.name}:
        if _SUSPECT.search(sheet.name):
            yield "sheet name", "suspect_name", sheet.name
        for word in _words(anywhere, sheet.name):
            yield "sheet name", "word", word


def _words(pattern, text):
    return sorted({match.group(0) for match in pattern.finditer(text)})


def _scan_rows(form, alone, anywhere):
    """Find columns, ids and texts of a form that tell the systems."""
    for name in form.rows.columns.difference(["row", *form.layout.names], sort=False):
        if _SUSPECT.search(name) or anywhere.search(name):
            yield f"column {name}", "suspect_name", name
        values = {str(value).strip() for value in form.rows[name].dropna()}
        if values and values <= {"S1", "S2"}:
            yield f"column {name}", "key_column", f"{len(form.rows)} rows of S1, S2"
    for column in form.layout.columns:
        if column.kind == "id":
            for number, cell in zip(form.rows["row"], form.rows[column.name], strict=True):
                for word in _words(anywhere, cell):
                    yield f"row {number}, {column.name}", "word", word
    for name in form.layout.texts:
        cells = form.rows[name]
        for word in _words(alone, "\n".join(cells)):
            count = int(cells.str.contains(word, regex=False).sum())
            yield f"column {name}", "word_in_text", f"{word}, {count} rows"
    if form.layout.name == "paired":
        yield from _scan_pairs(form.rows)


def _scan_pairs(rows):
    """Find words that nearly always stand in one of two answers only."""
    counts = one_sided_words(rows["system1_output"], rows["system2_output"])
    if counts:
        words = ", ".join(word for word, _ in counts)
        _, fewest = counts[-1]
        text = f"{words}: in one of two answers of {fewest} rows or more"
        yield "both answers", "word_of_one_side", text


def _scan_parts(path, alone):
    """Search what a workbook holds besides its cells: properties, names, comments."""
    if path.suffix.lower() not in {".xlsx", ".xlsm"}:
        return
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        for name in archive.namelist():
            if not name.startswith(("xl/worksheets/", "xl/sharedStrings")):
                text = archive.read(name).decode("utf-8", errors="replace")
                for word in _words(alone, re.sub(r"</?[a-zA-Z:]+", " ", text)):
                    yield name, "word", word


# --- what the texts give away ----------------------------------------------------------


class ArmGuess(NamedTuple):
    """How well a model that saw other items tells the systems apart by their text."""

    accuracy: Interval
    pvalue: float | None
    words: pd.DataFrame


def content_audit(panel, permutations=200, seed=0):
    """Ask whether the texts alone give the systems away."""
    texts = panel.texts[[panel.focus, panel.against]].fillna("")
    texts = texts[(texts != "").all(axis=1)]
    guess = guess_arms(
        texts[panel.focus], texts[panel.against], n_permutations=permutations, seed=seed
    )
    row = {
        **bounded("accuracy", guess.accuracy),
        "chance": 0.5,
        "p": guess.pvalue,
        "n": guess.accuracy.n,
        "reason": guess.accuracy.reason,
    }
    return {"arm_guess": pd.DataFrame([row]), "telling_words": guess.words}


def guess_arms(focus, against, *, folds=FOLDS, n_permutations=200, seed=0):
    """Train a classifier to tell two systems by their texts; p by swapping labels within items."""
    focus = list(focus)
    against = list(against)
    n = len(focus)
    reason = None
    if n < folds:
        reason = "fewer_than_folds"
    elif not any(text.strip() for text in focus + against):
        reason = "no_text"
    if reason:
        undefined = Interval(None, None, None, 0.95, n, "wilson", reason)
        return ArmGuess(undefined, None, pd.DataFrame({"word": [], "weight": []}))
    rng = generator(seed, "arm guess")
    fold = rng.permutation(np.arange(n) % folds)
    parts = [_features(focus, against, fold == number) for number in range(folds)]
    signs = np.where(rng.integers(0, 2, (n_permutations, n)) == 1, 1.0, -1.0)
    correct = _correct(parts, np.ones(n)).sum()
    hits = 1 + sum(_correct(parts, row).sum() >= correct for row in signs)
    return ArmGuess(
        wilson(float(correct), n),
        float(hits / (n_permutations + 1)),
        _telling_words(focus, against),
    )


def _vectorizer():
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=MOST_FEATURES)


def _features(focus, against, is_test):
    """Differences of the answers' vectors as inner products, for one fold."""
    texts = np.array([focus, against], dtype=object)
    vectors = _vectorizer().fit(texts[:, ~is_test].ravel())
    difference = vectors.transform(texts[0]) - vectors.transform(texts[1])
    train = difference[~is_test]
    test = difference[is_test]
    return is_test, (train @ train.T).toarray(), (test @ train.T).toarray()


def _correct(parts, labels):
    """Mark the items of which the right answer is picked; a draw counts half."""
    correct = np.zeros(len(labels))
    for is_test, gram, cross in parts:
        scores = (cross @ dual_weights(gram, labels[~is_test])) * labels[is_test]
        correct[is_test] = (np.sign(scores) + 1) / 2
    return correct


def dual_weights(gram, labels):
    """Logistic regression without intercept, by Newton's method on inner products of the items."""
    weights = np.zeros(len(labels))
    for _ in range(25):
        scores = gram @ weights
        share = special.expit(-labels * scores)
        curvature = np.maximum(share * (1 - share), 1e-12)
        target = scores + labels * share / curvature
        updated = np.linalg.solve(gram + np.diag(1.0 / curvature), target)
        if np.abs(updated - weights).max() < 1e-8:
            return updated
        weights = updated
    return weights


def _telling_words(focus, against):
    """Words with the largest weights of a model of all items, for either system."""
    vectorizer = _vectorizer()
    vectors = vectorizer.fit_transform(focus + against)
    weights = logistic_regression().fit(vectors, np.repeat([1, 0], len(focus))).coef_[0]
    words = vectorizer.get_feature_names_out()
    order = np.lexsort((words, -np.abs(weights)))[:10]
    order = order[np.abs(weights[order]) > LEAST_WEIGHT]
    return pd.DataFrame({"word": words[order], "weight": weights[order]})


# --- what raters guessed ------------------------------------------------------------------


def guesses(panel):
    """Give Bang's blinding index for either side, if raters were asked for a guess."""
    left = panel.rows["focus_left"]
    guess = panel.rows["guess"]
    if guess.isna().all():
        return pd.DataFrame([{"index": "Bang", "n": 0, "reason": "not_asked"}])
    counts = []
    for side in (True, False):
        counts.append([((left == side) & (guess == choice)).sum() for choice in GUESS.choices])
    arms = (f"{panel.focus} left", f"{panel.focus} right")
    rows = []
    for arm, interval in blinding_index(counts, arms).items():
        rows.append(
            {
                "index": "Bang",
                "arm": arm,
                **bounded("value", interval),
                "n": interval.n,
                "reason": interval.reason,
            }
        )
    return pd.DataFrame(rows)


def blinding_index(counts, arms=("S1", "S2")):
    """Bang's index, right minus wrong guesses in [-1, 1].

    Counts are a row per true arm: guesses of S1, of S2, and unknown.
    """
    level = 0.95
    intervals = {}
    z = special.ndtri((1 + level) / 2)
    for number, (arm, row) in enumerate(zip(arms, np.asarray(counts, dtype=float), strict=True)):
        n = int(row.sum())
        correct = row[number]
        wrong = row[1 - number]
        if not n:
            intervals[arm] = Interval(None, None, None, level, 0, "normal", "no_units")
            continue
        index = (correct - wrong) / n
        half = z * math.sqrt(max(0.0, (correct + wrong) / n - index**2) / n)
        low = max(-1.0, index - half)
        high = min(1.0, index + half)
        intervals[arm] = Interval(float(index), float(low), float(high), level, n, "normal")
    return intervals
