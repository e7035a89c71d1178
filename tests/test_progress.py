"""The time that is left, which `casebook run` shows while a notebook works."""

import json

import pytest

from casebook import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests move by hand."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "time", lambda: now[0])
    return now


@pytest.fixture
def stages(tmp_path, monkeypatch):
    """What the batch reads, written at once."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv(progress.FILE_VARIABLE, str(path))
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    return path


def test_the_time_left_leaves_out_the_first_item_which_pays_for_what_all_share(clock, stages):
    """17 systems, of which the first builds the index in 65 s and each other takes 10 s."""
    said = []
    for system in progress.track(range(17), "systems"):
        said.append(progress.progress_text(stages))
        clock[0] += 65 if system == 0 else 10
    assert said[:2] == ["systems 0 of 17", "systems 1 of 17"]
    assert said[2] == "systems 2 of 17, about 2 min 30 s left"
    assert said[16] == "systems 16 of 17, about 0 min 10 s left"


def test_the_time_left_is_that_of_the_outermost_stage(clock, stages):
    for _ in progress.track(range(4), "systems"):
        clock[0] += 6
        for _ in progress.track(range(2), "slabs"):
            text = progress.progress_text(stages)
    assert text == "systems 3 of 4, slabs 1 of 2, about 0 min 09 s left"


def test_what_was_not_written_says_nothing(stages):
    assert progress.progress_text(stages) == ""
    stages.write_text(json.dumps([]))
    assert progress.progress_text(stages) == ""
