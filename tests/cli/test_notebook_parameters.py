"""Every parameter of every notebook: a wrong value is refused before a kernel starts."""

import json
import re
from pathlib import Path

import pytest
import yaml

from casebook.batch.chapters import CHAPTERS, settings_of
from casebook.batch.grid import load_grid
from casebook.batch.parameters import defaults
from casebook.batch.run_folder import sole_writer
from casebook.paths import NOTEBOOKS

NUMBERS = ["many", "null", "true", "[2]"]
WHOLE = [*NUMBERS, "-1", "2.5", "10000000000"]
COUNT = [*WHOLE, "0"], "at least 1"
FLAG = ["1", "maybe", "null", "[true]", "0.0"], "true or false"
NAME = ["3", "null", "true", "[a]", "{a: b}", '""'], "give text, or leave it out"
NAME_OR_NONE = ["3", "true", "[a]", "{a: b}"], "give text, or leave it out"
MARGIN = [*NUMBERS, "-1", "-0.01", "1", "1.5"], "at least 0 and below 1"
SHARE = [*NUMBERS, "-0.1", "1.5"], "from 0 to 1"
SEED = [*WHOLE, "4294967296"], "at least 0"
RESAMPLES = [*WHOLE, "0", "99", "1000001"], "at least 100"
FOLDS = [*WHOLE, "0", "1"], "at least 2"
UNKNOWN_DATA = ["nope", "pdpabench_votes"], "choose from|casebook data list"
RETRIEVER = ["3", "bm25", "[3]", '[""]'], "module:object|give text"
DRAWN = {"seed": SEED, "n_resamples": RESAMPLES}
READING = {"titles": FLAG, "max_missing": SHARE}

# Experiment to parameter to a wrong value and the advice; a parameter may stand several times.
WRONG = {
    "retrieval_ablation": [
        {
            "dataset": NAME,
            "split": NAME_OR_NONE,
            "development": NAME_OR_NONE,
            "held_out": NAME_OR_NONE,
        }
        | {
            "encoder": NAME,
            "reranker": NAME_OR_NONE,
            "retriever": RETRIEVER,
            "runs": (["nope.run", "3", "[nope.run]", "true"], "no such|give text"),
            "corpus": (["nope", "./nope", "3", "[nope]"], "no such|no shards.json|give text"),
            "k": COUNT,
            "pool": COUNT,
            "mmr": FLAG,
        }
        | {
            "rrf_k": ([*NUMBERS, "0", "-1"], "above 0"),
            "mmr_lambda": SHARE,
            "chunking": FLAG,
            "margin": MARGIN,
        }
        | {
            "query_reading": (["nope", "3", "null", "[windows]"], "truncated, windows"),
            "query_words": (["all", "true", "[2]", "-1", "2.5", "0"], "at least 1"),
            "dense_scope": (["nope", "3", "null", "[mean]"], "passage, document, mean"),
        }
        | {"modes": (["bm25", "3", "[]", "[3]", "{a: b}", "true"], r"give a list|give text")}
        | {"measures": (["nDCG@3", "3", "null", "[3]", "{a: b}"], r"give a list|give text")}
        | DRAWN
        | READING,
        {
            "dataset": UNKNOWN_DATA,
            "split": (["nope"], "it has"),
            "encoder": (["nope", "./nope"], "give a folder|check the path"),
        }
        | {
            "modes": (["[nope]", "[bm25, nope]"], "choose from"),
            "measures": (["[nope]", "[P]"], "choose from|needs a cut"),
        }
        | {
            "reranker": (["nope"], "choose from"),
            "k": (["51"], "pool"),
            "pool": (["9"], "at least k"),
        },
    ],
    "embedding_shift": [
        {
            "dataset": NAME,
            "split": NAME_OR_NONE,
            "encoder": NAME,
            "by": (["nope", "3", "null", "[group]"], "group, "),
        }
        | {"folds": FOLDS, "draws": COUNT, "margin": MARGIN}
        | {
            "drift_seeds": (
                ["3", "null", "[a]", "[-1]", "[1.5]", "{a: 1}", "nope"],
                "list|whole number",
            )
        }
        | DRAWN
        | READING,
        {
            "dataset": UNKNOWN_DATA,
            "split": (["nope"], "it has"),
            "encoder": (["nope"], "give a folder"),
        },
    ],
    "run_comparison": [
        {"scope": (["nope", "3", "null", "[all]"], "all, run"), "seed": SEED}
        | {
            "measure": (
                ["nope", "3", "null", "[nDCG@10]", '""', "nDCG@0"],
                "choose from|give text|must be an integer from 1",
            )
        }
    ],
    "counterfactual_sensitivity": [
        {
            "dataset": NAME,
            "encoder": NAME_OR_NONE,
            "shown": (["nope", "3", "[bm25]"], "choose from|give text"),
        }
        | {
            "planted": (
                ["3", "[2]", "null", "{nope: 1}", "{cases: 0}", "{cases: many}", "{values: 7}"],
                "cases, values",
            )
        }
        | {
            "systems": (
                ["bm25", "3", "[]", "null", "[3]", "{a: b}"],
                r"give a list|at least one|give text",
            )
        }
        | {
            "depth": COUNT,
            "placebo_draws": COUNT,
            "shown_bytes": COUNT,
            "context": (["nope", "3", "null", "[all]"], "all, month"),
        }
        | {"children": (["many", "true", "[2]", "-1", "2.5", "0"], "at least 1"), "margin": MARGIN}
        | dict.fromkeys(
            ["annotated_on", "paraphrases", "judgments"], (["3", "[a]", "true"], "give text")
        )
        | DRAWN,
        {
            "dataset": UNKNOWN_DATA,
            "systems": (["[nope]"], "choose from"),
            "encoder": (["nope"], "give a folder"),
        }
        | dict.fromkeys(["annotated_on", "paraphrases", "judgments"], UNKNOWN_DATA)
        | {
            "cases": (["nope.jsonl", "3"], "no such file|give text"),
            "corpus": (["nope", "[3]"], "no such|give text"),
            "facts": (["nope.yml", "3", "[a]"], "no such file|give text|is no name"),
        },
    ],
    "explanation_quality": [
        {
            "dataset": NAME,
            "split": NAME_OR_NONE,
            "most": ([*WHOLE, "0", "4"], "at least 5"),
            "foreign": COUNT,
        }
        | {
            "explanations": (["3", "null", "[template]", "nope", '""'], "give text|choose from"),
            "margin": MARGIN,
        }
        | DRAWN
        | READING,
        {
            "dataset": UNKNOWN_DATA,
            "split": (["nope"], "it has"),
            "explanations": (["nope.jsonl", "gold"], "no such|give|choose"),
        }
        | dict.fromkeys(
            ["sources", "ratings", "ratings_key"], (["nope", "3"], "no such file|give text")
        ),
    ],
    "rater_agreement": [
        {"dataset": (["3", "true", "[a]", "nope", "smoke"], "give text|choose from")}
        | {"rating_set": (["3", "true", "[a]", "nope", "smoke"], "give text|choose from")}
        | {
            "forms": (["nope", "3", "[3]"], "no such file|give text"),
            "key": (["nope", "3"], "no such file|give text"),
        }
        | {
            "log": (["nope.jsonl", "3", "[]"], "no such|give text"),
            "questions": (["nope.txt", "3"], "no such|give text"),
        }
        | {
            "corpus": (["3", "[a]"], "give text"),
            "side_column": NAME_OR_NONE,
            "against": NAME_OR_NONE,
        }
        | {"columns": (["3", "[a]", "null", "a", "{preferred: 3}"], "{column: its name}")}
        | {
            "systems": (["a", "3", "[3]", "[]", "[a]"], "give a list|give text|two"),
            "model": NAME_OR_NONE,
        }
        | {
            "url": (["3", "[a]", "nope"], "http://|give text"),
            "raters": (["3", "[a]", "null", "{a: nope}", "{a: 1}", "{}"], "lay or expert"),
        }
        | {
            "sizes": (
                ["3", "[]", "null", "[0]", "[-5]", "[2.5]", "[many]"],
                "list of whole numbers",
            )
        }
        | dict.fromkeys(["studies", "rehearsed", "panels", "permutations"], COUNT)
        | DRAWN
    ],
    "rating_agreement": [
        {
            "ratings": (["nope.csv", "3", "[a]"], "no such file|give text"),
            "columns": (["3", "[a]", "null", "a", "{rating: 3}"], "{column: its name}"),
        }
        | DRAWN
    ],
    "factcheck_confusion": [
        {
            "dataset": NAME,
            "stance": NAME,
            "decomposition": NAME,
            "ablation": FLAG,
            "folds": FOLDS,
            "shown_bytes": COUNT,
        }
        | {
            "noise_rates": (
                ["0.5", "null", "[2]", "[-0.5]", "[a]", "[true]"],
                "list of numbers from 0 to 1",
            )
        }
        | {
            "transfer_sets": (
                ["feverous_s", "null", "[3]", "[nope]", "[smoke]", "[./nope]"],
                "list|choose from|give text|no such folder",
            )
        }
        | DRAWN,
        {
            "dataset": (["nope", "smoke"], "choose from|data list"),
            "stance": (["nope", "model:", "endpoint:", "entailment:nope"], "give"),
            "further_judges": (
                ["public", "null", "[3]", "[nope]", "[entailment:nope]", "[entailment:minilm]"],
                "give|no classifier",
            ),
        }
        | {
            "decomposition": (["nope", "model:"], "choose from|give"),
            "claims": (["nope.csv", "3"], "no such|give text"),
        }
        | {"corpus": (["nope", "3"], "no such|give text")},
    ],
    "audits": [
        {"reported": (["nope.csv", "3"], "no such|give text"), "repeats": COUNT, "seed": SEED}
    ],
    "query_length": [
        {"dataset": NAME, "retriever": RETRIEVER, "margin": MARGIN} | DRAWN | READING,
        {"dataset": UNKNOWN_DATA},
    ],
    "assistant": [
        {
            "dataset": NAME,
            "focus": (["3", "[a]", "nope"], "give text|it has"),
            "against": (["3", "[a]", "nope"], "give text|it has"),
        }
        | {
            "log": (["nope.jsonl", "3", "[]"], "no such|give text"),
            "collection": (["3", "[a]"], "give text"),
            "columns": (["3", "[a]", "a", "{answer: 3}", "{}"], "{column: its name}|give text"),
            "scores": (["3", "[3]"], "give text"),
            "judge": (
                ["3", "[a]", "nope", "json:nope", "math:pi", "entailment:nope", "features"],
                "give text|module:object|call|give a folder",
            ),
        }
        | {
            "agreement_level": (
                ["0", "1", "-0.5", "1.5", "high", "true", "[0.5]"],
                "between 0 and 1",
            ),
            "foreign": COUNT,
        }
        | DRAWN,
        {"dataset": UNKNOWN_DATA},
    ],
}

# Values that are right alone, and wrong together.
TOGETHER = [
    (
        "retrieval_ablation",
        ["development=test"],
        "development has no effect without held_out: give held_out too",
    ),
    ("retrieval_ablation", ["held_out=test"], "held_out has no effect without development: give"),
    (
        "retrieval_ablation",
        ["development=test", "held_out=test"],
        "held_out: choose another split than development",
    ),
    ("retrieval_ablation", ["k=20", "pool=10"], "pool: give at least k"),
    ("retrieval_ablation", ["corpus={folder}"], "no shards.json: the corpus is not encoded"),
    (
        "retrieval_ablation",
        ["corpus={folder}", "modes=[bm25_chunked]"],
        "leave bm25_chunked or corpus out",
    ),
    (
        "counterfactual_sensitivity",
        ["systems=[bm25, dense]", "shown=full"],
        "choose from bm25, dense",
    ),
    ("counterfactual_sensitivity", ["cases={cases}"], "give both cases=FILE and corpus=FOLDER"),
    ("counterfactual_sensitivity", ["corpus={folder}"], "give both cases=FILE and corpus=FOLDER"),
    ("counterfactual_sensitivity", ["facts={cases}"], "file of facts|not YAML|give the lists"),
    ("counterfactual_sensitivity", ["judgments=smoke"], "does not hold the annotated passage"),
    ("explanation_quality", ["sources={folder}"], "sources has no effect without explanations"),
    ("explanation_quality", ["ratings={folder}"], "ratings_key"),
    ("explanation_quality", ["ratings_key={cases}"], "ratings_key has no effect without ratings"),
    ("explanation_quality", ["ratings={folder}", "ratings_key={cases}"], "no forms"),
    ("rater_agreement", ["key={cases}"], "key has no effect without forms"),
    ("rater_agreement", ["side_column=side"], "side_column has no effect without forms"),
    ("rater_agreement", ["columns={{preferred: choice}}"], "columns has no effect without forms"),
    ("rating_agreement", ["ratings=null"], "ratings: give a file of ratings: -p ratings=FILE"),
    (
        "rating_agreement",
        ["ratings={log}", "columns={{}}"],
        "needs columns of rater, item and rating",
    ),
    ("rating_agreement", ["columns={{who: x}}"], "'who' is none of rater, item"),
    ("rater_agreement", ["systems=[a, b]"], "systems has no effect without log"),
    ("rater_agreement", ["model=m"], "model has no effect without questions"),
    ("rater_agreement", ["url=http://localhost"], "url has no effect without questions"),
    ("rater_agreement", ["corpus=smoke"], "corpus has no effect without questions"),
    ("rater_agreement", ["questions={cases}"], "give corpus and model too"),
    ("rater_agreement", ["against=nope"], "against"),
    ("rater_agreement", ["forms={folder}"], "no forms"),
    ("rater_agreement", ["log={log}", "systems=[a, nope]"], "its systems are a, b"),
    (
        "rater_agreement",
        ["log={log}", "systems=[a]"],
        r"systems: give a list of two systems or more, .* not \['a'\]",
    ),
    ("rater_agreement", ["log={log}", "raters={{../x: lay}}"], "raters"),
    ("factcheck_confusion", ["claims={cases}"], "give both claims=FILE and corpus=FOLDER"),
    ("factcheck_confusion", ["corpus={folder}"], "give both claims=FILE and corpus=FOLDER"),
    (
        "factcheck_confusion",
        ["ablation=false", "noise_rates=[0.5]"],
        "noise_rates has no effect without ablation",
    ),
    (
        "factcheck_confusion",
        ["stance=placeholder", "further_judges=[placeholder]"],
        "judges 'placeholder' and 'placeholder' have one name",
    ),
    (
        "factcheck_confusion",
        ["dataset=consumer_contracts_qa", "further_judges=[placeholder]"],
        "further_judges has no effect with dataset=",
    ),
    (
        "factcheck_confusion",
        ["transfer_sets=[{folder}]"],
        "holds no documents: put a corpus.jsonl",
    ),
    (
        "factcheck_confusion",
        ["dataset=consumer_contracts_qa", "stance=placeholder"],
        "stance has no effect with dataset=",
    ),
    (
        "factcheck_confusion",
        ["dataset=consumer_contracts_qa", "decomposition=none"],
        "decomposition has no effect with",
    ),
    ("assistant", ["collection=smoke"], "collection has no effect without log"),
    ("assistant", ["columns={{answer: a}}"], "columns has no effect without log"),
    ("assistant", ["scores=[a]"], "scores has no effect without log"),
    ("assistant", ["log={log}", "columns={{anser: a}}"], "did you mean answer"),
    ("assistant", ["log={log}", "scores=ansver"], "did you mean answer"),
    ("assistant", ["log={log}", "focus=nope"], "it has a, b"),
    ("assistant", ["log={log}", "against=nope"], "it has a, b"),
    (
        "assistant",
        ["log={log}", "focus=a", "against=a"],
        "against: choose another system than focus",
    ),
    ("assistant", ["log={log}", "agreement_level=2"], "between 0 and 1"),
]


def pairs(experiment):
    for table in WRONG[experiment]:
        for name, (values, advice) in table.items():
            for value in values:
                yield name, value, advice


class KernelStarted(AssertionError):
    """A wrong value came as far as the batch."""


@pytest.fixture
def refused(casebook, monkeypatch, tmp_path):
    """Give a function that runs an experiment with parameters, and gives the refusal or a fault."""

    def start(*_, **__):
        raise KernelStarted

    (tmp_path / "mirror" / "reported").mkdir(parents=True)
    monkeypatch.setenv("CASEBOOK_DATA_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setattr("casebook.batch.run.run_batch", start)
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    smoke = [cell for cell in load_grid() if "smoke" in cell.tags]
    rows = [
        {"name": cell.name, "notebook": cell.notebook, "parameters": cell.parameters}
        for cell in smoke
    ]

    def line(experiment, *given, also_dry=True):
        name = f"{experiment}-smoke"
        Path("grid.yml").write_text(yaml.safe_dump([row for row in rows if row["name"] == name]))
        words = ["run", name, "--grid", "grid.yml", "--run", "x", *(f"-p{each}" for each in given)]
        try:
            code, out, err = casebook(*words)
        except KernelStarted:
            return "a kernel starts"
        if (code, out, err.count("\n")) != (1, "", 1) or not err.startswith("casebook: "):
            return f"code {code}: {out}{err}"
        if also_dry and casebook(*words, "--dry-run") != (code, out, err):
            return "a dry run says something else"
        return err.strip()

    return line


def test_every_parameter_is_tried():
    """A new parameter of a notebook needs its wrong values here; the runner sets run and cell."""
    for experiment, tables in WRONG.items():
        (source,) = NOTEBOOKS.glob(f"*_{experiment}.ipynb")
        tried = {name for table in tables for name in table}
        parameters = set(defaults(source)) - {"run", "cell"}
        difference = sorted(tried ^ parameters)
        assert not difference, f"{experiment}: WRONG and {source.name} differ in {difference}"
    assert len(WRONG) == len(list(NOTEBOOKS.glob("*.ipynb")))


@pytest.mark.parametrize("experiment", WRONG)
def test_a_wrong_value_is_one_line_that_names_parameter_value_and_remedy(refused, experiment):
    amiss = {}
    dry = set()
    for name, text, advice in pairs(experiment):
        line = refused(experiment, f"{name}={text}", also_dry=name not in dry)
        dry.add(name)
        value = yaml.safe_load(text)
        shown = [value, *value] if isinstance(value, list | dict) else [value]
        told = any(str(each).split(":")[-1].removeprefix("./") in line for each in shown)
        if not (name in line and told and re.search(advice, line)):
            amiss[f"{name}={text}"] = line
    assert amiss == {}


def test_values_that_do_not_fit_together_are_one_line_that_says_which(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "cases.jsonl").write_text("{}\n")
    rows = [
        {"id": n, "question": f"q{n}?", "answer": f"{n} {s}", "system": s}
        for n in range(8)
        for s in "ab"
    ]
    (tmp_path / "log.jsonl").write_text(
        "".join(json.dumps(row | {"reference": "a"}) + "\n" for row in rows)
    )
    places = {"folder": "folder", "cases": "cases.jsonl", "log": "log.jsonl"}
    amiss = {}
    for experiment, given, advice in TOGETHER:
        line = refused(experiment, *(each.format_map(places) for each in given))
        if not re.search(advice, line):
            amiss[experiment, *given] = line
    assert amiss == {}


def test_notebook_and_model_have_the_same_parameters_and_every_row_of_the_grid_is_right():
    for cell in load_grid():
        source = NOTEBOOKS / cell.notebook
        usual = defaults(source)
        model = CHAPTERS[cell.experiment]
        assert set(usual) == set(model.model_fields)
        for values in (usual, usual | cell.parameters):
            assert settings_of(model, values, {})  # without defaults that are taken on trust


RIGHT = [
    (
        "retrieval_ablation",
        "margin=0",
        "k=50",
        "rrf_k=0.5",
        "reranker=null",
        "modes=[bm25, dense]",
        "measures=[P@5]",
        "runs=[]",
    ),
    (
        "retrieval_ablation",
        "query_reading=windows",
        "query_words=null",
        "dense_scope=mean",
        "max_missing=1",
        "retriever=[]",
        "mmr=true",
        "mmr_lambda=1",
    ),
    (
        "embedding_shift",
        "by=query",
        "drift_seeds=[0, 7]",
        "margin=0.5",
        "folds=2",
        "draws=1",
        "seed=4294967295",
    ),
    ("run_comparison", "scope=run", "measure=ndcg@10"),
    (
        "counterfactual_sensitivity",
        "children=null",
        "context=month",
        "annotated_on=''",
        "planted={cases: 1, values: 2}",
    ),
    ("explanation_quality", "explanations=explainer", "most=5", "foreign=1", "titles=true"),
    (
        "rater_agreement",
        "dataset=pdpabench_votes",
        "against=BASE",
        "rating_set=vader_lexicon",
        "raters={ben: expert}",
    ),
    (
        "rater_agreement",
        "questions=questions.txt",
        "corpus=smoke",
        "model=m",
        "url=http://localhost:1/v1",
    ),
    (
        "factcheck_confusion",
        "stance=placeholder",
        "decomposition=none",
        "noise_rates=[0, 1]",
        "transfer_sets=[]",
    ),
    (
        "factcheck_confusion",
        "dataset=consumer_contracts_qa",
        "transfer_sets=[consumer_contracts_qa, feverous_s]",
    ),
    ("audits", "repeats=1"),
    ("query_length", "margin=0.99", "n_resamples=100"),
    ("assistant", "agreement_level=0.5", "focus=null", "foreign=1"),
]


@pytest.mark.parametrize("given", RIGHT, ids=" ".join)
def test_a_right_value_is_taken(casebook, monkeypatch, tmp_path, given):
    monkeypatch.chdir(tmp_path)
    Path("questions.txt").write_text("May I?\n")
    experiment, *parameters = given
    code, out, err = casebook(
        "run", f"{experiment}-smoke", "--run", "x", "--dry-run", *(f"-p{p}" for p in parameters)
    )
    assert (code, err) == (0, "") and out.startswith("run ")


def test_what_a_terminal_would_obey_is_escaped(refused):
    """F62: what a user's value holds reaches no terminal as it is."""
    for experiment, tables in WRONG.items():
        for name in tables[0]:
            line = refused(experiment, f'{name}="\\e[2J\\u202e\\n"', also_dry=False)
            assert line.isprintable(), line


def test_a_dry_run_refuses_what_a_run_refuses_before_its_first_kernel(
    casebook, monkeypatch, tmp_path
):
    monkeypatch.setattr("casebook.paths.RESULTS", tmp_path / "results")
    grid = [
        {"name": "one", "notebook": "09_query_length.ipynb", "tags": ["default"], "needs": ["two"]},
        {"name": "two", "notebook": "09_query_length.ipynb", "tags": ["default"], "needs": ["one"]},
    ]
    (tmp_path / "circle.yml").write_text(yaml.safe_dump(grid))
    (tmp_path / "results" / "busy").mkdir(parents=True)
    (tmp_path / "results" / "file").write_text("")
    cases = [
        ("file", ["query_length-smoke"], "cannot be written: set CASEBOOK_ROOT"),
        ("busy", ["query_length-smoke"], "is being written by another batch"),
        ("x", ["--grid", tmp_path / "circle.yml"], "need each other in a circle"),
    ]
    with sole_writer("busy"):
        for run, words, message in cases:
            lines = [casebook("run", *words, "--run", run, *dry) for dry in ([], ["--dry-run"])]
            assert lines[0] == lines[1]
            code, out, err = lines[0]
            assert (code, out) == (1, "") and message in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("split=[a]", "split: ['a'] is no name"),
        ("dataset=[smoke]", "dataset: ['smoke'] is no name"),
        ("titles=3", "titles: give true or false, not 3"),
        ("max_missing=many", "max_missing: give a number from 0 to 1, not 'many'"),
        ("n_resamples=99", "n_resamples: give a whole number of at least 100"),
        ("answers=3", "answers: 3 is no name"),
        ("answers=nope.csv", "answers 'nope.csv': no such file or folder"),
        ("colour=red", "mine.ipynb has no parameter colour; it takes answers"),
    ],
)
def test_a_notebook_of_ones_own_has_no_model_but_names_and_types(
    casebook, monkeypatch, tmp_path, given, message
):
    monkeypatch.chdir(tmp_path)
    lines = [
        'dataset = "smoke"',
        "answers: Path = None",
        "split = None",
        "titles = True",
        "max_missing = 0.05",
    ]
    lines += ["n_resamples = 1000", 'run = ""', 'cell = ""']
    chapter = {
        "cell_type": "code",
        "metadata": {"tags": ["parameters"]},
        "source": "\n".join(lines),
    }
    Path("mine.ipynb").write_text(json.dumps({"cells": [chapter]}))
    code, out, err = casebook("run", "./mine.ipynb", "--run", "x", "--dry-run", "-p", given)
    assert (
        (code, out) == (1, "") and err.startswith(f"casebook: {message}") and err.count("\n") == 1
    )


def test_paths_that_cannot_be_are_one_line(refused):
    for experiment, tables in WRONG.items():
        for name in tables[-1].keys() - {"k", "pool"}:
            for text in ("~nobody-here/x", '"a\\0b/c"', "x" * 5000):
                line = refused(experiment, f"{name}={text}", also_dry=False)
                assert line.startswith("casebook: "), line
