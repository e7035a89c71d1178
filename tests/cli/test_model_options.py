"""--device, --precision and --batch-size, and the variables that stand in for them."""

import itertools

import pytest
from cases import failing

from casebook.paths import DATA

SMOKE = DATA / "smoke"
VARIABLES = ("CASEBOOK_DEVICE", "CASEBOOK_PRECISION", "CASEBOOK_BATCH_SIZE")
RUN = ("run", "query_length-smoke", "--run", "mine")


@pytest.fixture(autouse=True)
def restored(tmp_path, monkeypatch):
    """Take what a command sets out of the environment again."""
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.setenv(name, "")


COMMANDS = [
    RUN,
    ("report", "--run", "mine"),
    ("corpus", "encode", str(SMOKE), "--out", "out"),
    ("corpus", "search", "out", str(SMOKE)),
]
ABSENT = [
    ("--device", "mps", "device 'mps': this machine has cpu"),
    ("--device", "tpu", "device 'tpu': this machine has cpu"),
    ("--precision", "float16", "on the CPU it is slower than float32: give bfloat16"),
    ("--batch-size", "0", "Invalid value for '--batch-size'"),
]


def test_what_is_not_here_is_refused_before_anything_is_done(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = itertools.product(COMMANDS, ABSENT)
    rows = [((*command, *option), message) for command, (*option, message) in pairs]
    assert failing(refused, rows) == []
    assert list(tmp_path.iterdir()) == []


def test_variables_say_it_to_every_command(casebook, monkeypatch, tmp_path):
    monkeypatch.setenv("CASEBOOK_DEVICE", "mps")
    claims = tmp_path / "claims.txt"
    claims.write_text("A burst pipe is covered.\n")
    check = ("factcheck", "run", claims, "--stance", "public")
    for words in (RUN, check, ("shift", "train", "smoke")):
        code, out, err = casebook(*words)
        assert (code, out) == (1, ""), words
        assert err == "casebook: device 'mps': this machine has cpu\n"
