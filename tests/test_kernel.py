"""Kernels are forks of one process, in groups of their own, and end with it."""

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


@pytest.fixture
def nursery():
    with kernel.batch_nursery(["json.tool"]) as made:
        yield made


def fork(nursery):
    folder = nursery.start()
    return kernel.Forked(nursery.fork(["-f", f"{folder}/connection.json"], dict(os.environ)))


def test_a_forked_kernel_leads_a_group_and_is_killed_with_it(nursery):
    process = fork(nursery)
    assert process.poll() is None and os.getpgid(process.pid) == process.pid != os.getpgid(0)
    process.kill()
    assert process.wait() == 1 == process.poll()
    other = fork(nursery)
    folder = nursery.folder
    assert folder.is_dir()
    nursery.close()
    assert ended(other.pid) and not folder.exists()
    with pytest.raises(RuntimeError, match="being ended"):
        fork(nursery)


def test_a_watch_ends_a_kernel_that_is_late_and_every_other_one_at_the_end(nursery):
    slow = fork(nursery)
    with kernel.watched(0.5) as watch:
        watch.process = slow
        assert ended(slow.pid) and watch.late
    with kernel.watched(None) as watch:
        watch.process = fork(nursery)
    assert ended(watch.process.pid) and not watch.late


def test_the_nursery_of_a_batch_stands_in_for_the_plain_one_while_it_works(nursery):
    assert kernel.nursery is nursery
    with kernel.batch_nursery(()) as inner:
        assert kernel.nursery is inner
    assert kernel.nursery is nursery and inner.closed
