"""The bar of a slow stage."""

import io

from casebook.progress import track


class Terminal(io.StringIO):
    """What a bar takes for a terminal."""

    def isatty(self):
        return True


def test_a_stage_shows_its_bar_on_a_terminal_and_nothing_elsewhere(monkeypatch):
    written = []
    for stream, disabled in ((Terminal(), ""), (io.StringIO(), ""), (Terminal(), "1")):
        monkeypatch.setenv("TQDM_DISABLE", disabled)
        monkeypatch.setattr("sys.stderr", stream)
        assert list(track(iter("abc"), "checking claims", 3)) == ["a", "b", "c"]
        written.append(stream.getvalue())
    assert "checking claims" in written[0] and written[1:] == ["", ""]
