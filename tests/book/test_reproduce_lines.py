"""Every answer comes with the command that repeats it and the limits of its data."""

import json
import shlex

import yaml
from toy_records import rewrite_record

from casebook.batch.grid import load_grid, select
from casebook.batch.plan import stored_record
from casebook.book import pages
from casebook.book.chapters import command, for_readers
from casebook.book.results import read_chapters
from casebook.data.cards import cards

CELL = "retrieval_ablation-smoke"


def record_with(mine, **labels):
    path = mine / "runs" / CELL / "run.json"
    record = json.loads(path.read_text())
    record["Labels"]["Inputs"]["parameters"] |= labels.pop("parameters", {})
    record["Labels"] |= labels
    rewrite_record(path, **record)
    return stored_record("mine", CELL)


def cell_of(line):
    """Read a command as the command line does."""
    words = shlex.split(line)
    assert words[:2] + words[3:5] + words[-1:] == ["casebook", "run", "--run", "mine", "--force"]
    pairs = [word.partition("=") for word in words[6:-1:2]]
    overrides = {name: yaml.safe_load(value) for name, _, value in pairs}
    (cell,) = select(load_grid(), [words[2]], overrides=overrides)
    return cell


def test_other_parameters_are_written_out_and_read_back(mine):
    odd = {"dataset": "it's a `folder`; rm", "modes": ["full", "bm25"], "seed": 3}
    record = record_with(mine, parameters=odd)
    cell = cell_of(command(record, "mine"))
    assert cell.name == CELL
    assert cell.parameters == record.labels["Inputs"]["parameters"]


def test_a_cell_outside_the_grid_is_repeated_by_its_experiment(mine):
    record = record_with(mine, Cell="retrieval_ablation-12345678")
    cell = cell_of(command(record, "mine"))
    assert cell.experiment == "retrieval_ablation"
    assert cell.parameters == record.labels["Inputs"]["parameters"]


def test_another_device_is_written_out(mine):
    inputs = stored_record("mine", CELL).labels["Inputs"] | {"device": "cuda"}
    line = command(record_with(mine, Inputs=inputs), "mine")
    assert line == f"casebook run {CELL} --run mine --device cuda --force"


def test_provenance_holds_command_and_hashes():
    inputs = stored_record("smoke", CELL).labels["Inputs"]
    page = pages.generated("smoke", read_chapters("smoke", [CELL]))["provenance.md"]
    assert f'id="{CELL}"' in page and f"casebook run {CELL} --run smoke --force" in page
    for digest in (inputs["data"]["dataset"], inputs["notebook"], inputs["lock"]):
        assert digest[:12] in page


def test_every_caveat_stands_in_the_chapter(mine):
    path = mine / "notebooks" / f"{CELL}.ipynb"
    (chapter,) = read_chapters("mine", [CELL])
    for_readers(path, chapter)
    cells = json.loads(path.read_text())["cells"]
    assert "".join(cells[0]["source"]).startswith(f"# {chapter.title}\n")
    text = "\n".join("".join(cell["source"]) for cell in cells if "source" in cell)
    card = cards()["smoke"]
    for caveat in card.caveats:
        assert " ".join(caveat.split()) in text
    assert "48 documents, 34 queries, 310 judgements" in text
    assert (
        card.licence.name in text and "data_cards.md#smoke-contract-and-insurance-clauses" in text
    )
