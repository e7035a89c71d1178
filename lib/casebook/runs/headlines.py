"""Headlines: the one to four answers of a chapter, which the front page shows."""

import json
import math
from dataclasses import asdict, dataclass

from casebook.paths import run_dir
from casebook.runs.evidence import require_file
from casebook.stats.intervals import bounds_text
from casebook.verdicts import (  # notebooks import the words from here  # noqa: F401
    ANSWERS,
    EFFECTS,
    HELPS,
    HURTS,
    INTERVAL_BY_UNIT,
    NO_EFFECT,
    NO_UNIT_DIFFERS,
    NOT_MEASURED,
    UNDECIDED,
    verdict_of,
)


@dataclass(frozen=True)
class Headline:
    """A question, the effect that answers it, and the verdict that follows from its interval.

    ``value`` is an effect around zero: a difference from the strongest simple baseline, or a value
    minus ``null`` (.5 of a win rate or an AUROC). It is never compared with chance, which is drawn
    as a tick only.
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
    # Why there is no value or no interval, or why the interval is by unit.
    reason: str | None = None
    decision: str | None = None  # verdict of the contrast that it was taken from
    # Verdict to opening words, where "Yes" and "No" do not fit the question.
    answers: dict | None = None
    # Verdict to word of the front page, where "helps" and "hurts" do not fit.
    words: dict | None = None
    method: str | None = None  # page below methods/, with anchor; else the experiment's
    topic: str | None = None  # row of the front page; answers of one topic share it
    label: str | None = None  # name of the dot in that row; else the data set's
    meaning: str | None = None  # what the levels mean, in one plain sentence without jargon

    @classmethod
    def of(cls, row, question, *, null=0.0, **names):
        """Take effect, interval, counts and verdict from a row of `contrasts` or of `estimates`."""
        effect = "difference" if "difference" in row else "value"
        groups = row.get("groups")
        fields = {
            "value": _around(row[effect], null),
            "low": _around(row["low"], null),
            "high": _around(row["high"], null),
            "null": null,
            "system": row.get("system"),
            "against": row.get("against"),
            "n": int(row["n"]),
            "groups": None if groups is None else int(groups),
            "reason": row["reason"] if isinstance(row.get("reason"), str) else None,
            "decision": row.get("verdict") if effect == "difference" else None,
        }
        return cls(question, **fields | names)

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
        low = None if self.low is None else self.low + self.null
        high = None if self.high is None else self.high + self.null
        return f"{self.value + self.null:{spec}} {bounds_text(low, high, spec)}"

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
            units = self.unit.removeprefix("held-out ")
            return (
                f"fewer than six {groups}: the interval is by {units.removesuffix('s')} "
                f"and speaks of new {units} from these {groups}"
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
    rows = [asdict(headline) for headline in headlines]
    return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_headlines(run, cell):
    """Read the headlines of a cell, perhaps none; if they were altered since, refuse them."""
    path = run_dir(run) / "headlines" / f"{cell}.json"
    require_file(run_dir(run) / "runs" / cell, path)
    if not path.is_file():
        return []
    return [Headline(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
