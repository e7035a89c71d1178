"""A build that is killed, and two at once: no page of one is in the other's site."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time

from quick_book import copy_book
from small_book import casebook, content, ended, write_project

from casebook.book import build
from casebook.paths import ROOT


def renderers(project):
    """Give the processes that render a project."""
    told = subprocess.run(
        ["pgrep", "-f", f"build {project}/_build/mine/work-"], capture_output=True, text=True
    )
    return [int(pid) for pid in told.stdout.split()]


def rendering(project):
    until = time.monotonic() + 300
    while not renderers(project):
        assert time.monotonic() < until
        time.sleep(0.05)


def change(project, text):
    front = project / "book" / "index.md"
    front.write_text(f"{front.read_text()}\n{text}\n")


def test_what_renders_ends_with_a_killed_build(tmp_path, count):
    project = write_project(tmp_path)
    code, _, err = ended(casebook(project, "report"))
    assert code == 0, err
    place = project / "_build" / "mine"
    before = content(place / "html")
    for number in range(3):
        change(project, f"Text {number}.")
        process = casebook(project, "build")
        rendering(project)
        time.sleep(number / 3)  # a build renders for about two seconds
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert content(place / "html") == before
        until = time.monotonic() + 300
        while renderers(project):
            assert time.monotonic() < until
            time.sleep(0.05)
        count("kill while the book is built")
    code, _, err = ended(casebook(project, "build"))
    assert code == 0, err
    assert "Text 2." in (place / "html" / "index.html").read_text()
    assert {path.name for path in place.iterdir()} == {".lock", "html", "key"}


def test_two_builds_at_once(tmp_path, count):
    project = write_project(tmp_path)
    code, _, err = ended(casebook(project, "report"))
    assert code == 0, err
    change(project, "The second text.")
    first = casebook(project, "build")
    rendering(project)
    second = casebook(project, "build")
    for process in (first, second):
        code, _, err = ended(process)
        assert code == 0, err
    place = project / "_build" / "mine"
    assert "The second text." in (place / "html" / "index.html").read_text()
    assert {path.name for path in place.iterdir()} == {".lock", "html", "key"}
    count("two builds at once")


def killed_at(line):
    """Have this process kill itself before a line of the library that it executes from now on."""
    lines = itertools.count(1)

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(str(ROOT / "lib")):
            return None
        if event == "line" and next(lines) == line:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    frame = sys._getframe(1)
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    sys.settrace(trace)


def test_a_kill_before_any_line_that_replaces_a_site_leaves_a_whole_one_or_none(
    tmp_path, monkeypatch, count
):
    project = copy_book(tmp_path, monkeypatch)
    place = project / "_build" / "smoke"
    build.build_book("smoke")
    old = content(place / "html")
    change(project, "The second text.")
    finish, parent = build.finish, os.getpid()
    left = []

    def finish_and_die(*made_from):
        """Let a copy of this process go on to each line, and look at what it leaves."""
        finish(*made_from)
        shutil.copytree(place, project / "before", copy_function=os.link)
        for line in itertools.count(1):
            child = os.fork()
            if child == 0:
                killed_at(line)
                return
            _, status = os.waitpid(child, 0)
            left.append(content(place / "html"))
            shutil.rmtree(place)
            shutil.copytree(project / "before", place, copy_function=os.link)
            if status == 0:
                return
            assert status == signal.SIGKILL

    monkeypatch.setattr(build, "finish", finish_and_die)
    try:
        build.build_book("smoke")
    finally:
        if os.getpid() != parent:
            os._exit(sys.exc_info()[0] is not None)
    new = left.pop()
    assert new != old and "The second text." in (place / "html" / "index.html").read_text()
    # Between the renames there is none, and never a mixture.
    assert all(site in (old, new, {}) for site in left) and new in left and old in left
    count("kill while a new site takes the place of the old one", len(left))
