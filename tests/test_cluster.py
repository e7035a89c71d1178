"""A real Dask scheduler and real workers: same bytes, lost workers, bounded waits."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from casebook import grid
from casebook import run as batch
from casebook.errors import BatchFailed, CasebookError, InputError
from casebook.run import Watch, connected
from casebook.runs import record as fingerprint

pytestmark = pytest.mark.slow
PATIENCE = "CASEBOOK_WORKER_PATIENCE"
LONG = 300  # seconds that a busy machine may take; what is lost is lost after one
PARAMETERS = 'run = "a"\ncell = "b"\ndataset = "smoke"\nn = 2\nwait = 0\ntrap = ""'
WORK = (
    "import os, signal, time, pathlib\n"
    "from casebook.runs.outputs import RunOutputs\n"
    "number = {'value': n / 3, 'ci': [0.0, 1.0], 'n': n, 'control': 0.1}\n"
    "_ = RunOutputs(run, cell).numbers('made', {dataset: {cell: {'m@1': number}}})\n"
    "time.sleep(wait)\n"
    "if trap == 'always' or trap and not pathlib.Path(trap).exists():\n"
    "    if trap != 'always':\n"
    "        pathlib.Path(trap).touch()\n"
    "    os.kill(os.getppid(), signal.SIGKILL)\n"
    "    time.sleep(600)\n"
    "n"
)


@pytest.fixture
def project(notebook_project, monkeypatch):
    monkeypatch.setenv(PATIENCE, str(LONG))
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    folder = notebook_project(PARAMETERS, WORK)
    monkeypatch.setattr(fingerprint, "ROOT", folder)
    return folder


class Dask:
    """A scheduler and its workers, as processes."""

    def __init__(self, folder):
        self._folder, self.processes = folder, []
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        log = self.log(self.scheduler)
        self.address = _until(lambda: re.search(r"tcp://[\d.]+:\d+", log.read_text()))

    def worker(self, **environment):
        options = ["--no-dashboard", "--nthreads", "1", "--no-nanny"]
        return self._start("worker", self.address, *options, **environment)

    def _start(self, *arguments, **environment):
        path = self._folder / f"dask{len(self.processes)}.log"
        with path.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | environment,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def log(self, process):
        return self._folder / f"dask{self.processes.index(process)}.log"

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _until(check):
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found.group()
        time.sleep(0.1)
    raise AssertionError("not in time")


@pytest.fixture
def dask(project):
    cluster = Dask(project)
    yield cluster
    cluster.close()


def impatient(monkeypatch):
    """Let what is lost be given up after a second."""
    monkeypatch.setenv(PATIENCE, "1")


def impatient_once_connected(monkeypatch):
    """Give the scheduler its time, and missing workers a second."""
    living = Watch.living

    def asked(watch):
        impatient(monkeypatch)
        return living(watch)

    monkeypatch.setattr(Watch, "living", asked)


def cells(*changes):
    return [grid.Cell(f"made-{i}", "01_made.ipynb", {"dataset": "smoke", **change}) for i, change in enumerate(changes)]


def run(some, address=None, lines=None, **limits):
    say = lines.append if lines is not None else str
    return batch.run_batch(
        batch.plan(some, "mine"), "mine", scheduler=address, report=say, limits=batch.Limits(**limits)
    )


def results(folder):
    hidden = {"timings.json", ".batch"}
    found = (p for p in folder.rglob("*") if p.is_file() and p.name not in hidden)
    return {p.relative_to(folder): p.read_bytes() for p in found}


def test_a_cluster_gives_the_bytes_of_one_process(project, dask):
    some = cells({}, {"n": 3}, {"n": 4})
    run(some)
    (project / "results").rename(project / "serial")
    dask.worker()
    dask.worker()
    assert set(run(some, dask.address)) == {"made-0", "made-1", "made-2"}
    assert results(project / "serial") == results(project / "results")


def test_what_reads_all_others_runs_after_them_on_a_cluster_too(project, dask):
    last = grid.Cell("last", "01_made.ipynb", needs=(grid.EVERY,))
    dask.worker()
    dask.worker()
    lines = []
    run([last, *cells({"wait": 1}, {"n": 3})], dask.address, lines)
    started = next(i for i, line in enumerate(lines) if line.startswith("running last"))
    done = [i for i, line in enumerate(lines) if line.startswith("done")]
    assert len([i for i in done if i < started]) == 2


def test_a_worker_killed_in_the_middle_is_replaced(project, dask):
    dask.worker()
    dask.worker()
    run(cells({"trap": str(project / "trap")}, {"n": 3}), dask.address)
    assert (project / "trap").exists()
    assert len([p for p in dask.processes if p.poll() is not None]) == 1


def test_a_cell_that_kills_every_worker_fails_and_the_others_count(project, dask):
    for _ in range(3):
        dask.worker()
    some = cells({"n": 3}, {"trap": "always"})
    with pytest.raises(BatchFailed, match="made-1: 2 workers in a row died"):
        run(some, dask.address)
    assert (project / "results/mine/runs/made-0/run.json").is_file()


def test_no_worker_and_no_scheduler_are_said_in_bounded_time(project, dask, monkeypatch):
    impatient_once_connected(monkeypatch)
    with pytest.raises(InputError, match="no worker within 1 s"):
        run(cells({}), dask.address)
    with pytest.raises(InputError, match="no Dask scheduler at"):
        run(cells({}), "tcp://127.0.0.1:9")


def test_losing_the_scheduler_keeps_what_is_done(project, dask, monkeypatch):
    dask.worker()
    lines = []

    def say(line):
        lines.append(line)
        if line.startswith("done"):
            os.killpg(dask.scheduler.pid, signal.SIGKILL)
            impatient(monkeypatch)

    some = cells({}, {"wait": LONG})
    planned = batch.plan(some, "mine")
    with pytest.raises(CasebookError, match=r"carries on"):
        batch.run_batch(planned, "mine", scheduler=dask.address, report=say)
    assert [p.status for p in batch.plan(some, "mine")] == ["cached", "run"]


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
        batch.run_batch(batch.plan(cells({}), "mine"), "mine", report=again)
    assert set(run(cells({}))) == {"made-0"}


def test_time_limits_and_dead_kernels(project):
    trap = project / "notebooks" / "01_made.ipynb"
    text = trap.read_text().replace("os.getppid()", "os.getpid()")
    trap.write_text(text)
    lines = []
    run(cells({"trap": str(project / "once")}), lines=lines)
    assert "after: kernel died" in lines[-1]
    # Whichever cell a busy machine has reached by then.
    with pytest.raises(BatchFailed, match=r"not done within 3 s: killed"):
        run(cells({"wait": LONG}), lines=lines, timeout=3)
    assert lines[-1].splitlines()[1].startswith("timed out")
    with pytest.raises(BatchFailed, match=r"cell 3: the kernel died"):
        run(cells({"trap": "always"}), retries=0)


def test_a_killed_worker_process_is_replaced(project):
    some = cells({"trap": str(project / "trap")}, {"n": 3}, {"n": 4})
    planned, lines = batch.plan(some, "mine"), []
    assert len(batch.run_batch(planned, "mine", workers=2, report=lines.append)) == 3
    assert any("after: worker lost" in line for line in lines)


def test_a_collection_is_encoded_on_a_cluster_as_it_is_here(project, dask, tmp_path, casebook, monkeypatch):
    folder = tmp_path / "collection"
    folder.mkdir()
    texts = [f'{{"_id": "{n}", "text": "Clause {n} covers water."}}' for n in range(4)]
    (folder / "corpus.jsonl").write_text("\n".join(texts))
    encode = ["corpus", "encode", str(folder), "--shard-size", "2", "--out"]
    with monkeypatch.context() as short:
        impatient_once_connected(short)
        with pytest.raises(InputError, match="no worker within 1 s"):
            connected(dask.address).__enter__()
    dask.worker(OMP_NUM_THREADS="1")
    for place, more in (("here", []), ("there", ["--scheduler", dask.address])):
        assert casebook(*encode, tmp_path / place, *more)[0] == 0
    assert results(tmp_path / "here") == results(tmp_path / "there")
    assert len(results(tmp_path / "here")) == 6


def test_a_worker_with_another_lock_encodes_nothing(project, dask):

    other = project / "elsewhere"
    other.mkdir()
    (other / "requirements.lock").write_text("numpy==0\n")
    dask.worker(CASEBOOK_ROOT=str(other), CASEBOOK_PROJECT=str(other))
    with pytest.raises(InputError, match=r"refused: tcp://.*another requirements.lock"), connected(dask.address):
        pass


def test_work_whose_workers_die_ends_with_one_line(project, dask, monkeypatch):
    worker = dask.worker()
    with connected(dask.address) as workers:
        with pytest.raises(ValueError, match="a lambda"):
            workers.gather([workers.submit(int, "a lambda")])
        waiting = [workers.submit(time.sleep, LONG)]
        os.killpg(worker.pid, signal.SIGKILL)
        with monkeypatch.context() as short:
            impatient(short)
            with pytest.raises(CasebookError, match=r"gone for 1 s.*carries on"):
                workers.gather(waiting)
    for _ in range(2):
        dask.worker()
    with connected(dask.address) as workers, pytest.raises(CasebookError, match="lost: 2 workers in a row died"):
        workers.gather([workers.submit(os._exit, 1)])
