"""Labels from files, and the command that audits them."""

import json

import pytest
from test_labels import sound

from casebook.audits.sources import natural, read_labels
from casebook.data import load
from casebook.errors import InputError


def test_natural_order():
    assert sorted(["c10", "c9", "b2"], key=natural) == ["b2", "c9", "c10"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.qrels", "q1 0 d1\n", "x.qrels:1: expected 4 fields"),
        ("x.qrels", "q1 0 d1 yes\n", "x.qrels:1: grade"),
        ("x.qrels", "", "no relevant document"),
        ("x.qrels", "q1 0 d1 0\n", "no relevant document"),
        ("x.qrels", b"q 0 \xff 1", "not valid UTF-8"),
        ("x.csv", "a,b\n1,2\n", "nothing to audit"),
        ("x.csv", "query_position,relevant_positions\n0,1 x\n", "x.csv:2: relevant"),
        ("x.csv", "query_position,relevant_positions\n0,10000001\n", "up to 10,000,000"),
        ("x.csv", "year,target,target_year\n1990,,2020\n", "x.csv:2: target must"),
    ],
)
def test_bad_files_name_file_and_line(tmp_path, name, content, message, casebook):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        read_labels(path)
    code, _, err = casebook("audit", "labels", path)
    assert code == 1 and message in err


def test_the_command_exits_2_when_flagged_and_0_when_not(tmp_path, casebook):
    path = tmp_path / "dealt.csv"
    rows = [f"{i},{i % 20} {(i + 1) % 20} {(i + 2) % 20}" for i in range(20)]
    path.write_text("\n".join(["query_position,relevant_positions", *rows]))
    code, out, err = casebook("audit", "labels", path, "--json")
    assert code == 2 and "flagged: " in err
    found = json.loads(out)
    assert found["verdict"] == "flagged"
    assert {"round robin", "neighbours"} <= {
        f["check"] for f in found["findings"] if f["verdict"] == "flagged"
    }
    path = tmp_path / "sound.qrels"
    path.write_text(
        "\n".join(f"{q} 0 {d} 1" for q, found in sound().splits["all"].items() for d in found)
    )
    code, out, _ = casebook("audit", "labels", path)
    assert code == 0 and "passed         round robin" in out
    assert casebook("audit", "labels", "nowhere")[0] == 1


def test_a_folder_with_exact_duplicates_is_read_and_audited(tmp_path, casebook):
    folder = tmp_path / "copied"
    (folder / "qrels").mkdir(parents=True)
    line = '{"_id": "d%s", "title": "", "text": "Clause %s."}\n'
    lines = [line % (i, i) for i in range(30)]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join([*lines, lines[4], lines[7], line % ("30", "9")]))
    asked = [f'{{"_id": "q{i}", "text": "What says clause {i}?"}}\n' for i in range(30)]
    (folder / "queries.jsonl").write_text("".join(asked))
    judged = [f"q{i}\td{i}\t1\n" for i in range(30)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    code, out, _ = casebook("audit", "labels", folder, "--json")
    found = {f["check"]: f for f in json.loads(out)["findings"]}["duplicates"]
    assert code == 0 and found["value"] == 1 / 30
    copies = ["d9 = d30", "line 31: d4, as in line 5", "line 32: d7, as in line 8"]
    assert found["evidence"][1:5] == ["documents that repeat the text of another: 3", *copies]
    assert load(str(folder), "test").counts["documents"] == 31
    corpus.write_text("".join([*lines, line % ("4", "5")]))
    code, _, error = casebook("audit", "labels", folder)
    assert code == 1 and "corpus.jsonl:31: id 'd4' stood already in line 5" in error
