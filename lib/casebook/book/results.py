"""What the cells of a run left, each file of it read once for all pages."""

import json
from collections import Counter
from functools import cached_property

from casebook.assistant import DEMONSTRATION
from casebook.batch.plan import stored_record
from casebook.data.cards import card_of, cards
from casebook.paths import data_folder, run_dir
from casebook.readers import read_json
from casebook.runs.headlines import read_headlines
from casebook.runs.outputs import finished_cells, read_numbers


class ChapterResults:
    """The results of one cell, which are a chapter of the book."""

    def __init__(self, run, cell):
        self.run = run
        self.cell = cell

    @cached_property
    def record(self):
        return stored_record(self.run, self.cell)

    @cached_property
    def experiment(self):
        """The experiment by its record; without one, the name of the cell."""
        return self.record.workflow if self.record else self.cell

    @cached_property
    def parameters(self):
        inputs = self.record.labels.get("Inputs", {}) if self.record else {}
        return inputs.get("parameters", {})

    @cached_property
    def headlines(self):
        return read_headlines(self.run, self.cell)

    @cached_property
    def numbers(self):
        return read_numbers(self.run, self.cell)

    @cached_property
    def contrasts(self):
        return read_numbers(self.run, self.cell, "contrasts")

    @cached_property
    def items(self):
        """What it kept of its single items; None if it kept none."""
        return self._content("items")

    @cached_property
    def leaderboard(self):
        """What it kept of its systems and their pairs; None if it kept nothing."""
        return self._content("leaderboard")

    def _content(self, kind):
        path = run_dir(self.run) / kind / f"{self.cell}.json"
        return read_json(path) if path.is_file() else None

    @cached_property
    def cards(self):
        """Every card that its parameters or numbers name, once, by key."""
        names = []
        for value in self.parameters.values():
            names += value if isinstance(value, list) else [value]
        names = [name for name in names if isinstance(name, str) and name in cards()]
        for datasets in self.numbers.values():
            names += datasets
        return {card.key: card for card in filter(None, map(card_of, names))}

    @cached_property
    def is_demonstration(self):
        """Whether its answers were written as templates, so that it answers nothing."""
        return DEMONSTRATION in self.numbers.get("assistant", ())

    @cached_property
    def experiment_title(self):
        """The name of the experiment, which is the title of its notebook."""
        if self.is_demonstration:
            return "Demonstration on templates"
        path = run_dir(self.run) / "notebooks" / f"{self.cell}.ipynb"
        if not path.is_file():
            return self.cell
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        heading = "".join(cells[0]["source"]).partition("\n")[0] if cells else ""
        return (
            heading.removeprefix("# ").strip()
            if heading.startswith("# ")
            else self.cell
        )

    @cached_property
    def data_title(self):
        """The name of the data, by its headlines or its parameter; None for several."""
        datasets = {headline.dataset for headline in self.headlines}
        # A demonstration answers nothing; its numbers say what it was made of.
        if not datasets:
            datasets = {
                name for by_dataset in self.numbers.values() for name in by_dataset
            }
        keys = {card_of(name).key if card_of(name) else name for name in datasets}
        if len(keys) == 1:
            name = keys.pop()
        elif isinstance(self.parameters.get("dataset"), str):
            given = self.parameters["dataset"]
            name, _ = data_folder(given) or (given, None)
        else:
            return None
        card = card_of(name)
        return card.title.partition(",")[0] if card else name


def read_chapters(run, cells=None):
    """Give the results of cells, by default all finished ones.

    Their titles name experiment and data set; no two are alike.
    """
    cells = finished_cells(run) if cells is None else cells
    chapters = [ChapterResults(run, cell) for cell in cells]
    for chapter in chapters:
        parts = [chapter.experiment_title, chapter.data_title]
        chapter.title = ": ".join(filter(None, parts))
    counts = Counter(chapter.title for chapter in chapters)
    for chapter in chapters:
        if counts[chapter.title] > 1:
            # The cell is named after its experiment: what follows tells it from the others.
            configuration = chapter.cell
            if chapter.record:
                configuration = configuration.removeprefix(chapter.experiment).lstrip(
                    "-"
                )
            chapter.title += f" ({configuration})"
    return chapters
