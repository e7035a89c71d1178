"""The ablation on the own claims as tables: factorial, noise, nine systems."""

import math
from dataclasses import dataclass, replace

import pandas as pd

from casebook.factcheck.ablation import noise_study, run_configs
from casebook.factcheck.ablation_configs import documented_configs, factorial_configs
from casebook.factcheck.ablation_documented import (
    CONFIGS,
    REPORTED_IMPACTS,
    chance_of_reversal,
    simulated_accuracy,
    simulated_seconds,
)
from casebook.factcheck.memo import Memo
from casebook.factcheck.own_study import own_study
from casebook.factcheck.pipeline import PipelineConfig

COMPONENTS = {"no FOL": "decomposition", "k=1": "diversity", "no credibility": "weighting", "no 3-stage": "three-stage"}


@dataclass(frozen=True, eq=False)
class AblationReport:
    """Tables of one ablation."""

    factorial: object
    nine: object
    noise: object
    seed: int = 0
    resamples: int = 10_000

    def effects(self, **options):
        """Give all effects by rate of noise, see `NoiseStudy.effects`."""
        return self.noise.effects(**{"seed": self.seed, "n_resamples": self.resamples} | options)

    def reported(self):
        """Set the documented impacts beside what was measured."""
        effects = self.effects()
        clean = (effects["kind"] == "without") & (effects["rate"] == 0)
        table = effects[clean].set_index("effect")
        rows = []
        for name, factor in COMPONENTS.items():
            found = table.loc[factor]
            rows.append(
                {
                    "configuration": name,
                    "reported": REPORTED_IMPACTS[name],
                    "origin": "input of a simulator",
                    "simulated accuracy": simulated_accuracy(CONFIGS[name]),
                    "simulated seconds": simulated_seconds(CONFIGS[name]),
                    "reversed at n=10": chance_of_reversal(CONFIGS[name], 10),
                    "ours": _points(found["value"]),
                    "ours low": _points(found["high"]),
                    "ours high": _points(found["low"]),
                    "p_adjusted": found["p_adjusted"],
                    "n": int(found["n"]),
                }
            )
        return pd.DataFrame(rows)

    def comparisons(self):
        """Compare the full system with the configurations that are no single effect."""
        table = self.nine.comparisons("full", COMPONENTS, seed=self.seed, n_resamples=self.resamples)
        return table.rename(columns={"rival": "configuration"})

    def as_dict(self):
        """Give all tables as plain values."""
        tables = {
            "cells": self.factorial.costs(),
            "configurations": self.nine.costs(),
            "comparisons": self.comparisons(),
            "effects": self.effects(),
            "reported": self.reported(),
        }
        return {name: _records(table) for name, table in tables.items()}

    def as_text(self):
        """Give the main tables as text."""
        effects = self.effects()
        shown = effects[effects["kind"].isin(["main", "without", "shapley"])]
        parts = {
            "Cells": self.factorial.costs(),
            "Effects by rate of planted notes": shown.drop(columns="reason"),
            "Documented configurations, run": self.nine.costs(),
            "Documented impacts (points) and ours": self.reported(),
        }
        return "\n\n".join(
            f"{title}\n{table.to_string(index=False, float_format='%.3f', na_rep='-')}"
            for title, table in parts.items()
        )


def _points(difference):
    return 100 * (0 - difference)


def _records(table):
    """Turn a table into rows of plain values, None for what is missing."""
    rows = table.astype(object).to_dict(orient="records")
    return [{key: _plain(value) for key, value in row.items()} for row in rows]


def _plain(value):
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def ablation_report(*, rates=(0.0, 0.5, 1.0), seeds=3, gate="low", mode="bm25_stemmed", seed=0):
    """Run the ablation on the shipped test claims."""
    config = replace(PipelineConfig(), gate=gate)
    study, memo = own_study(config, mode=mode), Memo()
    factorial, nine = (
        run_configs(configs, study.base, study.stance, study.test, memo=memo)
        for configs in (factorial_configs(config), documented_configs(config))
    )
    noise = noise_study(
        study.base.documents,
        study.stance,
        study.test,
        rates=tuple(rate for rate in rates if rate),
        seeds=tuple(range(seeds)),
        config=config,
        mode=mode,
    )
    # Without notes there is nothing to draw: the clean run serves.
    right = {0.0: factorial.right()} if 0.0 in rates else {}
    noise = replace(noise, right=right | noise.right, groups=factorial.groups())
    return AblationReport(factorial, nine, noise, seed)
