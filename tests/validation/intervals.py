"""How often tests and intervals err, by simulation; the book's table.

``python tests/validation/intervals.py FILE [STUDIES]`` writes it, prints every row with its bar
and exits with 2 if one is outside.
"""

import sys

import numpy as np
import pandas as pd
from runs_null import rejections
from scipy import stats

from casebook.files import write_text
from casebook.frames import contrasts, estimates
from casebook.stats.areas import auroc, auroc_difference
from casebook.stats.intervals import wilson

LEVEL = (0.03, 0.07)  # of a test or an interval of a difference
COVERAGE = (0.93, 0.98)
WIDE = (0.93, 1.0)  # few units, discrete scores
FEW = (0.88, 1.0)  # twelve units or groups of skewed scores: known to be short
GROUPED = (0.0, 0.07)
AREA = (0.93, 0.97)
SKEWED = (0.0, 0.2)  # signs do not turn skewed sums: known to reject too often
UNEQUAL = [1, 2, 3, 4, 6, 8, 12, 16, 22, 30]
GROUPS = {"6 groups of 20": [20] * 6, "15 groups of 8": [8] * 15, "10 groups of 1 to 30": UNEQUAL}
RIGHT, LEFT_OUT = "test rejects", "interval leaves out 0"


# --- designs: functions of random numbers that give values, and groups or None


def units(draw):
    return lambda rng: (draw(rng), None)


def clipped(n):
    """Differences of two systems whose scores are often 0 or 1."""

    def draw(rng):
        a, b = (np.clip(rng.normal(0.6, 0.5, n), 0, 1) for _ in range(2))
        return a - b

    return units(draw)


def choices(n, *shares):
    """Differences of two systems whose scores are 0 or 1."""
    return units(lambda rng: rng.choice([-1.0, 0.0, 1.0], n, p=shares))


def zeros_and_ones(n, share):
    return units(lambda rng: (rng.random(n) < share).astype(float))


def grouped(sizes):
    """Effect of the group and of the row, both with a standard deviation of 1."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return lambda rng: (rng.normal(size=len(sizes))[labels] + rng.normal(size=len(labels)), labels)


def larger(groups):
    """Groups that are larger where their effect is; their rows have a mean effect of one half."""

    def draw(rng):
        effects = rng.normal(size=groups)
        sizes = np.maximum(1, np.rint(8 * np.exp(effects / 2))).astype(int)
        labels = np.repeat(np.arange(groups), sizes)
        return effects[labels] - 0.5 + rng.normal(size=len(labels)), labels

    return draw


# --- what is done with a drawn study


def difference(values, clusters, seed):
    scores = pd.DataFrame({"a": values, "b": 0.0})
    return contrasts(scores, [("a", "b")], clusters, n_resamples=2000, seed=seed).iloc[0]


def mean(values, clusters, seed):
    return estimates(pd.DataFrame({"a": values}), clusters, n_resamples=2000, seed=seed).iloc[0]


def drawn(studies, draw, stream, estimate):
    rng = np.random.default_rng(stream)
    return pd.DataFrame([estimate(*draw(rng), seed) for seed in range(studies)])


def holds(rows, truth):
    return (rows["low"] <= truth) & (truth <= rows["high"])


# --- rows: what errs, in which function, under which design, how often, the bar, of how many


def differences(studies):
    designs = {}
    for n in (20, 50, 200):
        heavy = units(lambda rng, n=n: rng.standard_t(3, n))
        designs[f"heavy tails (t with 3 df), n = {n}"] = heavy, LEVEL
        designs[f"normal, n = {n}"] = units(lambda rng, n=n: rng.normal(size=n)), LEVEL
        designs[f"clipped scores, n = {n}"] = clipped(n), LEVEL
    for n in (12, 20, 50, 200):  # discrete tests reject less often
        designs[f"70 % ties of 0/1 scores, n = {n}"] = choices(n, 0.15, 0.7, 0.15), GROUPED
    designs |= {name: (grouped(sizes), GROUPED) for name, sizes in GROUPS.items()}
    for design, (draw, bar) in designs.items():
        rows = drawn(studies, draw, 0, difference)
        yield RIGHT, "contrasts", design, (rows["p"] <= 0.05).sum(), bar, studies
        excluded = (rows["low"] > 0) | (rows["high"] < 0)
        yield LEFT_OUT, "contrasts", design, excluded.sum(), bar, studies
    # Coverage of the interval of a true difference where most units are tied.
    for n in (12, 20, 50, 200):
        rows = drawn(studies, choices(n, 0.05, 0.65, 0.3), 4, difference).dropna(subset="low")
        about = "interval holds the difference", "contrasts", f"65 % ties, n = {n}"
        yield *about, holds(rows, 0.25).sum(), WIDE, len(rows)


def families(studies):
    """Any wrong verdict among five contrasts with one baseline."""
    rng, wrong = np.random.default_rng(1), 0
    for seed in range(studies):
        scores = pd.DataFrame(rng.normal(size=(40, 6)))
        found = contrasts(scores, [(k, 0) for k in range(1, 6)], n_resamples=2000, seed=seed)
        wrong += found["verdict"].isin(["better", "worse"]).any()
    yield "any wrong verdict of five", "contrasts", "normal, n = 40", wrong, GROUPED, studies


def coverage(studies):
    designs = {}
    # Wilson's interval joins the hull, which errs on the safe side.
    for name, share in {"93 % zeros": 0.07, "60 % zeros": 0.4, "85 % ones": 0.85}.items():
        for n in (12, 50, 200):
            designs[f"{name}, n = {n}"] = zeros_and_ones(n, share), share, WIDE
    for n, bar in ((12, FEW), (50, COVERAGE)):
        exponential = units(lambda rng, n=n: rng.exponential(size=n))
        designs[f"exponential, n = {n}"] = exponential, 1.0, bar
    designs |= {name: (grouped(sizes), 0.0, COVERAGE) for name, sizes in GROUPS.items()}
    labels = np.repeat(np.arange(12), [*UNEQUAL, 5, 9])
    skewed_groups = lambda rng: (rng.exponential(size=12)[labels], labels)  # noqa: E731
    designs["12 groups of 1 to 30, exponential"] = skewed_groups, 1.0, FEW
    for design, (draw, truth, bar) in designs.items():
        covered = holds(drawn(studies, draw, 2, mean), truth).sum()
        yield "interval holds the mean", "estimates", design, covered, bar, studies


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
        clusters = None if max(sizes) == 1 else labels
        rng, covered, excluded = np.random.default_rng(5), 0, 0
        for _ in range(studies):
            positive = rng.random(len(labels)) < 0.5
            effects = rng.normal(size=(2, 2, len(sizes)))[:, positive.astype(int), labels]
            scores = effects + positive + rng.normal(size=effects.shape)
            scores = np.rint(scores) if ties else scores
            area = auroc(positive, scores[0], clusters=clusters)
            covered += area.low <= true_area(ties) <= area.high
            gap = auroc_difference(positive, *scores, clusters=clusters)
            excluded += gap.low > 0 or gap.high < 0
        yield "interval holds the AUROC", "auroc", design, covered, AREA, studies
        yield LEFT_OUT, "auroc_difference", design, excluded, LEVEL, studies


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
    designs = {}
    for n in (20, 50, 200):
        draw = units(lambda rng, n=n: rng.lognormal(size=n) - np.exp(0.5))
        designs[f"log-normal, n = {n}"] = draw
    designs |= {f"{n} groups, larger where better": larger(n) for n in (12, 40)}
    for design, draw in designs.items():
        rejected = (drawn(studies, draw, 6, difference)["p"] <= 0.05).sum()
        yield RIGHT, "contrasts", design, rejected, SKEWED, studies
        excluded = studies - holds(drawn(studies, draw, 6, mean), 0).sum()
        yield LEFT_OUT, "estimates", design, excluded, SKEWED, studies


def runs_compared(studies):
    """The same null with groups, through the comparison of runs."""
    studies = min(studies, 1000)
    for design, sizes in GROUPS.items():
        share, _ = rejections(sizes, studies)
        yield "null with groups", "runs compare", design, round(share * studies), GROUPED, studies


def study(studies=2000):
    """A row per procedure and design: share of studies, its interval, its bar."""
    rows = []
    for part in (differences, families, coverage, areas, skewed, runs_compared):
        for what, path, design, count, (low, high), n in part(studies):
            share = wilson(int(count), n)
            rows.append((what, path, design, share.estimate, share.low, share.high, low, high, n))
            print(f"{what:28} {path:21} {design:36} {share.estimate:.3f} {low} to {high}")
    columns = ["what", "path", "design", "share", "low", "high", "bar low", "bar high"]
    return pd.DataFrame(rows, columns=[*columns, "studies"])


if __name__ == "__main__":
    table = study(*map(int, sys.argv[2:]))
    shares = [f"{row.share:.3f} [{row.low:.3f}, {row.high:.3f}]" for row in table.itertuples()]
    bars = table["bar low"].map("{:.3f}".format) + " to " + table["bar high"].map("{:.3f}".format)
    shown = table.assign(share=shares, bar=bars)[
        ["what", "path", "design", "share", "bar", "studies"]
    ]
    write_text(sys.argv[1], shown.to_csv(index=False, lineterminator="\n"))
    # The interval of the simulated share must reach the bar.
    outside = table[(table["high"] < table["bar low"]) | (table["low"] > table["bar high"])]
    print(outside.to_string() if len(outside) else "all within their bars")
    sys.exit(2 if len(outside) else 0)
