"""--device, --precision and --batch-size, and the variables that stand in for them."""

import itertools

import pytest
import torch
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
    ("--device", "mps", "device mps: this machine has no MPS device; it has cpu"),
    ("--device", "tpu", "device 'tpu': expected auto, cpu, cuda, cuda:N or mps"),
    ("--precision", "float16", "on the CPU it is slower than float32: give bfloat16"),
    ("--batch-size", "100001", "batch size 100001: expected a whole number from 1 to 100000"),
    ("--batch-size", "0", "Invalid value for '--batch-size'"),
]


def test_what_is_not_here_is_refused_before_anything_is_done(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def check(command, refusal):
        option, value, message = refusal
        code, out, err = casebook(*command, option, value)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert message in err
        assert list(tmp_path.iterdir()) == []

    assert failing(check, itertools.product(COMMANDS, ABSENT)) == []


def test_variables_say_it_to_every_command(casebook, monkeypatch, tmp_path):
    monkeypatch.setenv("CASEBOOK_DEVICE", "mps")
    claims = tmp_path / "claims.txt"
    claims.write_text("A burst pipe is covered.\n")
    check = ("factcheck", "run", claims, "--stance", "features+maxsim")
    for words in (RUN, check, ("shift", "train", "smoke")):
        code, out, err = casebook(*words)
        assert (code, out) == (1, ""), words
        assert err == "casebook: device mps: this machine has no MPS device; it has cpu\n"


def test_half_precision_on_a_processor_that_is_slower_with_it_is_noted(casebook, monkeypatch):
    def check(precision, processor, is_slow):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
        code, _, err = casebook(*RUN, "--dry-run", "--precision", precision)
        line = "note: precision bfloat16: this processor has no AMX; without it float32 is faster\n"
        assert (code, err) == (0, line if is_slow else "")

    rows = [
        ("bfloat16", {"architecture": "x86_64", "amx_bf16": False}, True),
        ("bfloat16", {"architecture": "x86_64", "amx_bf16": True}, False),
        ("bfloat16", {"architecture": "aarch64"}, False),  # nothing tells
        ("float32", {"architecture": "x86_64", "amx_bf16": False}, False),
    ]
    assert failing(check, rows) == []
