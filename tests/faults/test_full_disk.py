"""A disk that is full: one clear line, nothing half visible, and then it goes on."""

import gzip
import json

import nbformat
import yaml

from casebook.runs.record import read_record

FULL = "No space left on device"


def said_in_one_line(code, _, err):
    last = err.splitlines()[-1]
    assert code in (1, 3), err
    assert last.startswith("casebook: ") and FULL in last and "/" in last, err
    assert "Traceback" not in err


WORK = (
    "import numpy as np, pandas as pd\n"
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "outputs = RunOutputs(run, cell)\n"
    "_ = outputs.numbers('made', {'smoke': {cell: {'m@1': number}}})\n"
    "noise = np.random.default_rng(n).random(n)\n"
    "_ = outputs.rows(pd.DataFrame({'x': noise}))\n"
    "_ = outputs.table('t', pd.DataFrame({'x': noise}))\n"
    "print('x' * n)"
)


def whole(folder):
    """Read every visible file of a run; give the cells that are done."""
    for path in folder.rglob("*"):
        if path.is_dir() or path.name.startswith("."):
            continue
        if path.suffix == ".ipynb":
            assert nbformat.read(path, 4).cells[-1].execution_count
        elif path.suffix == ".gz":
            assert gzip.decompress(path.read_bytes()).startswith(b"x\n0.")
        elif path.suffix == ".json":
            json.loads(path.read_text())
    done = {path.parent.name for path in folder.glob("runs/*/run.json")}
    assert done == {path.stem for path in folder.glob("notebooks/[!.]*.ipynb")}
    assert all(read_record(folder / "runs" / name / "run.json").success for name in done)
    return done


def test_a_run(notebook_project, disk, casebook, count):
    project = notebook_project('run = "a"\ncell = "b"\nn = 2', WORK)
    rows = [
        {"name": f"made-{n}", "notebook": "01_made.ipynb", "parameters": {"n": n}}
        | {"tags": ["default"]}
        for n in (9, 3000)
    ]
    (project / "grid.yml").write_text(yaml.safe_dump(rows))
    small, states = disk(project / "results"), [set()]
    for kilobytes in (4, 8, 16, 24, 32, 40, 48, 56, 64, 72):
        small.grow(kilobytes)
        said_in_one_line(*casebook("run", "--grid", project / "grid.yml", "--run", "mine"))
        done = whole(project / "results" / "mine")
        assert states[-1] <= done
        states.append(done)
        count("full disk: run")
    assert set() in states[1:] and {"made-9"} in states
    small.grow(20_000)
    code, _, err = casebook("run", "--grid", project / "grid.yml", "--run", "mine")
    assert code == 0, err
    assert "cached  made-9" in err
    assert whole(project / "results" / "mine") == {"made-9", "made-3000"}
