"""Headlines: the one to three answers of a chapter. The front page shows them; nothing else computes them."""

import json
import math
from dataclasses import asdict, dataclass

from casebook.paths import run_dir
from casebook.stats.intervals import FEWEST, bounds_text

HELPS, HURTS, NO_EFFECT = "helps", "hurts", "no effect"
NO_BETTER, UNDECIDED, NOT_MEASURED = "no better than the baseline", "undecided", "cannot be measured"
ANSWERS = {
    HELPS: "Yes",
    HURTS: "No, it is worse",
    NO_EFFECT: "No, the difference is too small to matter",
    NO_BETTER: "No",
    UNDECIDED: "Undecided",
    NOT_MEASURED: "Cannot be measured",
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
    reason: str | None = None  # why there is no interval
    answers: dict | None = None  # verdict -> opening words, where "Yes" and "No" do not fit the question
    words: dict | None = None  # verdict -> word of the front page, where "helps" and "hurts" do not fit
    method: str | None = None  # page below methods/, with anchor; else the experiment's

    @classmethod
    def of(cls, row, question, *, null=0.0, **names):
        """Take the effect, interval and counts from a row of `contrasts` or of `estimates`."""
        contrast = "difference" in row
        value = row["difference" if contrast else "value"]
        low, high = (None if math.isnan(bound) else float(bound) - null for bound in (row["low"], row["high"]))
        groups = row.get("groups")
        counts = {"n": int(row["n"]), "groups": None if groups is None else int(groups)}
        names = {"system": row.get("system"), "against": row.get("against"), "reason": row.get("reason")} | names
        return cls(question, value=float(value) - null, low=low, high=high, null=null, **counts | names)

    @property
    def verdict(self):
        """The verdict, from the interval and the margin alone."""
        if self.value is None:
            return NOT_MEASURED
        if self.low is None or self.high is None:
            return UNDECIDED
        if self.low == self.high == 0:  # no row differs, which a handful of rows does not prove
            return NO_EFFECT if (self.groups or self.n) >= FEWEST else UNDECIDED
        if -self.margin < self.low and self.high < self.margin:
            return NO_EFFECT
        if self.low > 0:
            return HELPS
        if self.high < 0:
            return HURTS
        return NO_BETTER if self.high < self.margin else UNDECIDED

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
        spec = "z.3f" if self.null else "+z.3f"
        bounds = [None if x is None else x + self.null for x in (self.low, self.high)]
        return f"{self.value + self.null:{spec}} {bounds_text(*bounds, spec)}"

    @property
    def count(self):
        """The number of rows, and of groups where they are fewer."""
        grouped = self.groups and self.cluster and self.groups != self.n
        return f"{self.n:,} {self.unit}" + (f" in {self.groups:,} {self.cluster}" if grouped else "")

    @property
    def sentence(self):
        """The answer in one sentence."""
        if self.value is None:
            return f"{self.answer}: {self.reason}."
        names = f"{self.measure} against {self.against}" if self.against else self.measure
        text = f"{self.answer}: {self.effect} {names} ({self.count})"
        if self.low is None and self.reason:
            from casebook.tables import reason_text  # who only reads headlines needs no tables

            return f"{text}. No interval: {reason_text(self.reason)}."
        return f"{text}."

    def _repr_markdown_(self):
        return f"**{self.sentence}**"


def headlines_text(headlines):
    """Give the content of a cell's file of headlines."""
    return json.dumps([asdict(each) for each in headlines], indent=1, ensure_ascii=False) + "\n"


def read_headlines(run, cell):
    """Read the headlines of a cell; none if it has none."""
    path = run_dir(run) / "headlines" / f"{cell}.json"
    return [Headline(**each) for each in json.loads(path.read_text(encoding="utf-8"))] if path.is_file() else []
