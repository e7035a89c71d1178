"""Kernels are forks of one process, in groups of their own, and end with the batch."""

import asyncio
import os
import time

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


@pytest.fixture(autouse=True)
def server():
    kernel.start_server(())


def started(folder):
    manager = kernel.manager_class(folder, {})()
    asyncio.run(manager.start_kernel())
    return manager.provisioner.process


def test_a_forked_kernel_leads_a_group_and_is_killed_with_it(tmp_path):
    process = started(tmp_path)
    assert isinstance(process, kernel.Fork) and process.poll() is None
    until = time.monotonic() + 60
    while os.getpgid(process.pid) != process.pid and time.monotonic() < until:
        time.sleep(0.02)
    assert os.getpgid(process.pid) == process.pid != os.getpgid(0)
    kernel.kill_all()
    process.wait()
    assert process.poll() == -9 and ended(process.pid)
    assert ended(started(tmp_path).pid)  # one that comes too late


def test_a_process_that_may_have_no_children_starts_kernels_as_jupyter_does(monkeypatch, tmp_path):
    monkeypatch.setitem(kernel.multiprocessing.current_process()._config, "daemon", True)
    process = started(tmp_path)
    assert not isinstance(process, kernel.Fork) and process.poll() is None
    kernel.kill_all()
    assert process.wait() == -9
