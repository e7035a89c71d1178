"""The axis of a small drawing: its ticks, and where a value lies between its ends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """An axis from its first tick to its last one."""

    ticks: dict  # position to text

    @property
    def start(self):
        """The smallest position."""
        return min(self.ticks)

    @property
    def end(self):
        """The largest position."""
        return max(self.ticks)

    def share(self, value):
        """Where a value lies, from 0 to 1; one beyond an end lies there."""
        length = self.end - self.start
        return (min(max(value, self.start), self.end) - self.start) / (length or 1)

    def percent(self, value):
        """Where a value lies as a length of CSS."""
        return f"{100 * self.share(value):.1f}%"

    def marks(self, value, low, high):
        """Places of a value and of the ends of its interval; without one they lie on the value."""
        places = {"value": value, "low": low, "high": high}
        return {
            name: self.percent(value if place is None else place) for name, place in places.items()
        }

    def spaced_ticks(self, room):
        """Places and texts of ticks but those nearer to an end than a share of the axis."""
        least = room * (self.end - self.start)
        return [
            (self.percent(position), text)
            for position, text in self.ticks.items()
            if position in (self.start, self.end)
            or min(position - self.start, self.end - position) > least
        ]

    def __contains__(self, value):
        return self.start <= value <= self.end


def effect_axis(limit, null):
    """An axis around zero: of a share, whose null lies within, it stays in 0 to 1."""
    start = max(-limit, -null) if 0 < null < 1 else -limit
    end = min(limit, 1 - null) if 0 < null < 1 else limit
    digits = 2 if limit >= 0.1 else 4
    return Axis({x: f"{round(x + null, digits):zg}" for x in (start, 0, end)})
