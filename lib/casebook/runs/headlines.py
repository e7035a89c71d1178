"""Headlines: the one to four answers of a chapter. The front page shows them; nothing else computes them."""

import json
import math
from dataclasses import asdict, dataclass

from casebook.paths import run_dir
from casebook.runs.evidence import require_file
from casebook.stats.intervals import bounds_text
from casebook.verdicts import (
    BETTER,
    EQUIVALENT,
    INTERVAL_BY_UNIT,
    NO_UNIT_DIFFERS,
    NOT_MEASURED,
    UNDECIDED,
    WORSE,
    verdict_of,
)

HELPS = "helps"
HURTS = "hurts"
NO_EFFECT = "no effect"
EFFECTS = {
    BETTER: HELPS,
    WORSE: HURTS,
    EQUIVALENT: NO_EFFECT,
    UNDECIDED: UNDECIDED,
    NOT_MEASURED: NOT_MEASURED,
}
ANSWERS = {
    HELPS: "Yes",
    HURTS: "No, it is worse",
    NO_EFFECT: "No, the difference is too small to matter",
    UNDECIDED: "Undecided",
    NOT_MEASURED: "Cannot be measured here",
}


@dataclass(frozen=True)
class Headline:
    """A question, the effect that answers it, and the verdict that follows from its interval.

    ``value`` is an effect around zero: a difference from the strongest simple baseline, or a value minus ``null``
    (.5 of a win rate or an AUROC). It is never compared with chance, which is drawn as a tick only.
    """

    question: str
    dataset: str  # key of a data card, or a reader's name
    system: str  # readers' names: "Full pipeline", not "full"
    against: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    unit: str = "questions"
    groups: int | None = None
    cluster: str | None = None  # what a group is: "contracts"
    margin: float = 0.0  # effects below it do not matter; 0: none was stated
    null: float = 0.0  # what was subtracted, to print the value itself
    level: float | None = None  # the system's own mean, and the baseline's
    baseline: float | None = None
    chance: float | None = None  # the effect of a random scorer
    reason: str | None = (
        None  # why there is no value or no interval, or why the interval is by unit
    )
    decision: str | None = None  # verdict of the contrast that it was taken from
    answers: dict | None = (
        None  # verdict -> opening words, where "Yes" and "No" do not fit the question
    )
    words: dict | None = (
        None  # verdict -> word of the front page, where "helps" and "hurts" do not fit
    )
    method: str | None = None  # page below methods/, with anchor; else the experiment's

    @classmethod
    def of(cls, row, question, *, null=0.0, **names):
        """Take effect, interval, counts and verdict from a row of `contrasts` or of `estimates`."""
        effect = "difference" if "difference" in row else "value"
        value, low, high = (_around(row[name], null) for name in (effect, "low", "high"))
        groups = row.get("groups")
        fields = {
            "system": row.get("system"),
            "against": row.get("against"),
            "n": int(row["n"]),
            "groups": None if groups is None else int(groups),
            "reason": row["reason"] if isinstance(row.get("reason"), str) else None,
            "decision": row.get("verdict") if effect == "difference" else None,
        }
        return cls(question, value=value, low=low, high=high, null=null, **fields | names)

    @property
    def verdict(self):
        """The verdict: that of the contrast, else from the interval and the margin alone."""
        if self.value is None or self.reason == NO_UNIT_DIFFERS:
            return NOT_MEASURED
        return EFFECTS.get(self.decision) or EFFECTS[verdict_of(self.low, self.high, self.margin)]

    @property
    def answer(self):
        """The opening words of the answer."""
        return (self.answers or {}).get(self.verdict, ANSWERS[self.verdict])

    @property
    def word(self):
        """The verdict as the front page writes it."""
        return (self.words or {}).get(self.verdict, self.verdict)

    @property
    def effect(self):
        """The effect with its interval, as text; a value around ``null`` is printed as itself."""
        if self.value is None:
            return ""
        spec = "+z.3f" if self.against and not self.null else "z.3f"  # a difference has a sign
        bounds = [None if x is None else x + self.null for x in (self.low, self.high)]
        return f"{self.value + self.null:{spec}} {bounds_text(*bounds, spec)}"

    @property
    def count(self):
        """The number of rows, and of groups where they are fewer."""
        text = counted(self.n, self.unit)
        if self.groups and self.cluster and self.groups != self.n:
            text += f" in {counted(self.groups, self.cluster)}"
        return text

    @property
    def why(self):
        """The reason in words; None where there is none."""
        if not self.reason:
            return None
        if self.reason == INTERVAL_BY_UNIT:
            groups = self.cluster or "groups"
            unit = self.unit.removeprefix("held-out ")
            return (
                f"fewer than six {groups}: the interval is by {unit.removesuffix('s')} and speaks of new {unit} "
                f"from these {groups}"
            )
        from casebook.tables import reason_text  # who only reads headlines needs no tables

        return reason_text(self.reason)

    @property
    def sentence(self):
        """The answer in one sentence."""
        if self.verdict == NOT_MEASURED:
            count = f" ({self.count})" if self.n else ""
            return f"{self.answer}: {self.why or 'nothing was compared'}{count}."
        names = f"{self.measure} against {self.against}" if self.against else self.measure
        text = f"{self.answer}: {self.effect} {names} ({self.count})"
        if self.reason == INTERVAL_BY_UNIT:
            return f"{text}; {self.why}."
        if self.low is None and self.reason:
            return f"{text}. No interval: {self.why}."
        return f"{text}."

    def _repr_markdown_(self):
        return f"**{self.sentence}**"


def counted(number, plural):
    """Write a number of things; one question, two questions."""
    return f"{number:,} {plural.removesuffix('s') if number == 1 else plural}"


def _around(value, null):
    """A number relative to the one that means nothing; None where it is undefined."""
    return None if value is None or math.isnan(value) else float(value) - null


def headlines_text(headlines):
    """Give the content of a cell's file of headlines."""
    return (
        json.dumps(
            [asdict(each) for each in headlines], indent=1, ensure_ascii=False, allow_nan=False
        )
        + "\n"
    )


def read_headlines(run, cell):
    """Read the headlines of a cell; none if it has none. Those of a finished cell are what its record says."""
    path = run_dir(run) / "headlines" / f"{cell}.json"
    require_file(run_dir(run) / "runs" / cell, path)
    return (
        [Headline(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
        if path.is_file()
        else []
    )
