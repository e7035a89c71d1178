"""A real Dask scheduler and real workers: same bytes, lost workers, bounded waits."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from casebook.batch import grid
from casebook.batch.cluster import PATIENCE_VARIABLE
from casebook.batch.plan import plan
from casebook.batch.run import run_batch
from casebook.errors import BatchFailed, CasebookError, InputError
from casebook.retrieval.encoded import EncodedCorpus

pytestmark = pytest.mark.slow
ONE_DEATH = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
LONG = 300  # seconds that a busy machine may take; what is lost is lost after one
PARAMETERS = 'run = "a"\ncell = "b"\ndataset = "smoke"\nn = 2\nwait = 0\ntrap = ""\nvictim = ""'
WORK = """
import os, signal, time, pathlib
from casebook.runs.outputs import RunOutputs
number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}
_ = RunOutputs(run, cell).numbers('made', {dataset: {cell: {'m@1': number}}})
time.sleep(wait)
if victim and not (trap and pathlib.Path(trap).exists()):
    if trap:
        pathlib.Path(trap).touch()
    worker = pathlib.Path(f'/proc/{os.getppid()}/stat').read_text().rpartition(')')[2].split()[1]
    pids = {'kernel': os.getpid(), 'server': os.getppid(), 'worker': int(worker)}
    os.kill(pids[victim], signal.SIGKILL)
    time.sleep(600)
n
"""


@pytest.fixture
def project(notebook_project, monkeypatch):
    monkeypatch.setenv(PATIENCE_VARIABLE, str(LONG))
    folder = notebook_project(PARAMETERS, WORK)
    monkeypatch.setattr("casebook.paths.ROOT", folder)
    return folder


class Dask:
    """A scheduler and its workers, as processes."""

    def __init__(self, folder, **environment):
        self._folder = folder
        self.processes = []
        self.environment = environment
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        deadline = time.monotonic() + LONG
        address = None
        while address is None:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            log = (folder / "dask0.log").read_text()
            address = re.search(r"(tcp|tls)://[\d.]+:\d+", log)
        self.address = address.group()

    def worker(self, **environment):
        options = ["--no-dashboard", "--nthreads", "1", "--no-nanny"]
        return self._start("worker", self.address, *options, **environment)

    def _start(self, *arguments, **environment):
        with (self._folder / f"dask{len(self.processes)}.log").open("w") as log:
            command = [sys.executable, "-m", "dask", *arguments]
            streams = {"stdout": log, "stderr": log, "cwd": self._folder, "start_new_session": True}
            self.processes.append(
                subprocess.Popen(
                    command, env=os.environ | self.environment | environment, **streams
                )
            )
        return self.processes[-1]

    def close(self, first=0):
        """End the processes, or the workers alone, which begin at the second."""
        for process in self.processes[first:]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        del self.processes[first:]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    cluster = Dask(tmp_path_factory.mktemp("dask"), **ONE_DEATH)
    yield cluster
    cluster.close()


@pytest.fixture
def dask(project, shared):
    yield shared
    shared.close(first=1)


def cells(*changes):
    return [
        grid.Cell(f"made-{i}", "01_made.ipynb", {"dataset": "smoke", **change})
        for i, change in enumerate(changes)
    ]


def run(some, address=None, say=str, workers=1, **limits):
    return run_batch(plan(some, "mine"), "mine", workers, address, say, **limits)


def results(folder):
    contents = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != ".batch":
            contents[path.relative_to(folder)] = path.read_bytes()
    return contents


def test_a_cluster_gives_the_bytes_of_one_process(project, dask):
    some = cells({}, {"n": 3})
    run(some)
    (project / "results").rename(project / "serial")
    dask.worker()
    assert set(run(some, dask.address)) == {"made-0", "made-1"}
    assert results(project / "serial") == results(project / "results")


@pytest.mark.faults
def test_killed_workers_are_replaced_and_a_cell_that_kills_them_all_fails_alone(project, dask):
    for _ in range(4):
        dask.worker()
    some = cells({"victim": "worker", "trap": str(project / "trap")}, {"n": 3})
    last = grid.Cell("last", "01_made.ipynb", needs=(grid.EVERY,))
    lines = []
    run([last, *some], dask.address, lines.append)
    started = next(i for i, line in enumerate(lines) if line.startswith("running last"))
    assert sum(line.startswith("done") for line in lines[:started]) == 2
    assert len([p for p in dask.processes if p.poll() is not None]) == 1
    with pytest.raises(BatchFailed, match="made-1: KilledWorker"):
        run(cells({"n": 3}, {"victim": "worker"}), dask.address)
    assert (project / "results/mine/runs/made-0/run.json").is_file()


@pytest.mark.faults
def test_what_is_missing_is_said_in_bounded_time(project, dask, monkeypatch):
    monkeypatch.setenv(PATIENCE_VARIABLE, "1")
    with pytest.raises(InputError, match="no Dask scheduler at"):
        run(cells({}), "tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="no worker within 1 s"):
        run(cells({}), dask.address)


@pytest.mark.faults
def test_losing_the_scheduler_keeps_what_is_done(project):
    dask = Dask(project)
    dask.worker()

    def say(line):
        if line.startswith("done"):
            os.killpg(dask.scheduler.pid, signal.SIGKILL)

    some = cells({}, {"wait": LONG})
    with pytest.raises(CasebookError, match=r"carries on"):
        run(some, dask.address, say)
    dask.close()
    assert [p.status for p in plan(some, "mine")] == ["cached", "run"]


@pytest.mark.faults
def test_workers_with_another_lock_or_folder_are_refused(project, dask):
    other = project / "elsewhere"
    (other / "results").mkdir(parents=True)
    (other / "requirements.lock").write_text("numpy==0\n")
    (other / "data" / "cards").mkdir(parents=True)
    dask.worker(CASEBOOK_ROOT=str(other), CASEBOOK_PROJECT=str(other))
    with pytest.raises(InputError, match=r"refused: tcp://.*another requirements.lock"):
        run(cells({}), dask.address)


def test_a_second_batch_on_one_run_is_refused(project):
    def again(line):
        if line.startswith("running"):
            with pytest.raises(InputError, match="being written by another batch"):
                run(cells({}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cells({}), say=again)
    assert set(run(cells({}))) == {"made-0"}


@pytest.mark.faults
def test_time_limits_and_dead_kernels(project):
    """The same call carries on after a kernel died."""
    once = cells({"victim": "kernel", "trap": str(project / "once")})
    with pytest.raises(BatchFailed, match=r"the kernel died"):
        run(once)
    assert set(run(once)) == {"made-0"}
    with pytest.raises(BatchFailed, match=r"a cell took more than 3 s"):
        run(cells({"wait": LONG}), timeout=3)


@pytest.mark.faults
def test_a_killed_server_of_forks_takes_its_kernels_along_and_another_one_starts(project):
    some = cells({"victim": "server", "trap": str(project / "trap")}, {"n": 3}, {"n": 4})
    with pytest.raises(BatchFailed, match="the kernel died"):
        run(some, workers=2)
    assert run(some, workers=2)


@pytest.mark.faults
def test_a_collection_is_encoded_on_a_cluster_as_it_is_here(project, dask, tmp_path, casebook):
    folder = tmp_path / "collection"
    folder.mkdir()
    texts = [f'{{"_id": "{n}", "text": "Clause {n} covers water."}}' for n in range(4)]
    (folder / "corpus.jsonl").write_text("\n".join(texts))
    encode = ["corpus", "encode", str(folder), "--shard-size", "2", "--out"]
    dask.worker(OMP_NUM_THREADS="1")
    for place, more in (("here", ["--threads", 1]), ("there", ["--scheduler", dask.address])):
        assert casebook(*encode, tmp_path / place, *more)[0] == 0
    here, there = (EncodedCorpus(tmp_path / place) for place in ("here", "there"))
    assert here.contents["shards"] == 2
    for name in ("vectors.npy", "shards/0-2.sha256", "texts.npy", "passages.npy"):
        assert (here.folder / name).read_bytes() == (there.folder / name).read_bytes()
