"""The documented ablation: a simulator whose inputs were reported as its results."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from casebook.errors import InputError
from casebook.factcheck.model import NOT_SUPPORTED, SUPPORTED
from casebook.stats.samples import stream

BASE_ACCURACY, LEAST_ACCURACY = 0.80, 0.1
BASE_SECONDS = 2.5
#: Reported "accuracy impact" in points: the simulator's inputs, not a measurement.
REPORTED_IMPACTS = {"no FOL": -12, "k=1": -8, "no credibility": -15, "no 3-stage": -10}


@dataclass(frozen=True)
class Simulated:
    """What the simulator knows of a configuration; weights and agents have no effect."""

    fol: bool = True
    k: int = 3
    credibility: bool = True
    three_stage: bool = True
    threshold: float = 0.7


CONFIGS = {
    "full": Simulated(),
    "no FOL": Simulated(fol=False),
    "k=1": Simulated(k=1),
    "no credibility": Simulated(credibility=False),
    "no 3-stage": Simulated(three_stage=False),
    "binary credibility": Simulated(),
    "stricter threshold": Simulated(threshold=0.85),
    "lenient threshold": Simulated(threshold=0.55),
    "minimal": Simulated(fol=False, k=1, credibility=False, three_stage=False),
}


def simulated_accuracy(config):
    """Give the probability with which the simulator draws a right answer."""
    penalties = (
        0.12 * (not config.fol)
        + 0.08 * (config.k == 1)
        + 0.15 * (not config.credibility)
        + 0.10 * (not config.three_stage)
        + 0.05 * (config.threshold > 0.7)
        + 0.03 * (config.threshold < 0.7)
    )
    return max(LEAST_ACCURACY, BASE_ACCURACY - penalties)


def simulated_seconds(config):
    """Give the constant that the simulator reports as time."""
    factor = 1 + 0.3 * config.fol + 0.4 * config.three_stage
    return BASE_SECONDS * (factor + (0.2 * config.k if config.k > 1 else 0))


def simulate(labels, config, seed=0):
    """Draw predictions as the simulator does, here with a seed."""
    rng = np.random.Generator(stream(seed, "simulated ablation"))
    right = rng.random(len(labels)) < simulated_accuracy(config)
    other = {SUPPORTED: NOT_SUPPORTED, NOT_SUPPORTED: SUPPORTED}
    unknown = set(labels) - set(other)
    if unknown:
        raise InputError(f"the simulator knows no label {min(unknown)!r}")
    pairs = zip(labels, right, strict=True)
    return [label if hit else other[label] for label, hit in pairs]


def chance_of_reversal(config, n, full=CONFIGS["full"]):
    """Probability that an ablated system looks at least as good as the full one."""
    counts = np.arange(n + 1)
    ablated = stats.binom.pmf(counts, n, simulated_accuracy(config))
    at_most = stats.binom.cdf(counts, n, simulated_accuracy(full))
    return float(ablated @ at_most)


def significance_label(difference):
    """Label a difference of F1 as documented, its sign ignored."""
    size = abs(difference)
    return "HIGH" if size > 0.05 else "MEDIUM" if size > 0.02 else "LOW"
