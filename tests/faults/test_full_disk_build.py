"""A disk that fills while the book is built: the site before stays, nothing else."""

from small_book import casebook, content, ended, write_project


def stopped_by_the_disk(process, place):
    code, _, err = ended(process)
    last = err.splitlines()[-1]
    assert code == 1, err
    assert last.startswith(f"casebook: {place}/"), err
    assert "No space left on device: make room; the same command again" in last
    assert "Traceback" not in err


def test_a_build(tmp_path, disk, count):
    project = write_project(tmp_path)
    small = disk(project / "_build")
    small.grow(100_000)
    code, _, err = ended(casebook(project, "report"))
    assert code == 0, err
    place = project / "_build" / "mine"
    before, front = content(place), project / "book" / "index.md"
    assert "html/run/notebooks/made.html" in before
    front.write_text(front.read_text() + "\nThe second text.\n")
    for kilobytes in (0, 1000, 4000, 6000, 7500):
        small.leave(kilobytes)
        stopped_by_the_disk(casebook(project, "build"), place)
        assert content(place) == before
        assert {path.name for path in place.iterdir()} == {".lock", "html", "key"}
        count("full disk: build")
    small.grow(100_000)
    code, _, err = ended(casebook(project, "build"))
    assert code == 0, err
    after = content(place)
    assert "The second text." in (place / "html" / "index.html").read_text()
    assert {*after} == {*before} and after["key"] != before["key"]
