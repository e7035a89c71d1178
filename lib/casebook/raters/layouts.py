"""The two kinds of form: which columns they have, and what may stand in each."""

from dataclasses import dataclass

PREFERENCES = ("S1", "S2", "Tie")
GUESSES = ("S1", "S2", "DK")
RATINGS = (1, 2, 3, 4, 5)
SHEET = "ratings"


@dataclass(frozen=True)
class Column:
    """One column of a form."""

    name: str
    kind: str
    choices: tuple = ()
    width: int = 14
    required: bool = True

    @property
    def locked(self):
        """Whether the rater must leave the column alone."""
        return self.kind in {"id", "text"}


@dataclass(frozen=True)
class Layout:
    """The columns of one kind of form."""

    name: str
    key: str
    columns: tuple

    @property
    def names(self):
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    @property
    def texts(self):
        """Names of the columns that show text to the rater."""
        return [column.name for column in self.columns if column.kind == "text"]

    @property
    def answers(self):
        """Columns that the rater fills, notes left out."""
        return [c for c in self.columns if c.kind in {"choice", "rating"}]


GUESS = Column("guess", "choice", GUESSES, 10, required=False)
PAIRED = Layout(
    "paired",
    "prompt_id",
    (
        Column("prompt_id", "id", width=15),
        Column("prompt_text", "text", width=40),
        Column("system1_output", "text", width=60),
        Column("system2_output", "text", width=60),
        Column("preferred", "choice", PREFERENCES, 11),
        Column("factuality_s1", "rating", width=13),
        Column("usefulness_s1", "rating", width=13),
        Column("factuality_s2", "rating", width=13),
        Column("usefulness_s2", "rating", width=13),
        Column("comment", "note", width=40, required=False),
    ),
)
PAIRED_WITH_GUESS = Layout("paired", "prompt_id", (*PAIRED.columns, GUESS))
LIKERT = Layout(
    "likert",
    "chunk_id",
    (
        Column("case_id", "id", width=15),
        Column("chunk_id", "id", width=15),
        Column("explanation_text", "text", width=60),
        Column("source_chunk_text", "text", width=60),
        Column("clarity_1_to_5", "rating", width=14),
        Column("legal_accuracy_1_to_5", "rating", width=20),
        Column("usefulness_1_to_5", "rating", width=16),
        Column("annotator_id", "id", width=14),
        Column("notes", "note", width=40, required=False),
    ),
)
