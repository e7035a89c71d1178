"""A build that is killed, and two at once: no page of one is in the other's site."""

import os
import signal
import subprocess
import sys
import time

from small_book import casebook, content, ended, environment, write_project


def renderers(project):
    """Give the processes that render a project."""
    told = subprocess.run(["pgrep", "-f", f"build {project}/_build/mine/work-"], capture_output=True, text=True)
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


def test_two_builds_and_a_publication_at_once(tmp_path, count):
    project = write_project(tmp_path)
    code, _, err = ended(casebook(project, "report"))
    assert code == 0, err
    change(project, "The second text.")
    first = casebook(project, "build")
    rendering(project)
    second = casebook(project, "build")
    command = ["casebook", "publish", "mine", str(tmp_path / "public")]
    python = [sys.executable, "-m"]
    places = os.environ | environment(project)
    done = subprocess.run([*python, *command], env=places, check=False)
    assert done.returncode == 0
    for process in (first, second):
        code, _, err = ended(process)
        assert code == 0, err
    site = content(project / "_build" / "mine" / "html")
    assert content(tmp_path / "public" / "site") == site
    count("two builds at once")
