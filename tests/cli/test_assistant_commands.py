"""Exit codes of the gate on logs, the workflow of the methods page, and the chapter on one's own log."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml
from serving import chatting

from casebook.paths import DATA, ROOT

LOG = DATA / "assistant" / "answers.jsonl"
RECIPES = ("sponge", "pie", "loaf", "tart", "crumble", "flan")


def changed(path, change):
    rows = [json.loads(line) for line in LOG.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(json.dumps(row | change(row)) for row in rows), encoding="utf-8")
    return path


def test_exit_codes_of_the_gate(casebook, tmp_path):
    assert casebook("gate", "--log", LOG, "--against", LOG)[0] == 0
    worse = changed(tmp_path / "worse.jsonl", lambda row: {"answer": "It depends."})
    code, out, err = casebook("gate", "--log", worse, "--against", LOG, "--json")
    assert code == 2
    assert json.loads(out)["verdict"] == "fail"
    assert err.strip() == "casebook: gate: fail"
    other = changed(tmp_path / "other.jsonl", lambda row: {"question": row["question"] + "!"})
    assert casebook("gate", "--log", other, "--against", LOG)[0] == 5
    unsure = changed(
        tmp_path / "unsure.jsonl", lambda row: {"answer": row["reference"] if row["id"] < "sq06" else row["answer"]}
    )
    assert casebook("gate", "--log", LOG, "--against", unsure, "-m", "token F1")[0] == 4
    assert casebook("gate", "--log", LOG)[0] == 1
    assert casebook("gate", "run", "--log", LOG, "--against", LOG)[0] == 1
    assert casebook("gate", "--log", tmp_path / "none.jsonl", "--against", LOG)[0] == 1


def test_the_workflow_of_the_methods_page(tmp_path):
    page = (ROOT / "book" / "methods" / "assistant.md").read_text(encoding="utf-8")
    steps = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["jobs"]["gate"]["steps"]
    shell = [step["run"] for step in steps if "run" in step]
    ask, gate = (line for line in shell if "casebook answer" in line or "gate" in line)
    (tmp_path / "corpus").mkdir()
    texts = [{"_id": dish, "text": f"Bake the {dish} for half an hour."} for dish in RECIPES]
    asked = [
        {"id": dish, "question": f"How long does the {dish} bake?", "reference": "Half an hour."} for dish in RECIPES
    ]
    (tmp_path / "corpus" / "corpus.jsonl").write_text("\n".join(map(json.dumps, texts)))
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def code(line, url=""):
        values = environment | {"CASEBOOK_LLM_URL": url}
        return subprocess.run(["bash", "-ec", line], cwd=tmp_path, env=values).returncode

    with chatting("Bake it for half an hour.") as (url, _):
        assert code(ask.replace("new.jsonl", "accepted.jsonl"), url) == 0
    (tmp_path / "new.jsonl").write_bytes((tmp_path / "accepted.jsonl").read_bytes())
    assert code(gate) == 0
    (tmp_path / "new.jsonl").unlink()
    with chatting("I do not know.") as (url, _):
        assert [code(ask, url), code(gate)] == [0, 2]
    assert json.loads((tmp_path / "gate.json").read_text())["passed"] is False


def test_a_log_is_refused_before_a_kernel_starts(casebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.jsonl").write_text('{"question": "A?"}')
    code, _, err = casebook("run", "assistant", "--run", "refused", "-p", "log=bad.jsonl")
    assert code == 1
    assert "bad.jsonl:1: has no answer" in err
    Path("few.jsonl").write_text('{"question": "A?", "answer": "B.", "contexts": ["B it is."]}')
    code, _, err = casebook("run", "assistant", "--run", "refused", "-p", "log=few.jsonl", "-p", "focus=nobody")
    assert code == 1
    assert "no system 'nobody'; it has few" in err
    assert casebook("run", "assistant", "--run", "refused", "-p", "log=absent.jsonl")[0] == 1
    Path("bare.jsonl").write_text('{"question": "A?", "answer": "B."}')
    code, _, err = casebook("run", "assistant", "--run", "refused", "-p", "log=bare.jsonl")
    assert code == 1 and "nothing can be measured" in err
