"""Headlines: the one to four answers of a chapter, which the front page shows."""

from dataclasses import dataclass

from casebook.errors import InputError
from casebook.runs.outputs import read_numbers
from casebook.stats.intervals import bounds_text
from casebook.tables import decimal, escape_markdown, reason_text, with_minus
from casebook.verdicts import (  # notebooks import the words from here  # noqa: F401
    ANSWERS,
    EFFECTS,
    HELPS,
    HURTS,
    INTERVAL_BY_UNIT,
    NO_DIFFERENCE,
    NO_EFFECT,
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
    topic: str | None = None  # row of the front page; answers of one topic share it
    label: str | None = None  # name of the dot in that row; else the data set's
    # What the levels mean, in one plain sentence without jargon.
    meaning: str | None = None

    @classmethod
    def of(cls, row, question, *, null=0.0, **names):
        """Effect, interval, counts and verdict of a row of `contrasts` or of `estimates`."""
        known = row.astype(object).where(row.notna(), None)
        value = known.get("difference", known.get("value"))
        fields = {
            "value": _around(value, null),
            "null": null,
            "decision": known.get("verdict"),
        }
        nulls = {"low": null, "high": null, "level": 0.0, "baseline": 0.0}
        fields |= {name: _around(known.get(name), null) for name, null in nulls.items()}
        counts = {
            name: known[name] for name in ("n", "groups") if known.get(name) is not None
        }
        fields |= {name: int(count) for name, count in counts.items()}
        fields |= {name: known.get(name) for name in ("system", "against", "reason")}
        return cls(question, **fields | names)

    @property
    def verdict(self):
        if self.value is None:
            return NOT_MEASURED
        decision = self.decision or verdict_of(
            self.low, self.high, self.margin, reason=self.reason
        )
        return EFFECTS[decision]

    @property
    def answer(self):
        return (self.answers or {}).get(self.verdict, ANSWERS[self.verdict])

    @property
    def word(self):
        word = (self.words or {}).get(self.verdict, self.verdict)
        is_decided = self.verdict in (HELPS, HURTS, NO_EFFECT)
        if is_decided and self.reason == INTERVAL_BY_UNIT:
            word += f" on these {counted(self.groups, self.cluster or 'groups')}"
        return word

    @property
    def effect(self):
        if self.value is None:
            return ""
        # A difference has a sign.
        spec = "+z.3f" if self.against and not self.null else "z.3f"
        bounds = [
            None if bound is None else bound + self.null
            for bound in (self.low, self.high)
        ]
        return f"{decimal(self.value + self.null, spec)} {with_minus(bounds_text(*bounds, spec))}"

    @property
    def count(self):
        text = counted(self.n, self.unit)
        if self.groups and self.cluster and self.groups != self.n:
            text += f" in {counted(self.groups, self.cluster)}"
        return text

    @property
    def why(self):
        if self.reason != INTERVAL_BY_UNIT:
            return reason_text(self.reason) if self.reason else None
        return BY_UNIT.format(
            groups=self.cluster or "groups", unit=singular(self.unit), units=self.unit
        )

    @property
    def plain(self):
        answer = self.answer
        if self.verdict == NOT_MEASURED:
            return f"{answer}: {self.why or 'nothing was compared'}"
        if answer == ANSWERS[NO_DIFFERENCE]:
            answer += f" in {counted(self.n, self.unit)}"
        return f"{answer}. {self.meaning}" if self.meaning else answer

    @property
    def numbers(self):
        if self.verdict == NOT_MEASURED:
            return f"({self.count})" if self.n else ""
        against = f" against {self.against}" if self.against else ""
        text = f"{self.effect} {self.measure}{against} ({self.count})"
        if self.reason == INTERVAL_BY_UNIT:
            text += f"; {self.why}"
        elif self.low is None and self.reason:
            text += f". No interval: {self.why}"
        return text

    @property
    def sentence(self):
        separator = " " if self.meaning or self.verdict == NOT_MEASURED else ": "
        return f"{self.plain}{separator}{self.numbers}".rstrip() + "."

    @property
    def markdown(self):
        text = escape_markdown(f"{self.question} {self.plain.rstrip('.')}.")
        if not self.numbers:
            return f"**{text}**"
        return (
            f'**{text}** <span class="numbers">{escape_markdown(self.numbers)}.</span>'
        )


BY_UNIT = (
    "fewer than six {groups}: the interval is by {unit} and holds for new {units} from these "
    "{groups}"
)


def per_cent(share):
    """A share in per cent; what is not quite none or all is not rounded to it."""
    text = f"{100 * share:.0f}"
    if text in ("0", "100") and share not in (0, 1):
        text = f"{100 * share:.1f}"
    return f"{text} %"


def counted(number, plural):
    """A number of things: one question, two questions."""
    return f"{number:,} {singular(plural) if number == 1 else plural}"


def singular(plural):
    things, of, members = plural.partition(" of ")
    thing = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"{thing}{of}{members}"


def _around(value, null):
    """A number relative to the one that means nothing; None where it is undefined."""
    return None if value is None else float(value) - null


def read_headlines(run, cell):
    rows = read_numbers(run, cell, "headlines")
    try:
        return [Headline(**row) for row in rows]
    except TypeError:  # fields that there are no more
        problem = f"{cell} was run by another version of casebook: run it again"
        raise InputError(
            f"run {run}: {problem}: casebook run {cell} --run {run}"
        ) from None
