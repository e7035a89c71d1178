"""The 2^4 ablation of the pipeline, run for real on the same claims."""

from dataclasses import dataclass

import pandas as pd

from casebook.errors import InputError
from casebook.factcheck.ablation_configs import factorial_configs
from casebook.factcheck.comparing import compare_verdicts
from casebook.factcheck.evidence import EvidenceBase
from casebook.factcheck.factorial import effects
from casebook.factcheck.memo import Memo
from casebook.factcheck.noise import plant_noise
from casebook.factcheck.performance import cost_rows
from casebook.factcheck.pipeline import FactChecker


@dataclass(frozen=True, eq=False)
class AblationRun:
    """Every configuration on every claim."""

    rows: pd.DataFrame

    def right(self):
        """Give a table of claims x configurations, 1 where right, else 0."""
        wide = self.rows.pivot_table("right", "id", "config", aggfunc="first")
        order = self.rows["id"].drop_duplicates(), self.rows["config"].drop_duplicates()
        return wide.loc[list(order[0]), list(order[1])].astype(float)

    def groups(self):
        """Give the group of every claim, in the order of `right`, list of str."""
        return self.rows.drop_duplicates("id")["group"].tolist()

    def costs(self):
        """Give accuracy beside cost: one row per configuration."""
        table = self.rows.groupby("config", sort=False).agg(
            accuracy=("right", "mean"),
            crashed=("verdict", lambda column: int(column.isna().sum())),
            n=("right", "size"),
            queries=("queries", "mean"),
            evidence=("evidence", "mean"),
            seconds=("seconds", "mean"),
        )
        return table.reset_index()

    def comparisons(self, against, leave_out=(), **options):
        """Compare one configuration with all others on the same claims."""
        right = self.right().astype(bool)
        rivals = {name: right[name] for name in right if name != against and name not in leave_out}
        return compare_verdicts(right[against], rivals, clusters=self.groups(), **options)


def run_configs(configs, base, stance, claims, *, share=True, memo=None):
    """Run configurations on the same claims."""
    ids = [claim.id for claim in claims]
    if not ids or len(set(ids)) < len(ids) or not all(c.label for c in claims):
        raise InputError("an ablation needs labelled claims with distinct ids")
    memo, tables = Memo() if memo is None else memo, []
    for name, config in configs.items():
        checker = FactChecker(base, stance, config, memo=memo if share else Memo())
        results = checker.check_all([(claim.id, claim.text) for claim in claims])
        table = cost_rows(results)
        table.insert(0, "config", name)
        table["group"] = [claim.group or claim.id for claim in claims]
        table["label"] = [claim.label for claim in claims]
        table["verdict"] = pd.Series([r.verdict for r in results], dtype=object)
        table["support"] = pd.Series([r.support for r in results], dtype=float)
        table["right"] = table["verdict"] == table["label"]
        tables.append(table)
    return AblationRun(pd.concat(tables, ignore_index=True))


@dataclass(frozen=True, eq=False)
class NoiseStudy:
    """The factorial under planted noise."""

    right: dict
    groups: list
    seeds: tuple

    def effects(self, **options):
        """Give all effects by rate, one table with the column ``rate`` first."""
        tables = []
        for rate, table in self.right.items():
            found = effects(table, self.groups, **options)
            found.insert(0, "rate", rate)
            tables.append(found)
        return pd.concat(tables, ignore_index=True)


def noise_study(documents, stance, claims, *, rates=(0.0, 0.5, 1.0), seeds=(0, 1, 2), config=None, **options):
    """Run the factorial with contradicting notes planted at known rates."""
    configs, right, groups = factorial_configs(config), {}, None
    for rate in rates:
        tables = []
        for seed in seeds if rate else seeds[:1]:
            base = EvidenceBase(plant_noise(documents, rate, seed), **options)
            run = run_configs(configs, base, stance, claims)
            tables.append(run.right())
            groups = run.groups()
        right[rate] = sum(tables) / len(tables)
    return NoiseStudy(right, groups, tuple(seeds))
