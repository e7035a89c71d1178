"""The ablation of the fact-checker against a separate run of each configuration, in CPU time."""

import pandas as pd
from measuring import cpu_seconds, row

from casebook.factcheck.ablation import documented_configs, run_configs
from casebook.factcheck.study import CheckedClaims

BAR = 2


def run_alone(configs, *arguments):
    tables = [run_configs({name: config}, *arguments) for name, config in configs.items()]
    return pd.concat(tables, ignore_index=True)


def rows():
    own = CheckedClaims()
    base, stance, test = own.base, own.fitted, own.test
    configs = documented_configs()
    run_configs(configs, base, stance, test)  # warm: both sides find the same caches
    ours, shared = cpu_seconds(lambda: run_configs(configs, base, stance, test))
    peer, alone = cpu_seconds(lambda: run_alone(configs, base, stance, test))
    pd.testing.assert_frame_equal(shared.drop(columns="seconds"), alone.drop(columns="seconds"))
    name = f"ablation of the fact-checker, {len(test)} claims"
    note = "identical verdicts, evidence counts and supports"
    return [row(name, "separate runs", ours, peer, BAR, note)]
