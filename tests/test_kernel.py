"""Kernels are forks of one process, in groups of their own, and end with the batch."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from casebook.batch import kernel


def ended(pid):
    """Wait until a process is gone."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def started(one):
    """Start a kernel; gives its process."""
    manager = one.manager_class()()
    asyncio.run(manager.start_kernel())
    return manager.provisioner.process


def test_a_forked_kernel_leads_a_group_and_is_killed_with_the_batch():
    kernels = kernel.Kernels(())
    with kernels.one() as one:
        process = started(one)
        assert process.poll() is None and process.pid == one.pid
        until = time.monotonic() + 60
        while os.getpgid(process.pid) != process.pid and time.monotonic() < until:
            time.sleep(0.02)
        assert os.getpgid(process.pid) == process.pid
        kernels.close()
        assert process.wait() == process.poll() == -9 and ended(process.pid)
        assert ended(started(one).pid)  # one that comes too late
    with pytest.raises(RuntimeError, match="being ended"), kernels.one():
        pass


def test_a_kernel_that_is_late_is_killed_and_every_other_one_at_the_end():
    kernels = kernel.Kernels(())
    with kernels.one(2) as slow:
        assert ended(started(slow).pid) and slow.late
    with kernels.one(600) as quick:
        process = started(quick)
    assert ended(process.pid) and not quick.late


def test_a_kernel_works_in_its_folder_with_its_variables(tmp_path):
    kernels = kernel.Kernels(())
    with kernels.one(environment={"COLOUR": "red"}, folder=tmp_path) as one:
        process = started(one)
        assert process.environment["COLOUR"] == "red" and process.folder == str(tmp_path)
        until = time.monotonic() + 60
        while Path(f"/proc/{process.pid}/cwd").readlink() != tmp_path:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_a_process_that_may_have_no_children_starts_kernels_as_jupyter_does(monkeypatch):
    monkeypatch.setitem(kernel.multiprocessing.current_process()._config, "daemon", True)
    with kernel.Kernels(()).one() as one:
        process = started(one)
        assert not isinstance(process, kernel.Fork) and process.poll() is None
    assert process.wait() == -9
