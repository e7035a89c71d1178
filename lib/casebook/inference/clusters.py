"""Which units belong together, and are drawn together."""

import numpy as np
import pandas as pd

from casebook.errors import InputError


def cluster_codes(clusters, n):
    """Give each cluster a number, in the order of their first observation."""
    labels = np.asarray(clusters, dtype=object)
    if labels.shape != (n,):
        raise InputError(f"clusters must name one cluster for each of {n} units")
    codes, _ = pd.factorize(labels)
    if (codes < 0).any():
        raise InputError(f"{(codes < 0).sum()} of {n} units have no cluster")
    return codes.astype(np.int64)
