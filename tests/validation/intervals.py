"""How often tests and intervals err, by simulation; the book's table.

``python tests/validation/intervals.py book/methods/validity.csv`` (``--studies 2000``)
prints every row with its bar and exits with 2 if one is outside.
"""

import argparse
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
from runs_null import rejections
from scipy import stats

from casebook.files import write_text
from casebook.frames import contrasts, estimates
from casebook.retrieval.ablation import ScoredSystems
from casebook.stats.areas import auroc, auroc_difference
from casebook.stats.intervals import wilson

LEVEL = (0.03, 0.07)  # of a test or an interval of a difference
COVERAGE = (0.93, 0.98)
WIDE = (0.93, 1.0)  # few units, discrete scores
FEW = (0.88, 1.0)  # twelve units or groups of skewed scores: known to be short
GROUPED = (0.0, 0.07)
AREA = (0.93, 0.97)
SKEWED = (0.0, 0.2)  # signs do not turn skewed sums: known to reject too often


def grouped(sizes):
    """Effect of the group and of the row, both with a standard deviation of 1."""
    labels = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng):
        return rng.normal(size=len(sizes))[labels] + rng.normal(size=len(labels))

    return draw, labels


UNEQUAL = [1, 2, 3, 4, 6, 8, 12, 16, 22, 30]
GROUPS = {"6 groups of 20": [20] * 6, "15 groups of 8": [8] * 15, "10 groups of 1 to 30": UNEQUAL}


def ndcg_like(n):
    """Differences of two systems whose scores are often 0 or 1."""

    def draw(rng):
        a, b = (np.clip(rng.normal(0.6, 0.5, n), 0, 1) for _ in range(2))
        return a - b

    return draw


def tied(n):
    """Differences of two systems whose scores are 0 or 1 and mostly equal."""

    def draw(rng):
        return rng.choice([-1.0, 0.0, 1.0], n, p=[0.15, 0.7, 0.15])

    return draw


def differences(studies):
    plain = {
        f"{name}, n = {n}": (draw(n), None)
        for n in (20, 50, 200)
        for name, draw in (
            ("heavy tails (t with 3 df)", lambda n: lambda rng: rng.standard_t(3, n)),
            ("normal", lambda n: lambda rng: rng.normal(size=n)),
            ("clipped scores", ndcg_like),
        )
    }
    ties = {f"70 % ties of 0/1 scores, n = {n}": (tied(n), None) for n in (12, 20, 50, 200)}
    designs = plain | ties | {name: grouped(sizes) for name, sizes in GROUPS.items()}
    for design, (draw, clusters) in designs.items():
        rng, rejected, excluded = np.random.default_rng(0), 0, 0
        for seed in range(studies):
            scores = pd.DataFrame({"a": draw(rng), "b": 0.0})
            found = contrasts(scores, [("a", "b")], clusters, n_resamples=2000, seed=seed)
            row = found.iloc[0]
            rejected += row.p <= 0.05
            excluded += row.low > 0 or row.high < 0
        bar = (
            GROUPED if design in ties or clusters is not None else LEVEL
        )  # discrete tests reject less often
        yield "test rejects", "contrasts", design, rejected, bar
        yield "interval leaves out 0", "contrasts", design, excluded, bar


def covered_differences(studies):
    """Coverage of the interval of a true difference where most units are tied."""
    for n in (12, 20, 50, 200):
        rng, covered, defined = np.random.default_rng(4), 0, 0
        for seed in range(studies):
            scores = pd.DataFrame(
                {"a": rng.choice([-1.0, 0.0, 1.0], n, p=[0.05, 0.65, 0.3]), "b": 0.0}
            )
            row = contrasts(scores, [("a", "b")], n_resamples=2000, seed=seed).iloc[0]
            if np.isnan(row.low):
                continue
            defined += 1
            covered += row.low <= 0.25 <= row.high
        yield (
            "interval holds the difference",
            "contrasts",
            f"65 % ties, n = {n}",
            covered,
            WIDE,
            defined,
        )


def families(studies):
    """Any wrong verdict among five contrasts with one baseline."""
    rng, wrong = np.random.default_rng(1), 0
    for seed in range(studies):
        scores = pd.DataFrame(rng.normal(size=(40, 6)))
        pairs = [(k, 0) for k in range(1, 6)]
        found = contrasts(scores, pairs, n_resamples=2000, seed=seed)
        wrong += found["verdict"].isin(["better", "worse"]).any()
    yield "any wrong verdict of five", "contrasts", "normal, n = 40", wrong, GROUPED


def coverage(studies):
    shares = {"93 % zeros": 0.07, "60 % zeros": 0.4, "85 % ones": 0.85}
    designs = {
        f"{name}, n = {n}": (
            lambda rng, n=n, share=share: (rng.random(n) < share).astype(float),
            None,
            share,
        )
        for name, share in shares.items()
        for n in (12, 50, 200)
    }
    designs["exponential, n = 12"] = (lambda rng: rng.exponential(size=12), None, 1.0)
    designs["exponential, n = 50"] = (lambda rng: rng.exponential(size=50), None, 1.0)
    for name, sizes in GROUPS.items():
        designs[name] = (*grouped(sizes), 0.0)
    sizes = np.array([*UNEQUAL, 5, 9])
    labels = np.repeat(np.arange(12), sizes)
    designs["12 groups of 1 to 30, exponential"] = (
        lambda rng: rng.exponential(size=12)[labels],
        labels,
        1.0,
    )
    for design, (draw, clusters, truth) in designs.items():
        rng, covered = np.random.default_rng(2), 0
        for seed in range(studies):
            scores = pd.DataFrame({"a": draw(rng)})
            row = estimates(scores, clusters, n_resamples=2000, seed=seed).iloc[0]
            covered += row.low <= truth <= row.high
        bar = COVERAGE
        if "exponential" in design and "12" in design:
            bar = FEW
        elif (
            design.partition(",")[0] in shares
        ):  # Wilson's interval joins the hull, which errs on the safe side
            bar = WIDE
        yield "interval holds the mean", "estimates", design, covered, bar


def areas(studies):
    """Rows of both classes in groups; the groups move the scores of each class on their own.

    Scores are those of a class with a mean of 1 or 0, and of its group in it, and of the row, each
    with a standard deviation of 1. Of two such detectors neither is better.
    """
    few = [1, 2, 3, 5, 8, 12, 20, 30]
    designs = {
        "12 groups of 10": ([10] * 12, False),
        "8 groups of 1 to 30": (few, False),
        "6 groups of 20": ([20] * 6, False),
        "12 groups of 10, ties": ([10] * 12, True),
        "8 groups of 1 to 30, ties": (few, True),
        "40 rows": ([1] * 40, False),
    }
    for design, (sizes, ties) in designs.items():
        labels = np.repeat(np.arange(len(sizes)), sizes)
        rng, covered, excluded = np.random.default_rng(5), 0, 0
        for _ in range(studies):
            positive = rng.random(len(labels)) < 0.5
            effects = rng.normal(size=(2, 2, len(sizes)))[:, positive.astype(int), labels]
            scores = effects + positive + rng.normal(size=effects.shape)
            if ties:
                scores = np.rint(scores)
            options = {"clusters": None if max(sizes) == 1 else labels}
            area = auroc(positive, scores[0], **options)
            covered += area.low <= true_area(ties) <= area.high
            gap = auroc_difference(positive, *scores, **options)
            excluded += gap.low > 0 or gap.high < 0
        yield "interval holds the AUROC", "auroc", design, covered, AREA
        yield "interval leaves out 0", "auroc_difference", design, excluded, LEVEL


def true_area(ties):
    """AUROC of normal scores with means of 1 and 0 and a variance of 2, or of whole numbers."""
    if not ties:
        return stats.norm.cdf(0.5)
    ends = np.arange(-12, 14) - 0.5
    of_positives, of_negatives = (
        np.diff(stats.norm.cdf(ends, mean, np.sqrt(2))) for mean in (1, 0)
    )
    return float(of_positives @ (np.cumsum(of_negatives) - of_negatives / 2))


def skewed(studies):
    """Differences with a mean of 0 that are skewed, or whose groups are larger where they are.

    The test by signs, and the interval of the mean difference as `estimates` gives it.
    """

    def lognormal(n):
        return lambda rng: (rng.lognormal(size=n) - np.exp(0.5), None)

    def larger(groups):
        def draw(rng):
            effects = rng.normal(size=groups)
            sizes = np.maximum(1, np.rint(8 * np.exp(effects / 2))).astype(int)
            labels = np.repeat(np.arange(groups), sizes)
            # Rows of such groups have a mean effect of one half.
            return effects[labels] - 0.5 + rng.normal(size=len(labels)), labels

        return draw

    designs = {f"log-normal, n = {n}": lognormal(n) for n in (20, 50, 200)}
    designs |= {f"{n} groups, larger where better": larger(n) for n in (12, 40)}
    for design, draw in designs.items():
        rng, rejected, excluded = np.random.default_rng(6), 0, 0
        for seed in range(studies):
            values, clusters = draw(rng)
            scores = pd.DataFrame({"a": values, "b": 0.0})
            found = contrasts(scores, [("a", "b")], clusters, n_resamples=2000, seed=seed)
            rejected += found["p"][0] <= 0.05
            mean = estimates(scores[["a"]], clusters, n_resamples=2000, seed=seed).iloc[0]
            excluded += not mean.low <= 0 <= mean.high
        yield "test rejects", "contrasts", design, rejected, SKEWED
        yield "interval leaves out 0", "estimates", design, excluded, SKEWED


def public_paths(studies):
    """The same null with groups, through what commands and pages call."""
    studies = min(studies, 1000)
    for design, sizes in GROUPS.items():
        draw, labels = grouped(sizes)
        rng = np.random.default_rng(3)
        rightness = scored = 0
        for seed in range(studies):
            # Claims of a group are right or wrong together more often than not.
            easy = rng.normal(size=(2, len(sizes)))[:, labels]
            right = easy + rng.normal(size=easy.shape) > 0
            rows = pd.DataFrame({"a": right[0], "b": right[1]}).astype(float)
            found = contrasts(rows, [("a", "b")], labels, n_resamples=2000, seed=seed)
            rightness += found["verdict"][0] not in ("undecided", "same")
            study = Scored(pd.DataFrame({"a": draw(rng)}), labels)
            frame = study.scores["nDCG@10"]
            row = estimates(frame, study.clusters, n_resamples=2000, seed=seed).iloc[0]
            scored += not row["low"] <= 0 <= row["high"]
        share, _ = rejections(sizes, studies)
        for path, count in {
            "fact-check comparison": rightness,
            "scorecard": scored,
            "runs compare": round(share * studies),
        }.items():
            yield "null with groups", path, design, count, GROUPED, studies


class Scored(ScoredSystems):
    """Scores of one system on questions in groups, as a chapter reports them."""

    def __init__(self, scores, labels):
        names = [f"q{k}" for k in range(len(scores))]
        self.scores = {"nDCG@10": scores.set_axis(names)}
        groups = dict(zip(names, labels, strict=True))
        self.dataset = SimpleNamespace(groups=groups)


def study(studies=2000):
    """Give a row per procedure and design: share of studies, its interval, its bar."""
    rows = []
    for part in (differences, covered_differences, families, coverage, areas, skewed, public_paths):
        for what, path, design, count, bar, *fewer in part(studies):
            n = fewer[0] if fewer else studies
            found = wilson(int(count), n)
            row = (what, path, design, found.estimate, found.low, found.high, *bar)
            rows.append((*row, n))
            print(f"{what:28} {path:21} {design:36} {found.estimate:.3f} {bar}")
    columns = ["what", "path", "design", "share", "low", "high", "bar low", "bar high"]
    return pd.DataFrame(rows, columns=[*columns, "studies"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--studies", type=int, default=2000)
    options = parser.parse_args()
    table = study(options.studies)
    shares = [f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    bars = table["bar low"].map("{:.3f}".format) + " to " + table["bar high"].map("{:.3f}".format)
    shown = table.assign(share=shares, bar=bars)[
        ["what", "path", "design", "share", "bar", "studies"]
    ]
    write_text(options.file, shown.to_csv(index=False, lineterminator="\n"))
    # The interval of the simulated share must reach the bar.
    low, high = table["high"] < table["bar low"], table["low"] > table["bar high"]
    outside = table[low | high]
    print(outside.to_string() if len(outside) else "all within their bars")
    sys.exit(2 if len(outside) else 0)
