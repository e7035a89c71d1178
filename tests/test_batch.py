"""Executing, skipping, failing and resuming, on notebooks made here."""

import json
import shutil

import pytest
from made_notebooks import write_notebook
from nbformat import read, sign

from casebook.batch import grid
from casebook.batch.plan import Planned, plan
from casebook.batch.run import in_order, run_batch
from casebook.errors import BatchFailed, InputError
from casebook.runs.record import read_record

pytestmark = pytest.mark.usefixtures("quick_kernels")

PARAMETERS = 'run = "scratch"\ncell = "made"\ndataset = "smoke"\nfail = False\nn = 2'
WORK = (
    "from casebook.runs.outputs import RunOutputs\n"
    "assert not fail, 'asked to fail'\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {dataset: {cell: {'m@1': number}}})\n"
    "n"
)


@pytest.fixture
def project(notebook_project):
    return notebook_project(PARAMETERS, WORK)


def cells(*changes):
    return [
        grid.Cell(f"made-{i}", "01_made.ipynb", {"dataset": "smoke", **change})
        for i, change in enumerate(changes)
    ]


def run(some, lines=None, **options):
    planned = plan(some, "mine")
    say = lines.append if lines is not None else str
    return run_batch(planned, "mine", report=say, **options)


@pytest.mark.slow
def test_run_skip_change_fail_and_carry_on(project):
    lines = []
    assert set(run(cells({}, {"n": 3}), lines)) == {"made-0", "made-1"}
    results = project / "results" / "mine"
    record = read_record(results / "runs" / "made-1" / "run.json")
    assert record.metrics == {"smoke.made-1.m@1": 1.0}
    assert record.workflow == "made"
    numbers = json.loads((results / "numbers.json").read_text())
    assert numbers["made"]["smoke"]["made-0"]["m@1"]["value"] == 0.666667

    lines = []
    assert run(cells({}, {"n": 3}), lines) == {}
    assert all(line.startswith("cached") for line in lines)

    (same, other) = plan(cells({}, {"n": 4}), "mine")
    assert (same.status, other.status) == ("cached", "stale")
    assert other.changed == ("parameters",)

    assert list(results.glob("*/made-0.*"))
    with pytest.raises(BatchFailed, match=r"1 of 2 failed: made-0: .*asked to fail"):
        run(cells({"fail": True}, {"n": 5}))
    # What other inputs once gave is no result of these.
    assert (
        not list(results.glob("*/made-0.*"))
        and not (results / "runs" / "made-0" / "run.json").exists()
    )
    assert "made-0" not in json.loads((results / "numbers.json").read_text())["made"]["smoke"]
    lines = []
    assert set(run(cells({}, {"n": 5}), lines)) == {"made-0"}
    written = json.loads((results / "numbers" / "made-0.json").read_text())
    written["made"]["smoke"]["made-0"]["m@1"]["value"] = 0.5
    (results / "numbers" / "by-hand.json").write_text(json.dumps(written))
    shutil.copytree(results / "runs" / "made-0", results / "runs" / "by-hand")
    # Two cells that disagree do not hide why a third failed.
    with pytest.raises(BatchFailed, match="asked to fail"):
        run(cells({}, {"fail": True}))
    with pytest.raises(InputError, match="cells by-hand and made-0 report"):
        run(cells({}))


@pytest.mark.slow
def test_what_is_cached_has_its_outputs_as_they_were_written(project):
    run(cells({}, {"n": 3}))
    results = project / "results" / "mine"
    path = results / "numbers" / "made-1.json"
    written = path.read_text()
    path.write_text(written.replace("made-1", "made-2"))
    (same, altered) = plan(cells({}, {"n": 3}), "mine")
    assert (same.status, altered.status, altered.changed) == (
        "cached",
        "stale",
        ("numbers/made-1.json",),
    )
    assert set(run(cells({}, {"n": 3}))) == {"made-1"}
    assert path.read_text() == written
    (results / "notebooks" / "made-0.ipynb").unlink()
    assert set(run(cells({}, {"n": 3}))) == {"made-0"}


def test_own_modules_and_files_that_are_defaults_are_inputs(notebook_project):
    # Their numbers were "cached" after a change.
    folder = notebook_project(
        f"{PARAMETERS}\nown: str = 'own_by_default:Search'\nstars: Path = 'stars.csv'", WORK
    )
    keys = set()
    for name in ("stars.csv", "stars.csv", "own_by_default.py", "own_by_default.py"):
        (folder / name).write_text(f"# change {len(keys)}")
        keys.add(plan(cells({}), "mine")[0].key)
    assert len(keys) == 4


@pytest.mark.slow
@pytest.mark.parametrize("home", ["", "absent"])
def test_jupyter_trusts_what_was_executed_where_it_can_keep_that(project, monkeypatch, home):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(project / "kernels"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(project / home))
    assert set(run(cells({}))) == {"made-0"}
    with sign.NotebookNotary(data_dir=str(project)) as notary:
        assert notary.check_signature(read(next(project.rglob("made-0.ipynb")), 4)) == (not home)


def test_needs_order_the_cells():
    needs = {"all": (grid.EVERY,), "b": ("a",), "a": (), "c": ("b", "elsewhere")}
    waiting = {
        name: Planned(grid.Cell(name, "x", needs=of), {}, "run") for name, of in needs.items()
    }
    order = in_order(waiting)
    found = []
    while order.is_active():
        found += order.get_ready()
        order.done(found[-1])
    assert found == ["a", "b", "c", "all"]
    waiting["a"] = Planned(grid.Cell("a", "x", needs=("c",)), {}, "run")
    with pytest.raises(InputError, match="need each other in a circle"):
        in_order(waiting)


def add_reader(project):
    count = (
        "from casebook.paths import run_dir\n"
        "from casebook.runs.outputs import RunOutputs\n"
        "n = len(list(run_dir(run).glob('runs/made-*/run.json')))\n"
        "number = {'value': float(n), 'ci': [None, None], 'n': n, 'control': None}\n"
        "_ = RunOutputs(run, cell).numbers('reader', {'all': {'found': {'n': number}}})"
    )
    path = project / "notebooks" / "02_reader.ipynb"
    write_notebook(path, 'run = "a"\ncell = "b"', count)
    return grid.Cell("reader", "02_reader.ipynb", needs=(grid.EVERY,))


def found_by_reader(project):
    path = project / "results" / "mine" / "numbers" / "reader.json"
    return json.loads(path.read_text())["reader"]["all"]["found"]["n"]["value"]


@pytest.mark.slow
def test_what_reads_all_others_runs_after_them(project):
    # One cell fails: the others are read. Mended, it is read although no key changed.
    some = [add_reader(project), *cells({}, {"fail": True})]
    with pytest.raises(BatchFailed, match="1 of 3 failed: made-1"):
        run(some, workers=2)
    assert found_by_reader(project) == 1
    text = (project / "notebooks" / "01_made.ipynb").read_text()
    with pytest.raises(BatchFailed, match="1 of 3 failed: made-1"):
        run(some)
    mended = text.replace("assert not fail", "assert True")
    (project / "notebooks" / "01_made.ipynb").write_text(mended)
    assert "reader" in run(some)
    assert found_by_reader(project) == 2
    assert run(some) == {}

    # Alone it is run again: another batch may have changed what it reads.
    assert set(run([some[0]])) == {"reader"}


SETTINGS = """
import os
from pathlib import Path
names = [f'CASEBOOK_{name}' for name in ('DEVICE', 'PRECISION', 'BATCH_SIZE')]
values = ' '.join(os.environ[name] for name in names)
_ = Path(os.environ['CASEBOOK_ROOT'], 'settings').write_text(values)
"""


def with_models(monkeypatch, **values):
    for name in ("DEVICE", "PRECISION", "BATCH_SIZE"):
        monkeypatch.delenv(f"CASEBOOK_{name}", raising=False)
    for name, value in values.items():
        monkeypatch.setenv(f"CASEBOOK_{name}", value)


@pytest.mark.slow
def test_a_kernel_runs_models_as_its_record_says(notebook_project, monkeypatch):
    project = notebook_project(PARAMETERS, SETTINGS + WORK)
    with_models(monkeypatch, DEVICE="auto", PRECISION="bfloat16", BATCH_SIZE="9")
    planned = plan(cells({}), "mine")
    # A worker on another machine has an environment of its own.
    with_models(monkeypatch, DEVICE="mps", BATCH_SIZE="1")
    run_batch(planned, "mine", report=str)
    recorded = read_record(project / "results" / "mine" / "runs" / "made-0" / "run.json")
    assert (project / "settings").read_text() == "cpu bfloat16 9"
    inputs = recorded.labels["Inputs"]
    assert (inputs["device"], inputs["precision"]) == ("cpu", "bfloat16")
    for values, changed in (
        ({"PRECISION": "bfloat16", "BATCH_SIZE": "2"}, ()),  # the batch size is no input
        ({}, ("precision",)),
    ):
        with_models(monkeypatch, **values)
        assert plan(cells({}), "mine")[0].changed == changed
