"""What every command refuses: to write where it reads, nothing, endless numbers."""

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casebook.data import load
from casebook.errors import InputError
from casebook.files import refuse_overwriting, write_text
from casebook.paths import RESULTS
from casebook.trec import write_run

CASE = {"case_id": "c1", "parties": [{"name": "Tan", "role": "Appellant", "type": "Individual"}]}


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case.txt"
    text = "Tan, aged 30, v State. A delay of 40 days; section 302 IPC; a fine."
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", ["itself", "symlink", "hardlink", "dotted"])
def test_an_output_is_never_an_input_by_whatever_path(tmp_path, kind):
    source = write_text(tmp_path / "in.json", "{}")
    output = tmp_path / "out.json"
    if kind == "symlink":
        output.symlink_to(source)
    elif kind == "hardlink":
        os.link(source, output)
    else:
        output = source if kind == "itself" else tmp_path / "x" / ".." / "in.json"
    with pytest.raises(InputError, match="is read by this command"):
        refuse_overwriting(output, None, source)
    refuse_overwriting(tmp_path / "other.json", source)
    refuse_overwriting(None, source)


def commands(case, tmp_path):
    """Give every command that reads a file and writes one, writing where it reads."""
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"_id": "q", "text": "water"}\n')
    ranking = write_run(tmp_path / "r.trec", {"q": {"d": 1.0}})
    record = "retrieval_ablation-smoke"
    tree = tmp_path / "tree.json"
    tree.write_text("{}")
    corpus = records(tmp_path / "mine") / "corpus.jsonl"
    return {
        corpus: ["sensitivity", "run", case, corpus.parent, "-o", corpus],
        case: ["sensitivity", "run", case, "smoke", "--mode", "bm25", "-o", case],
        queries: ["corpus", "search", tmp_path, queries, "--out", queries],
        ranking: [
            *("runs", "export", f"smoke/runs/{record}"),
            *("--ranking", ranking, "--out", ranking),
        ],
        tree: ["sensitivity", "report", tree, "-o", tree],
    }


def test_no_command_overwrites_what_it_reads(casebook, case, tmp_path):
    for source, arguments in commands(case, tmp_path).items():
        before = source.read_bytes()
        code, out, err = casebook(*arguments)
        assert (code, out) == (1, ""), arguments
        assert err.count("\n") == 1 and source.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sensitivity", "run", "c.json", "smoke", "-o", ""], "-o: it is empty"),
        (["corpus", "search", "c", "q", "--out="], "--out: it is empty"),
        (["data", "card", ""], "an argument: it is empty"),
        (["gate", "run", "--margin=nan"], "--margin must be a finite number"),
        (["runs", "decide", "--eps", "1e999"], "--eps must be a finite number"),
        (["raters", "forms", "x", "--margin", "-inf"], "finite"),
        (["runs", "promote", "--reason", "\udcff"], "not text in UTF-8"),
        (["compare", "q", "a", "b", "--csv", "--markdown"], "has no effect"),
        (["compare", "q", "a", "b", "--json", "--csv"], "has no effect with --json"),
        (["run", "--workers", "2", "--scheduler", "tcp://x"], "has no effect with"),
        (["sensitivity", "report", "t", "--json", "-o", "x"], "has no effect with"),
        (
            ["sensitivity", "run", "c", "smoke", "--original", "--placebos", "3"],
            "--placebos has no effect",
        ),
        (["raters", "analyse", "f", "--original", "--out", "x"], "--out has no effect"),
        (["evaluate", "{q}", "{other}"], "quer"),
        (["agreement", "{r}", "--resamples", "1"], "--resamples"),
    ],
)
def test_what_means_nothing_is_one_clear_line(casebook, tmp_path, arguments, message):
    (tmp_path / "q").write_text("q1 0 d1 1\n")
    (tmp_path / "r").write_text("item,A,B\nx,1,2\ny,2,2\nz,1,1\n")
    write_run(tmp_path / "run", {"q1": {"d1": 1.0}})
    write_run(tmp_path / "other", {"q9": {"d1": 1.0}})
    names = {name: str(tmp_path / name) for name in ("q", "r", "run", "other")}
    code, out, err = casebook(*[word.format_map(names) for word in arguments])
    assert (code, out) == (1, "")
    assert err.startswith("casebook: ") and err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("http://me:hunter22@host/v1", "CASEBOOK_LLM_URL"),
        ("[{here: 'https://hunter22@host'}]", "parameters are published"),
        ("https://host/v1?version=2&api-key=hunter22", "holds a password or a key"),
    ],
)
def test_a_parameter_that_is_published_holds_no_password(casebook, value, message):
    before = set(RESULTS.iterdir())
    code, out, err = casebook("run", "rater_agreement", "--run", "refused", "-p", f"url={value}")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("casebook: url: ") and message in err and "hunter22" not in err
    assert set(RESULTS.iterdir()) == before


HOSTILE = {
    "a lone surrogate in an id": '{"case_id": "\\ud800"}',
    "an age of 400 digits": '{"case_id": "c", "age": %s}' % ("9" * 400),
    "a key twice": '{"case_id": "c", "case_id": "d"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_case_that_cannot_be_is_one_clear_line(casebook, tmp_path, name):
    path = tmp_path / "case.json"
    path.write_text(HOSTILE[name])
    code, out, err = casebook("sensitivity", "run", path, "smoke", "--mode", "bm25")
    assert (code, out) == (1, "") and err.count("\n") == 1, err
    assert "case.json" in err


def records(tmp_path, **changes):
    corpus = [{"_id": "d1", "text": "water"}, {"_id": "d2", "text": "fire"}]
    corpus[0] |= changes
    (tmp_path / "qrels").mkdir(parents=True)
    lines = "".join(json.dumps(line) + "\n" for line in corpus)
    (tmp_path / "corpus.jsonl").write_text(lines)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "water"}\n')
    qrels = "query-id\tcorpus-id\tscore\nq\td2\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(qrels)
    return tmp_path


@pytest.mark.parametrize("changes", [{"_id": "\ud800"}, {"text": "a\udc00b"}])
def test_half_characters_in_a_collection_name_their_line(tmp_path, changes):
    with pytest.raises(InputError, match=r"corpus\.jsonl:1: is not JSON: a lone surrogate"):
        load(records(tmp_path, **changes))


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.lists(words, max_size=5))
def test_whatever_the_words_no_command_ends_in_a_traceback(words):
    from casebook.cli import main

    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code in {0, 1}


def test_arguments_in_bytes_of_no_text_are_refused_by_the_real_command(tmp_path):
    import subprocess

    command = [sys.executable, "-m", "casebook", "data", "card", b"\xff"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1
    assert b"not text in UTF-8" in done.stderr


PLUGGED = """
def text(grades, judged): return "x"
def failing(grades, judged): raise ValueError("two\\nlines")
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [("text", "gives no number, but str"), ("failing", "raised ValueError: two lines")],
)
def test_a_measure_that_fails_is_one_clear_line(casebook, tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "plugged_doors.py").write_text(PLUGGED)
    (tmp_path / "q").write_text("q1 0 d1 1\n")
    write_run(tmp_path / "r", {"q1": {"d1": 1.0}})
    code, out, err = casebook("evaluate", "q", "r", "-m", f"plugged_doors:{name}")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert f"plugged_doors:{name}: {message}" in err


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("answer", ["a"], "field answer: Input should be a valid string"),
        ("relevant", [["a"]], "field relevant.0: Input should be a valid string"),
    ],
)
def test_a_field_of_a_log_that_is_a_list_is_one_clear_line(
    casebook, tmp_path, field, value, message
):
    path = tmp_path / "log.jsonl"
    path.write_text(
        json.dumps(
            {
                "id": 1,
                "question": "q?",
                "answer": "a",
                "reference": "a",
                "system": "s",
                field: value,
            }
        )
    )
    code, out, err = casebook("gate", "--log", path, "--against", path)
    assert (code, out) == (1, "") and f"log.jsonl:1: {message}" in err and err.count("\n") == 1


def test_a_search_does_not_overwrite_the_corpus_that_it_reads(casebook, tmp_path):
    """F62: the list of files was replaced by the run, and the corpus was gone."""
    folder, corpus = records(tmp_path / "mine"), tmp_path / "encoded"
    assert casebook("corpus", "encode", folder, "--out", corpus)[0] == 0
    before = {path: path.read_bytes() for path in corpus.rglob("*.*") if path.suffix}
    assert len(before) > 15
    for path in before:
        code, out, err = casebook("corpus", "search", corpus, folder, "--out", path)
        assert (code, out) == (1, "") and f"{path}: is read by this command" in err
    assert {path: path.read_bytes() for path in before} == before
    for _ in range(2):  # another file there may be replaced
        assert casebook("corpus", "search", corpus, folder, "--out", corpus / "run.trec")[0] == 0


def test_the_data_of_the_project_are_no_place_for_an_output(casebook, case):
    from casebook.paths import DATA

    path = DATA / "smoke" / "corpus.jsonl"
    before = path.read_bytes()
    code, out, err = casebook("sensitivity", "run", case, "smoke", "--mode", "bm25", "-o", path)
    assert (code, out) == (1, "") and "is data of the project" in err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "place", "remedy"),
    [
        (["factcheck", "run", "case.txt"], "casebook.factcheck.pipeline.checker_of", "begins anew"),
        (
            ["sensitivity", "run", "case.txt", "smoke"],
            "casebook.sensitivity.report.run_case",
            "begins anew",
        ),
        (["build", "--run", "smoke"], "casebook.book.build_book", "begins anew"),
        (["data", "pull", "smoke"], "casebook.data.registry.pull", "carries on"),
        (
            ["corpus", "encode", "mine", "--out", "x"],
            "casebook.retrieval.encoding.encode_folder",
            "carries on",
        ),
        (["run", "query_length"], "casebook.batch.run.run_batch", "carries on"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_an_interrupted_command_says_what_the_same_command_does(
    casebook, case, monkeypatch, words, place, remedy
):
    """F61: each said that it carries on, also where nothing is kept."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    records(case.parent / "mine")
    monkeypatch.chdir(case.parent)
    monkeypatch.setattr(place, interrupted)
    code, out, err = casebook(*words)
    assert (code, out) == (130, "")
    assert err == f"casebook: interrupted; the same command again {remedy}\n"
