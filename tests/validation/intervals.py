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

from casebook.book import comparison
from casebook.factcheck.score import compare_verdicts
from casebook.files import write_text
from casebook.frames import contrasts, estimates
from casebook.retrieval.ablation import ScoredSystems
from casebook.stats.intervals import wilson

LEVEL = (0.03, 0.07)  # of a test or an interval of a difference
COVERAGE = (0.93, 0.98)
WIDE = (0.93, 1.0)  # few units, discrete scores
FEW = (0.88, 1.0)  # twelve units or groups of skewed scores: known to be short
GROUPED = (0.0, 0.07)


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


def public_paths(studies):
    """The same null with groups, through what commands and pages call."""
    studies = min(studies, 1000)
    for design, sizes in GROUPS.items():
        draw, labels = grouped(sizes)
        rng = np.random.default_rng(3)
        changed = rightness = scored = 0
        for seed in range(studies):
            lines = pd.DataFrame({"now": draw(rng), "before": 0.0, "cluster": labels})
            lines.attrs["left out"] = 0
            [line] = comparison.tested([("cell", "system", "nDCG@10", lines)]).to_dict("records")
            changed += line["verdict"] != "undecided"
            # Claims of a group are right or wrong together more often than not.
            easy = rng.normal(size=(2, len(sizes)))[:, labels]
            right = easy + rng.normal(size=easy.shape) > 0
            found = compare_verdicts(
                right[0], {"b": right[1]}, clusters=labels, n_resamples=2000, seed=seed
            )
            rightness += found["verdict"][0] not in ("undecided", "same")
            study = Scored(pd.DataFrame({"a": draw(rng)}), labels)
            low, high = study.numbers(n_resamples=2000, seed=seed)["a"]["nDCG@10"]["ci"]
            scored += not low <= 0 <= high
        share, _ = rejections(sizes, studies)
        for path, count in {
            "what changed": changed,
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
    for part in (differences, covered_differences, families, coverage, public_paths):
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
