"""Controls and bounds: what no learning, leaking, and looking ahead would give."""

import numpy as np
import pandas as pd

from casebook.shift.evaluate import SCALES, SELECTION, learn
from casebook.stats.samples import check_count, stream


def in_sample(data, grid, *, scales=SCALES, **settings):
    """Learn, choose and report on the same queries: shown apart, as a warning."""
    best = None
    for options in grid:
        shift = learn(data, range(len(data)), options, **settings)
        for scale in sorted(scales):
            vectors = data.queries + scale * shift.move(data.queries)
            score = float(data.score(vectors, measures=[SELECTION])[SELECTION].mean())
            if best is None or score > best[0] + 1e-12:
                best = score, vectors
    return best[1]


def random_directions(data, fit, measures, *, draws=20, seed=0):
    """Measure shifts of random direction that are as long as the fitted ones."""
    check_count("draws", draws)
    lengths = fit.scales * np.linalg.norm(fit.moves, axis=1)
    frames = []
    for draw in range(draws):
        rng = np.random.Generator(stream(seed, "random direction", draw))
        vectors = data.queries.copy()
        for fold in fit.folds:
            direction = rng.normal(size=data.queries.shape[1])
            direction /= np.linalg.norm(direction)
            vectors[fold] += lengths[fold, None] * direction
        frames.append(data.score(vectors, measures=measures))
    return sum(frames) / draws, pd.DataFrame([frame.mean() for frame in frames])


def oracle_scale(data, fit, measures, scales=SCALES):
    """Give each query its best scale, seen with its labels: a ceiling, not a system."""
    found = [data.score(fit.shifted(data, s), measures=measures) for s in scales]
    return pd.DataFrame(
        np.max([frame.to_numpy() for frame in found], axis=0), index=found[0].index, columns=found[0].columns
    )
