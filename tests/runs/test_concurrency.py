"""Many writers and readers at once."""

import json
import multiprocessing
import random
import time

import pytest

from casebook.errors import InputError
from casebook.runs.promotions import promote, read_promotions, rollback, verify
from casebook.runs.record import RunRecord, now
from casebook.runs.registry import discover, find_run, locate, record_run

# Half a minute of every core: the long form belongs to make faults.
LONG = pytest.param(32, 30, marks=pytest.mark.faults)
WHY = "test"


def write(layout, name, score):
    moment = now()
    record = RunRecord.model_construct(
        run_id=name, workflow="w", started=moment, completed=moment, metrics={"ndcg@3": score}
    )
    record_run(layout, record)


def check_readable(layout):
    listing = discover(layout)
    assert not listing.unreadable, listing.unreadable
    entries = read_promotions(layout.root)
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    for pointer in (layout.root / "_active").glob("active_*.json"):
        assert json.loads(pointer.read_text())["seq"] >= 1
    return listing


def work(root, number, seconds):
    """Write, promote, roll back and read until the time is over; count the writes."""
    layout = locate(runs_root=root)
    chance = random.Random(number)
    runs = entries = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name = f"p{number}-{runs}"
        write(layout, name, chance.random())
        runs += 1
        promote(check_readable(layout), find_run(discover(layout), name), "ndcg@3", WHY)
        entries += 1
        if chance.random() < 0.3:
            try:
                rollback(layout.root, "ndcg@3", WHY)
                entries += 1
            except InputError as error:
                assert "nothing to roll back" in str(error)
    return runs, entries


@pytest.mark.parametrize(("processes", "seconds"), [(6, 1), LONG])
def test_nothing_is_lost_and_no_half_file_is_seen(registry, processes, seconds):
    registry.layout.root.mkdir(parents=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["casebook.runs.promotions", "casebook.runs.registry"])
    tasks = [(registry.layout.root, number, seconds) for number in range(processes)]
    with context.Pool(processes) as pool:
        counts = pool.starmap(work, tasks, chunksize=1)
    runs, entries = map(sum, zip(*counts, strict=True))
    listing = check_readable(registry.layout)
    assert runs >= processes
    assert len(listing.runs) == runs
    assert len(read_promotions(listing.root)) == entries
    assert verify(listing.root) == []
