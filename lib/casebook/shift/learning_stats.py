"""What happened while a shift was learned, under the documented names and more."""

from dataclasses import asdict, dataclass

import numpy as np

from casebook.shift.directions import mean_direction

SUSPECT_NORM = 1e-3


@dataclass(frozen=True)
class LearningStats:
    """What happened while a shift was learned."""

    Cases: int
    UniquePairs: int
    ZeroDirections: int
    ContradictoryPairs: int
    AvgDirectionNorm: float
    MinDirectionNorm: float
    MaxDirectionNorm: float
    NormClipApplied: bool
    ClipNorm: float | None
    PreClipDeltaNorm: float
    PostClipDeltaNorm: float
    ResultantLength: float | None
    CancelOutSuspected: bool
    QueriesUsed: int
    QueriesWithoutError: int

    def as_dict(self):
        """Give the statistics under their documented names, as a dict."""
        return asdict(self)


def learning_stats(directions, pairs, means, **counts):
    """Describe how a shift was learned."""
    lengths = np.linalg.norm(directions, axis=1)
    cases, pairs = len(lengths), set(pairs)
    before, after = (float(np.linalg.norm(mean)) for mean in means)
    resultant = float(np.linalg.norm(mean_direction(directions, unit=True)))
    return LearningStats(
        Cases=cases,
        UniquePairs=len(pairs),
        ContradictoryPairs=sum((b, a) in pairs for a, b in pairs) // 2,
        AvgDirectionNorm=float(lengths.mean()) if cases else 0.0,
        MinDirectionNorm=float(lengths.min()) if cases else 0.0,
        MaxDirectionNorm=float(lengths.max()) if cases else 0.0,
        NormClipApplied=after < before,
        PreClipDeltaNorm=before,
        PostClipDeltaNorm=after,
        ResultantLength=resultant if cases else None,
        CancelOutSuspected=cases > 0 and before <= SUSPECT_NORM,
        **counts,
    )
