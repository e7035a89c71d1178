"""Could raters know which system wrote an answer? Leaks in forms, and what texts give away."""

import re
import zipfile

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, permutation_test_score

from casebook.frames import coefficients
from casebook.sheets import BOOKS
from casebook.stats.intervals import Interval, wilson


def scan_forms(forms, words):
    """What tells the systems (`words`: their names) in forms, sent out or returned."""
    names = "|".join(map(re.escape, words)) or "(?!)"
    # A name within a word, "rag" in "paragraph", tells nothing in running text, but does in an
    # id or a file name.
    anywhere = re.compile(names, re.I)
    alone = re.compile(rf"\b(?:{names})\b", re.I)
    leaks = []
    for form in forms:
        places = [("file name", "word", anywhere, form.path.name)]
        for name, cells in form.rows.drop(columns="comment", errors="ignore").items():
            text = " ".join(cells.dropna().astype(str))
            kind = ("word", anywhere, f"{name} {text}")
            if name in form.layout.texts:
                kind = ("word_in_text", alone, text)
            places.append((f"column {name}", *kind))
        for name, text in _parts(form.path):
            places.append((name, "word", alone, text))
        for place, kind, pattern, text in places:
            for word in sorted(set(pattern.findall(text))):
                leaks.append((str(form.path), place, kind, word))
        # A column or sheet that the form does not need may be its key.
        for defect in form.defects:
            if defect.kind in ("extra_sheet", "extra_column"):
                found = defect.column or defect.found
                leaks.append((str(form.path), defect.sheet, defect.kind, found))
    return pd.DataFrame(leaks, columns=["file", "where", "kind", "found"])


def _parts(path):
    """What a workbook holds besides its cells: names of sheets, properties, comments."""
    if path.suffix.lower() not in BOOKS:
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.startswith(("xl/worksheets/", "xl/sharedStrings")):
                text = archive.read(name).decode("utf-8", errors="replace")
                yield name, re.sub(r"</?[a-zA-Z:]+", " ", text)


# --- what the texts give away


def guess_arms(focus, against, *, folds=10, n_permutations=200, seed=0):
    """Share of items whose systems a classifier names by their texts.

    It has not seen the item; p is by exchanging the systems within items.
    """
    pairs = [pair for pair in zip(focus, against, strict=True) if all(pair)]
    n = len(pairs)
    if n < folds:
        few = Interval(None, None, None, 0.95, n, "wilson", "fewer_than_folds")
        return coefficients({"classifier": few}, control=0.5).assign(p=np.nan)
    vectorizer = TfidfVectorizer(
        ngram_range=(1, 2), sublinear_tf=True, max_features=20_000
    )
    vectors = vectorizer.fit_transform(np.ravel(pairs)).toarray()
    # A penalised linear model knows the differences by their inner products only.
    left, sizes, _ = np.linalg.svd(vectors[::2] - vectors[1::2], full_matrices=False)
    places = left * sizes
    # Each item in either order: labels are exchanged within items, and a draw counts half.
    differences = np.vstack([places, -places])
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
    return coefficients({"classifier": wilson(share * n, n)}, control=0.5).assign(p=p)
