"""Whether a worker lives is told by the scheduler's clock, however wrong ours is."""

import time

import pytest

from casebook.errors import InputError
from casebook.run import PATIENCE_VARIABLE, Watch


class Client:
    """A scheduler with a clock of its own, and when it heard of its workers."""

    def __init__(self, ahead, silent):
        self.ahead, self.silent = ahead, silent

    def run_on_scheduler(self, function):
        return function() + self.ahead

    def scheduler_info(self, n_workers):
        now = time.time() + self.ahead
        seen = {name: {"last_seen": now - s} for name, s in self.silent.items()}
        return {"workers": seen}


@pytest.mark.parametrize("ahead", [-86_400, -61, 0, 61, 86_400])
def test_a_clock_that_is_wrong_neither_loses_nor_raises_workers(ahead, monkeypatch):
    monkeypatch.setenv(PATIENCE_VARIABLE, "60")
    watch = Watch(Client(ahead, {"lives": 1, "is gone": 90}), "tcp://there")
    assert watch.living() == ["lives"]


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_is_set_while_a_batch_runs_changes_nothing(jump, monkeypatch):
    monkeypatch.setenv(PATIENCE_VARIABLE, "60")
    client = Client(0, {"lives": 1, "is gone": 90})
    watch, clock = Watch(client, "tcp://there"), time.time
    monkeypatch.setattr(time, "time", lambda: clock() + jump)
    client.ahead = -jump  # the clock here is set, the scheduler's is not
    assert watch.living() == ["lives"]


def test_a_patience_that_is_no_number_is_refused(monkeypatch):
    monkeypatch.setenv(PATIENCE_VARIABLE, "long")
    with pytest.raises(InputError, match="PATIENCE=long: give a number of seconds"):
        Watch(Client(0, {}), "tcp://there")
