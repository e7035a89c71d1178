"""Scores that know what they are scores of: every row made from them says it in its columns."""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations

import pandas as pd

from casebook import frames
from casebook.errors import InputError
from casebook.readers import did_you_mean
from casebook.verdicts import MARGINS, NEUTRAL, NOT_MEASURED, margin_of

LEVEL = 0.95
DIGITS = 9  # of a difference of two scores; what lies below is rounding


class Choice(namedtuple("Choice", "system role")):
    """A system that others are compared with, and how it was chosen."""

    @classmethod
    def of(cls, system):
        """The choice itself, or that of a system which was named."""
        return system if isinstance(system, cls) else cls(system, "")


@dataclass(frozen=True)
class Scores:
    """Scores of the same units by several systems, and what they are scores of.

    Parameters
    ----------
    values : pandas.DataFrame, shape [units, systems]
        Scores, of which higher is better; none may be missing.
    measure : str
        What is scored, as readers see it.
    dataset : str
        Key of the data, as in ``numbers.json``.
    title : str, optional
        Readers' name of the data; by default `dataset`.
    unit : str, default "questions"
        What a row is, in the plural.
    quantity : str, optional
        Unit of the measure, such as "milliseconds"; empty for a score.
    part : str, optional
        Name of a part of the data; empty for all of it.
    clusters : pandas.Series, shape [units], optional
        What each unit belongs to; dependent units are resampled together.
    cluster : str, optional
        What a cluster is, in the plural, such as "contracts".
    names, phrases : dict, optional
        Readers' names of systems: in tables, and within a sentence ("the full pipeline").
    control : str, optional
        System that knows nothing; its mean stands beside every number.
    notes : dict, optional
        What readers have to know of a system, as a sentence, by system.
    same_input : callable, optional
        Pairs of systems to a dict of those that read the same on every unit, with the reason.
    unmeasured : str, optional
        Why nothing can be compared, such as that nothing is judged relevant.
    margin : float, optional
        Largest difference that does not matter; by default that of the measure.
    neutral : bool
        Whether nobody here knows if more is better: verdicts are then *higher* and *lower*.
    coverage : float
        Of the intervals of contrasts; more than 0.95 where there are further families.
    n_resamples, seed : int
        Draws of all intervals and tests, and their seed.

    Raises
    ------
    InputError
        If a pair or a baseline was not run, or a measure was not measured.

    Notes
    -----
    Intervals and tests are those of `casebook.estimates` and `casebook.contrasts`.

    Examples
    --------
    >>> table = pd.DataFrame({"new": [3, 4, 5, 5, 4, 5, 4], "old": [2, 2, 3, 4, 2, 4, 4]})
    >>> scores = Scores(table, "points", "exam", unit="pupils")
    >>> row = scores.contrasts([("new", "old")]).iloc[0]
    >>> row[["measure", "unit", "verdict"]].tolist()
    ['points', 'pupils', 'better']
    >>> scores.best(["new", "old"], "classes")
    Choice(system='new', role='the best of 2 classes by mean points on 7 pupils')
    """

    values: pd.DataFrame
    measure: str
    dataset: str
    title: str = ""
    unit: str = "questions"
    quantity: str = ""
    part: str = ""
    clusters: pd.Series | None = None
    cluster: str | None = None
    names: dict = field(default_factory=dict)
    phrases: dict = field(default_factory=dict)
    control: str | None = None
    notes: dict = field(default_factory=dict)
    same_input: Callable | None = None
    unmeasured: str | None = None
    margin: float | None = None
    neutral: bool = False
    coverage: float = LEVEL
    n_resamples: int = 10_000
    seed: int = 0

    @classmethod
    def of(cls, study, measure, **settings):
        """Scores of one measure of a study, such as `casebook.run_ablation` gives."""
        if measure not in study.scores:
            known = ", ".join(map(str, study.scores))
            raise InputError(f"{measure} was not measured: choose from {known}")
        values = study.scores[measure]
        data = study.dataset
        about = {
            "title": data.card.title if data.card else data.name,
            "clusters": study.clusters and pd.Series(study.clusters, values.index),
            "cluster": data.cluster,
            "names": study.names,
            "phrases": study.phrases,
            "control": study.control,
            "notes": study.notes,
            "same_input": study.same_inputs,
            "unmeasured": study.unmeasured,
        }
        return cls(values, str(measure), data.name, **about | settings)

    # --- rows

    def estimates(self, null=None):
        """Mean of every system with its interval; with ``null``, on which side of it that lies."""
        rows = frames.estimates(
            self.values, self.clusters, self._control, **self._draws
        )
        if self._control is not None:
            rows["control_name"] = self.name(self._control)
        if null is not None:
            verdicts = frames.interval_verdicts(rows, null)
            rows = rows.assign(null=null, margin=self._margin, verdict=verdicts)
        return self.described(rows)

    def contrasts(self, pairs, family=frames.PLANNED, absent="refuse"):
        """Paired differences of systems, as one family; the second of a pair may be a `Choice`.

        A pair that was not run is refused by name; with ``absent="say"`` it has a row that says
        so.
        """
        roles = {}
        for system, against in pairs:
            choice = Choice.of(against)
            roles.setdefault((system, choice.system), {})[choice.role] = True
        if absent == "refuse":
            self._refuse_absent(roles)
        absences = {pair: self._absence(pair) for pair in roles}
        tested = [pair for pair in roles if not absences[pair]]
        same = self.same_input(tested) if self.same_input else {}
        if self.unmeasured:
            same = dict.fromkeys(tested, self.unmeasured)
        rows = frames.contrasts(
            self.values,
            tested,
            self.clusters,
            margin=self._margin,
            level=self.coverage,
            not_measured=same,
            **self._draws,
        )
        if self.measure.partition(" ")[0].partition("@")[0] in MARGINS:  # from 0 to 1
            rows[["low", "high"]] = rows[["low", "high"]].clip(-1, 1)
        rows["comparisons"] = (rows["verdict"] != NOT_MEASURED).sum()
        rows = rows.join(frames.count_units(self.values, tested))
        rows = rows.set_index(["system", "against"]).reindex(roles)
        for pair, absence in absences.items():
            if absence:
                rows.loc[pair, ["verdict", "reason", "n"]] = [NOT_MEASURED, absence, 0]
        rows = rows.reset_index()
        if self.neutral:
            rows["verdict"] = rows["verdict"].replace(NEUTRAL)
        means = self.values.mean()
        rows["level"] = rows["system"].map(means)
        rows["baseline"] = rows["against"].map(means)
        if self._control is not None:
            rows["control"] = means[self._control]
        rows["note"] = [self.notes.get(system, "") for system in rows["system"]]
        rows["role"] = [" and ".join(filter(None, known)) for known in roles.values()]
        return self.described(rows.assign(family=family, margin=self._margin))

    def pairs(self, planned=None):
        """Contrasts of all pairs: planned ones as they are, all others as one other family."""
        ran = self.contrasts([]) if planned is None else planned[planned["n"] > 0]
        known = set(map(frozenset, zip(ran["system"], ran["against"], strict=True)))
        others = [
            pair
            for pair in combinations(self.values, 2)
            if frozenset(pair) not in known
        ]
        if not others:
            return ran
        return pd.concat([ran, self.contrasts(others, frames.OTHER)], ignore_index=True)

    def ranking(self, pairs, controls=()):
        """Estimates, best first, with tie classes from the tests of all pairs; controls last.

        Systems that share a number of ``tie_class`` do not differ significantly.
        """
        rows = self.estimates().sort_values("value", ascending=False, kind="stable")
        is_control = rows["system"].isin(controls)
        compared = rows[~is_control]
        classes = frames.tie_classes(compared["system"], pairs, 1 - LEVEL)
        return pd.concat(
            [compared.assign(tie_class=classes), rows[is_control]], ignore_index=True
        )

    def differences(self, system, against):
        """Difference of two systems on every unit, largest first."""
        against = Choice.of(against).system
        self._refuse_absent([(system, against)])
        difference = (self.values[system] - self.values[against]).round(DIGITS)
        rows = difference.rename("difference").rename_axis("id").reset_index()
        rows = rows.sort_values(
            "difference", ascending=False, kind="stable", ignore_index=True
        )
        groups = frames.count_groups(self.clusters, len(rows))
        rows = rows.assign(system=system, against=against, n=len(rows), groups=groups)
        return self.described(rows)

    def between(self, is_first, first, second):
        """Mean of every system on units of one kind against its mean on all others.

        Parameters
        ----------
        is_first : pandas.Series of bool, shape [units]
            Units of the first kind, by the names of the units.
        first, second : str
            What units of either kind are, such as "short" and "long".
        """
        is_first = is_first.loc[self.values.index].astype(bool)
        if is_first.nunique() < 2:
            only = first if is_first.all() else second
            where = self.title or self.dataset
            raise InputError(f"{where}: all {self.unit} are {only}: nothing to compare")
        rows = frames.between(self.values, is_first, self.clusters, margin=self._margin)
        if self.unmeasured:
            rows = rows.assign(verdict=NOT_MEASURED, reason=self.unmeasured)
        rows = rows.rename(columns={"system": "of"})
        rows["of_name"] = rows["of"].map(self.name)
        for column, kind in {"system": first, "against": second}.items():
            units = f"{kind} {self.unit}"
            rows[f"{column}_unit"] = units
            rows[f"{column}_name"] = rows["of_name"] + f", {units}"
            rows[column] = rows["of"] + f", {kind}"
        rows["system_phrase"] = rows["of"].map(self.phrase) + f" on {first} {self.unit}"
        rows["against_phrase"] = f"that on {second} {self.unit}"
        about = {
            "role": "",
            "family": f"{first} and {second}",
            "comparisons": len(rows),
        }
        return self.described(rows.assign(margin=self._margin, **about))

    # --- parts and choices

    def other(self, values, measure, quantity=""):
        """Scores of the same units, or of some of them, in another measure."""
        return replace(
            self._of(values),
            measure=measure,
            quantity=quantity,
            margin=None,
            control=None,
            same_input=None,
        )

    def best(self, names, what="systems", unless=None):
        """Choice of the system with the highest mean of those that were run, or of a named one."""
        if unless is not None:
            if unless not in self.values:
                known = f"{did_you_mean(unless, self.values)}; choose from {', '.join(self.values)}"
                raise InputError(f"there is no score of {unless}{known}")
            return Choice.of(unless)
        means = self.values.mean().filter(names)
        if means.empty:
            raise InputError(f"none of the {what} was run: name the baseline")
        if len(means) == 1:
            return Choice(means.index[0], f"the only one of the {what} that was run")
        where = f"{len(self.values):,} {self.unit}"
        if self.part:
            where += f" ({self.part})"
        role = f"the best of {len(means)} {what} by mean {self.measure} on {where}"
        return Choice(means.idxmax(), role)

    def without(self, systems):
        """Scores of all other systems."""
        return replace(
            self, values=self.values.drop(columns=list(systems), errors="ignore")
        )

    def by(self, part):
        """Scores of the units of each part: a dict by the name that each unit has in ``part``."""
        parts = self.values.groupby(pd.Series(part, dtype=object), sort=False)
        return {
            name: replace(self._of(values), part=str(name)) for name, values in parts
        }

    def _of(self, values):
        clusters = None if self.clusters is None else self.clusters.loc[values.index]
        return replace(self, values=values, clusters=clusters)

    # --- what they are of

    def name(self, system):
        """Reader's name of a system."""
        return self.names.get(system, system)

    def phrase(self, system):
        """Name of a system within a sentence."""
        return self.phrases.get(system, self.name(system))

    def described(self, rows):
        """Rows with what they are of, where they do not say it: sentences are made of it."""
        about = {
            "measure": self.measure,
            "quantity": self.quantity,
            "dataset": f"{self.dataset}_{self.part}" if self.part else self.dataset,
            "title": self.title or self.dataset,
            "part": self.part,
            "unit": self.unit,
            "cluster": self.cluster,
        }
        for column in rows.columns.intersection(["system", "against"]):
            about[f"{column}_name"] = rows[column].map(self.name)
            about[f"{column}_phrase"] = rows[column].map(self.phrase)
        if self.neutral:
            about["neutral"] = True
        return rows.assign(**about | dict(rows.items()))

    @property
    def _draws(self):
        return {"n_resamples": self.n_resamples, "seed": self.seed}

    @property
    def _margin(self):
        return margin_of(self.measure) if self.margin is None else self.margin

    @property
    def _control(self):
        return self.control if self.control in self.values else None

    def _absence(self, pair):
        """Which system of a pair was not run; empty if both were."""
        missing = " and ".join(
            self.name(name) for name in pair if name not in self.values
        )
        return missing and f"{missing} was not run"

    def _refuse_absent(self, pairs):
        for pair in pairs:
            if self._absence(pair):
                raise InputError(
                    f"{' against '.join(map(self.name, pair))}: {self._absence(pair)}"
                )


def pair(rows, system, against):
    """Row of a pair; a pair without a row is refused by name."""
    against = Choice.of(against).system
    chosen = rows[(rows["system"] == system) & (rows["against"] == against)]
    if chosen.empty:
        raise InputError(
            f"{system} against {against} is none of the {len(rows)} pairs compared"
        )
    return chosen.iloc[0]
