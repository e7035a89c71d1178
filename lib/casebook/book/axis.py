"""The axis of a small drawing: its ends, and where a value lies between them."""

from dataclasses import dataclass

from casebook.tables import decimal


@dataclass(frozen=True)
class Axis:
    """An axis of effects, which are printed after ``null`` is added and times ``unit``."""

    start: float
    end: float
    null: float = 0.0
    unit: float = 1.0

    @property
    def ends(self):
        """The printed numbers of both ends; the right one is enough if zero lies between them."""
        digits = 2 if self.end - self.start >= 0.1 else 4
        printed = [self.unit * (end + self.null) for end in (self.start, self.end)]
        texts = [decimal(round(number, digits), "zg") for number in printed]
        return ["", texts[1]] if printed[0] == -printed[1] else texts

    def percent(self, value):
        """Where a value lies as a length of CSS; one beyond an end lies there."""
        within = min(max(value, self.start), self.end)
        return f"{100 * (within - self.start) / (self.end - self.start or 1):.1f}%"


def effect_axis(limit, null):
    """An axis around zero; that of a share, which has another null, stays in 0 to 1."""
    if 0 < null <= 1:
        return Axis(max(-limit, -null), min(limit, 1 - null), null)
    return Axis(-limit, limit, null)
