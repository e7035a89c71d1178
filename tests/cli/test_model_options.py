"""--device, --precision and --batch-size, and the variables that stand in for them."""

import json

import numpy as np
import pytest
import torch

from casebook.batch.plan import plan as real_plan
from casebook.paths import DATA
from casebook.retrieval.encoded import EncodedCorpus

SMOKE = DATA / "smoke"
VARIABLES = ("CASEBOOK_DEVICE", "CASEBOOK_PRECISION", "CASEBOOK_BATCH_SIZE")
RUN = ("run", "query_length-smoke", "--run", "mine")


@pytest.fixture(autouse=True)
def restored(tmp_path, monkeypatch):
    """Take what a command sets out of the environment again."""
    monkeypatch.setenv("CASEBOOK_ROOT", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.setenv(name, "")


@pytest.fixture
def small(tmp_path):
    """Give a folder of 12 documents and their questions."""
    folder = tmp_path / "small"
    folder.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        lines = (SMOKE / name).read_text().splitlines(keepends=True)[:12]
        (folder / name).write_text("".join(lines))
    return folder


COMMANDS = [
    RUN,
    ("report", "--run", "mine"),
    ("corpus", "encode", str(SMOKE), "--out", "{out}"),
    ("corpus", "search", "{out}", str(SMOKE)),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "mps"), "device mps: this machine has no MPS device; it has cpu"),
        (("--device", "tpu"), "device 'tpu': expected auto, cpu, cuda, cuda:N or mps"),
        (("--precision", "float16"), "on the CPU it is slower than float32: give bfloat16"),
        (("--batch-size", "100001"), "batch size 100001: expected a whole number from 1 to 100000"),
        (("--batch-size", "0"), "Invalid value for '--batch-size'"),
    ],
)
def test_what_is_not_here_is_refused_before_anything_is_done(
    casebook, tmp_path, command, options, message
):
    words = [word.replace("{out}", str(tmp_path / "out")) for word in command]
    code, out, err = casebook(*words, *options)
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1 and message in err
    assert list(tmp_path.iterdir()) == []


def test_variables_say_it_to_every_command(casebook, monkeypatch, tmp_path):
    monkeypatch.setenv("CASEBOOK_DEVICE", "mps")
    claims = tmp_path / "claims.txt"
    claims.write_text("A burst pipe is covered.\n")
    check = ("factcheck", "run", claims, "--stance", "features+maxsim")
    for words in (RUN, check, ("shift", "train", "smoke")):
        code, out, err = casebook(*words)
        assert (code, out) == (1, ""), words
        assert err == "casebook: device mps: this machine has no MPS device; it has cpu\n"


def test_an_option_wins_over_its_variable(casebook, monkeypatch):
    plans = []

    def plan(*arguments):
        plans.extend(real_plan(*arguments))
        return plans

    monkeypatch.setattr("casebook.batch.plan.plan", plan)
    monkeypatch.setenv("CASEBOOK_DEVICE", "mps")
    options = ("--device", "auto", "--precision", "bfloat16", "--batch-size", "8")
    code, out, _ = casebook(*RUN, *options, "--dry-run")
    assert (code, out) == (0, "run     query_length-smoke\n")
    (item,) = plans
    assert item.settings.environment() == dict(
        zip(VARIABLES, ("cpu", "bfloat16", "8"), strict=True)
    )
    assert (item.inputs["device"], item.inputs["precision"]) == ("cpu", "bfloat16")


@pytest.mark.parametrize(
    ("precision", "processor", "is_slow"),
    [
        ("bfloat16", {"architecture": "x86_64", "amx_bf16": False}, True),
        ("bfloat16", {"architecture": "x86_64", "amx_bf16": True}, False),
        ("bfloat16", {"architecture": "aarch64"}, False),  # nothing tells
        ("float32", {"architecture": "x86_64", "amx_bf16": False}, False),
    ],
)
@pytest.mark.parametrize("as_variable", [False, True])
def test_half_precision_on_a_processor_that_is_slower_with_it_is_noted(
    casebook, monkeypatch, precision, processor, is_slow, as_variable
):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    options = ("--precision", precision)
    if as_variable:
        monkeypatch.setenv("CASEBOOK_PRECISION", precision)
        options = ()
    code, _, err = casebook(*RUN, "--dry-run", *options)
    line = "note: precision bfloat16: this processor has no AMX; without it float32 is faster\n"
    assert (code, err) == (0, line if is_slow else "")


def test_a_corpus_of_another_precision_is_encoded_anew_and_searched_by_the_same_model(
    casebook, tmp_path, small
):
    place = tmp_path / "corpus"
    encode = ("corpus", "encode", small, "--out", place, "--json")
    vectors = {}
    for precision in ("float32", "bfloat16"):
        made = json.loads(casebook(*encode, "--precision", precision)[1])
        assert (made["device"], made["precision"]) == ("cpu", precision)
        corpus = EncodedCorpus(place)
        assert (corpus.contents["device"], corpus.contents["precision"]) == ("cpu", precision)
        vectors[precision] = corpus.passages().vectors[:]
    difference = np.abs(vectors["float32"] - vectors["bfloat16"]).max()
    assert 1e-4 < difference < 0.02
    code, out, _ = casebook("corpus", "search", place, small, "--precision", "float32", "--k", 1)
    assert code == 0 and len(out.splitlines()) == 12
