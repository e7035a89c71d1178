"""Could raters know which system wrote an answer? Leaks in forms, telling words, guesses."""

import re
import zipfile

import numpy as np
import pandas as pd
from scipy import special
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, permutation_test_score

from casebook.frames import coefficients
from casebook.raters.forms import one_sided_words
from casebook.raters.layouts import GUESS
from casebook.raters.read import FURTHER_SHEETS, read_form
from casebook.sheets import BOOKS, read_book
from casebook.stats.intervals import Interval, wilson

FOLDS = 10
MOST_FEATURES = 20_000
_SUSPECT = re.compile(r"side|key|mapping|answer_?key|system_?name|solution|arm", re.I)


def scan_forms(paths, words, columns=None):
    """What tells the systems (`words`: their names) in forms, sent out or returned."""
    # A name within a word, "rag" in "paragraph", tells nothing in running text, but does in an
    # id or a file name.
    anywhere = re.compile("|".join(rf"_?{re.escape(word)}_?" for word in words) or r"(?!)", re.I)
    alone = re.compile(rf"\b(?:{anywhere.pattern})\b", re.I)
    rows = []
    for path in paths:
        form = read_form(path, columns)
        names = [sheet.name for sheet in read_book(path).sheets if sheet.name != form.path.name]
        places = {"file name": [form.path.name], "sheet name": names}
        for column in form.layout.columns:
            if column.kind == "id":
                places[f"column {column.name}"] = form.rows[column.name]
        for place, texts in places.items():
            for word in _found(anywhere, texts):
                rows.append((str(path), place, "word", word))
        for name in form.layout.texts:
            for word in _found(alone, form.rows[name]):
                rows.append((str(path), f"column {name}", "word_in_text", word))
        for part, text in _parts(form.path):
            for word in _found(alone, [text]):
                rows.append((str(path), part, "word", word))
        rows += [(str(path), *leak) for leak in _further(form, read_book(path), anywhere)]
    return pd.DataFrame(rows, columns=["file", "where", "kind", "found"])


def _found(pattern, texts):
    return sorted({match.group(0) for text in texts for match in pattern.finditer(text)})


# Sheets and columns that a form does not need, keys, and words of one side.
def _further(form, book, anywhere):
    for sheet in book.sheets:
        if sheet.hidden:
            yield f"sheet {sheet.name}", "hidden_sheet", sheet.name
        if sheet.name not in {form.sheet, *FURTHER_SHEETS}:
            yield f"sheet {sheet.name}", "extra_sheet", f"{len(sheet.table)} rows"
            if _SUSPECT.search(sheet.name):
                yield "sheet name", "suspect_name", sheet.name
    for name in form.rows.columns.difference(["row", *form.layout.names], sort=False):
        if _SUSPECT.search(name) or anywhere.search(name):
            yield f"column {name}", "suspect_name", name
        values = {str(value).strip() for value in form.rows[name].dropna()}
        if values and values <= {"S1", "S2"}:
            yield f"column {name}", "key_column", f"{len(form.rows)} rows of S1, S2"
    if "system1_output" in form.rows:
        counts = one_sided_words(form.rows["system1_output"], form.rows["system2_output"])
        if counts:
            yield "both answers", "word_of_one_side", ", ".join(counts)


# What a workbook holds besides its cells: properties, names, comments.
def _parts(path):
    if path.suffix.lower() not in BOOKS:
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith(("xl/worksheets/", "xl/sharedStrings")):
                text = archive.read(name).decode("utf-8", errors="replace")
                yield name, re.sub(r"</?[a-zA-Z:]+", " ", text)


# --- what the texts give away


# Whether the texts alone give the systems away, and the words that do.
def content_audit(panel, permutations=200, seed=0):
    texts = panel.texts[[panel.focus, panel.against]].fillna("")
    texts = texts[(texts != "").all(axis=1)]
    guess, words = guess_arms(*texts.to_numpy().T, n_permutations=permutations, seed=seed)
    return {"arm_guess": guess, "telling_words": words}


def guess_arms(focus, against, *, folds=FOLDS, n_permutations=200, seed=0):
    """Share of items whose two texts a classifier tells apart that has not seen them, as a row,
    with p by exchanging the systems within items; and the words with the largest weights.
    """
    n = len(focus)
    words = pd.DataFrame({"word": [], "weight": []})
    if n < folds or not any(text.strip() for text in [*focus, *against]):
        reason = "no_text" if n >= folds else "fewer_than_folds"
        undefined = Interval(None, None, None, 0.95, n, "wilson", reason)
        return coefficients({"classifier": undefined}, control=0.5).assign(p=np.nan), words
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=MOST_FEATURES)
    vectors = vectorizer.fit_transform([*focus, *against]).toarray()
    # A penalised linear model knows the differences by their inner products only.
    left, sizes, right = np.linalg.svd(vectors[:n] - vectors[n:], full_matrices=False)
    # Each item in either order: labels are exchanged within items, and a draw counts half.
    differences = np.vstack([left * sizes, -left * sizes])
    labels = np.repeat([1, 0], n)
    model = LogisticRegression(C=0.5, fit_intercept=False)
    share, _, p = permutation_test_score(
        model,
        differences,
        labels,
        groups=np.tile(np.arange(n), 2),
        cv=GroupKFold(folds, shuffle=True, random_state=seed),
        n_permutations=n_permutations,
        random_state=seed,
    )
    weights = model.fit(differences, labels).coef_[0] @ right
    weights = pd.Series(weights, vectorizer.get_feature_names_out(), name="weight")
    order = weights.abs().sort_values(ascending=False, kind="stable").index[:10]
    words = weights[order].rename_axis("word").reset_index()
    row = coefficients({"classifier": wilson(share * n, n)}, control=0.5)
    return row.assign(p=p), words


# --- what raters guessed


# Bang's blinding index for either side, if raters were asked for a guess.
def guesses(panel):
    guess = panel.rows["guess"]
    if guess.isna().all():
        return pd.DataFrame([{"system": "Bang's index", "n": 0, "reason": "not_asked"}])
    counts = pd.crosstab(panel.rows["focus_left"], guess)
    counts = counts.reindex(index=[True, False], columns=GUESS.choices, fill_value=0)
    arms = (f"{panel.focus} left", f"{panel.focus} right")
    return coefficients(blinding_index(counts.to_numpy(), arms))


def blinding_index(counts, arms=("S1", "S2")):
    """Bang's index, right minus wrong guesses in [-1, 1].

    Counts are a row per true arm: guesses of S1, of S2, and unknown.
    """
    intervals = {}
    for number, arm in enumerate(arms):
        n = int(np.sum(counts[number]))
        right, wrong = (counts[number][side] / max(n, 1) for side in (number, 1 - number))
        index = right - wrong
        half = special.ndtri(0.975) * np.sqrt((right + wrong - index**2) / max(n, 1))
        bounds = np.clip([index - half, index + half], -1, 1).tolist()
        intervals[arm] = Interval(float(index), *bounds, 0.95, n, "normal")
    return intervals
