"""What is wrong with returned forms, each with file, sheet, row and column."""

from dataclasses import asdict, dataclass

import pandas as pd

NOTE, REPAIRED, LOST = "note", "repaired", "lost"


@dataclass(frozen=True)
class Defect:
    """One thing that is not as it should be in a returned form."""

    file: str
    sheet: str
    row: int | None
    column: str | None
    kind: str
    found: str
    effect: str

    def __str__(self):
        where = ", ".join(
            part
            for part in (
                self.sheet and f"sheet {self.sheet}",
                self.row and f"row {self.row}",
                self.column and f"column {self.column}",
            )
            if part
        )
        return f"{self.file}: {where}: {self.kind} ({self.found}): {self.effect}"


def defect_table(defects):
    """Give defects as a table."""
    columns = list(Defect.__dataclass_fields__)
    return pd.DataFrame([asdict(defect) for defect in defects], columns=columns)


def shortened(value, most=60):
    """Show a cell's content in a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
