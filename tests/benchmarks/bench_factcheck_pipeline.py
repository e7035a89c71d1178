"""The 2^4 ablation of the fact-checker against sixteen separate runs, in CPU time."""

import pandas as pd
from casebook.factcheck.ablation_configs import factorial_configs
from casebook.factcheck.stance_pairs import training_pairs
from measuring import cpu_seconds, row

from casebook.factcheck.ablation import run_configs
from casebook.factcheck.claims import read_claims, shipped_documents
from casebook.factcheck.pipeline import EvidenceBase
from casebook.factcheck.stance import FeatureStance

BAR = 4


def rows():
    """Measure every benchmark of this file."""
    documents = shipped_documents()
    base = EvidenceBase(documents)
    claims = read_claims(documents=documents)
    train = [claim for claim in claims if claim.split == "train"]
    test = [claim for claim in claims if claim.split == "test"]
    stance = FeatureStance(base.rarity).fit(training_pairs(train, base))
    configs = factorial_configs()
    run_configs(configs, base, stance, test)  # warm: both sides find the same caches
    ours, shared = cpu_seconds(lambda: run_configs(configs, base, stance, test))
    peer, alone = cpu_seconds(lambda: run_configs(configs, base, stance, test, share=False))
    pd.testing.assert_frame_equal(shared.rows.drop(columns="seconds"), alone.rows.drop(columns="seconds"))
    name = f"2^4 ablation of the fact-checker, {len(test)} claims"
    note = "identical verdicts, evidence counts and supports"
    return [row(name, "sixteen separate runs", ours, peer, BAR, note)]


if __name__ == "__main__":
    for measured in rows():
        print(measured)
