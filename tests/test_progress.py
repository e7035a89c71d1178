"""The bar of a slow stage."""

import io
import sys

from casebook.progress import track


class Terminal(io.StringIO):
    """What a bar takes for a terminal."""

    def isatty(self):
        return True


def test_a_stage_shows_its_bar_on_a_terminal_and_nothing_elsewhere(monkeypatch):
    written = {}
    for name, kind in (("terminal", Terminal), ("file", io.StringIO), ("disabled", Terminal)):
        if name == "disabled":
            monkeypatch.setenv("TQDM_DISABLE", "1")
        else:
            monkeypatch.delenv("TQDM_DISABLE", raising=False)
        monkeypatch.setattr("sys.stderr", kind())
        assert list(track(iter("abc"), "checking claims", 3)) == ["a", "b", "c"]
        written[name] = sys.stderr.getvalue()
    assert "checking claims" in written["terminal"] and "0/3" in written["terminal"]
    assert (written["file"], written["disabled"]) == ("", "")
