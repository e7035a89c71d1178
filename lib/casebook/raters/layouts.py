"""Layouts of forms: columns, scales, what raters are told; and names of the files of a study."""

from collections import namedtuple
from pathlib import Path

from casebook.readers import read_yaml
from casebook.tables import enumerated

FORMS = "for_raters"
SEALED = "sealed"
KEY = "key.json"
REPORT = "report.json"
PREREGISTRATION = "preregistration.json"
KEY_SCHEMA = "casebook-rater-key-2"
PLAN_SCHEMA = "casebook-preregistration-2"
KEY_DIGEST = "SHA-256 of the sealed key"  # so it is called in what raters get
SHEET = "ratings"
RUBRIC_SHEET = "rubric"
ABOUT_SHEET = "about"
# Sides of an answer: left and right, as columns of a form name them and as judgements do.
FORM_SIDES = {"s1": "left", "s2": "right"}
RUBRIC = read_yaml(Path(__file__).with_name("rubric.yml"))


#: One column of a form: an id, a text, a choice, a rating or a note.
Column = namedtuple("Column", "name kind width choices required", defaults=((), True))


class FormLayout(namedtuple("FormLayout", "name key columns task scales")):
    """The columns of one kind of form, which of them names a row, and what raters are told."""

    @property
    def names(self):
        return [column.name for column in self.columns]

    @property
    def texts(self):
        return [column.name for column in self.columns if column.kind == "text"]

    @property
    def answers(self):
        """Columns that a rater fills in, notes left out."""
        return [
            column for column in self.columns if column.kind in ("choice", "rating")
        ]

    def rubric_lines(self, kind):
        """The task and the points of each scale for such raters, as lines of cells."""
        lines = [(text,) for text in (*self.task, RUBRIC["return"])]
        for scale, wording in self.scales.items():
            lines += [(), (scale, "what it means")]
            levels = wording["levels"]
            if kind in wording:
                levels = map("{}. {}".format, levels, wording[kind])
            lines += zip("12345", levels, strict=True)
        return lines


def _layout(name, sides=()):
    """The layout of that name; where answers have sides, every scale rates each of them."""
    wording = RUBRIC[name]
    scales = wording["scales"]
    rated = [f"{scale}_{side}" for side in sides for scale in scales]
    columns = [Column(**column) for column in wording["columns"]]
    columns[-1:-1] = [Column(column, "rating", 13, range(1, 6)) for column in rated]
    task = [text.format(scales=enumerated(scales)) for text in wording["task"]]
    return FormLayout(name, wording["key"], tuple(columns), tuple(task), scales)


PAIRED = _layout("paired", FORM_SIDES)
LIKERT = _layout("likert")
PAIRED_SCALES = tuple(PAIRED.scales)
EVIDENCE = Column("evidence", "text", 60)
WITH_EVIDENCE = PAIRED._replace(
    columns=(*PAIRED.columns[:2], EVIDENCE, *PAIRED.columns[2:]),
    task=(*PAIRED.task, RUBRIC["paired"]["evidence"]),
)


def form_layout(names):
    """The layout of a form, by the names of its columns."""
    if "preferred" not in names:
        return LIKERT
    return WITH_EVIDENCE if EVIDENCE.name in names else PAIRED
