import json
import math

import jsonschema
import pytest
import pytrec_eval
import yaml

from casebook.errors import InputError
from casebook.runs.artifact import SCHEMA_FILE, json_schema, read_record, write_record
from casebook.runs.every_eval import every_eval
from casebook.runs.export import choose_system, write_trec
from casebook.runs.mteb import mteb_result, read_mteb
from casebook.runs.reports import ranking
from casebook.trec import read_run

METRICS = {
    "set.dense.ndcg@10": 0.656,
    "set.dense.ap": 0.6,
    "set.dense.rr@10": 0.58825,
    "set.dense.p@1": 0.45455,
    "set.dense.rbp(p=0.9)": 0.1,
    "set.dense.undefined": None,
    "set.bm25.ndcg@10": 0.711,
}
LABELS = {
    "Cell": "c",
    "ContentKey": "k",
    "Version": "0.1.0",
    "Environment": {"python": "3.11", "platform": "Linux", "machine": "x86_64"},
    "Inputs": {"data": {"dataset": "abc"}, "library": "def", "parameters": {"dataset": "set", "k": 10}},
}


@pytest.fixture
def record(record_of):
    return record_of("r1", METRICS, labels=LABELS, workflow="ablation")


def test_the_shipped_schema_is_that_of_the_model(record, tmp_path):
    assert json.loads(SCHEMA_FILE.read_text()) == json_schema()
    written = json.loads(write_record(tmp_path / "run.json", record).read_text())
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.validate(written)
    assert set(written) == set(json_schema()["properties"])
    for damage in ({"RunId": ""}, {"Metrics": {"a": "b"}}, {"Success": 1}):
        assert not validator.is_valid(written | damage)
    back = read_record(tmp_path / "run.json")
    assert back.metric("SET.Dense.NDCG@10") == 0.656


def test_systems_are_chosen_by_name(record):
    assert choose_system(record, "set.Dense")[1]["rbp(p=0.9)"] == 0.1
    assert choose_system(record, "bm25")[0] == "set.bm25"
    for name in (None, "x"):
        with pytest.raises(InputError, match="--system"):
            choose_system(record, name)


def test_trec_with_a_header_is_read_by_us_and_its_body_by_trec_eval(record, tmp_path):
    run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d3": 0.5}}
    path = write_trec(tmp_path / "run.trec", run, record, "set.dense")
    assert read_run(path) == run
    lines = path.read_text().splitlines(keepends=True)
    assert lines[0] == "# ir_metadata.start\n"
    end = lines.index("# ir_metadata.end\n")
    header = yaml.safe_load("".join(line.removeprefix("#") for line in lines[1:end]))
    primad = {"platform", "research goal", "implementation", "method", "actor", "data"}
    assert primad | {"tag"} <= set(header)
    assert header["data"]["test collection"]["name"] == "set"
    with path.open() as stream:
        body = (line for line in stream if not line.startswith("#"))
        assert pytrec_eval.parse_run(body) == run


# What MTEB's TaskResult accepts: these fields, and per split a list of entries that
# each hold main_score, hf_subset and languages.
TASK_RESULT = {
    "type": "object",
    "required": ["dataset_revision", "task_name", "mteb_version", "scores"],
    "properties": {
        "dataset_revision": {"type": "string"},
        "task_name": {"type": "string"},
        "mteb_version": {"type": ["string", "null"]},
        "evaluation_time": {"type": ["number", "null"]},
        "kg_co2_emissions": {"type": ["number", "null"]},
        "scores": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["main_score", "hf_subset", "languages"],
                    "properties": {
                        "main_score": {"type": "number"},
                        "hf_subset": {"type": "string"},
                        "languages": {"type": "array", "items": {"type": "string"}},
                    },
                },
            },
        },
    },
}


def test_mteb_holds_what_mteb_defines(record):
    result = mteb_result(record, "dense", task="LegalBench", revision="b235")
    jsonschema.validate(result, TASK_RESULT)
    (entry,) = result["scores"]["test"]
    assert entry["main_score"] == entry["ndcg_at_10"] == 0.656
    assert entry["mrr_at_10"] == 0.58825 and entry["precision_at_1"] == 0.45455
    assert not [name for name in entry if name.startswith("map")]
    assert mteb_result(record, "dense")["dataset_revision"] == "sha256:abc"


def test_mteb_needs_its_main_score(record_of):
    with pytest.raises(InputError, match="main score"):
        mteb_result(record_of("r", {"s.a.rr": 0.5}))


def published(path, **change):
    entry = {
        "main_score": 0.656,
        "hf_subset": "default",
        "languages": ["eng-Latn"],
        "ndcg_at_10": 0.656,
        "mrr_at_10": 0.5882515632515632,
        "nauc_recall_at_100_std": math.nan,
    }
    value = {
        "dataset_revision": "b23590301ec94e8087e2850b21d43d4956b1cca9",
        "task_name": "LegalBenchConsumerContractsQA",
        "mteb_version": "1.12.75",
        "scores": {"test": [entry]},
    }
    path.write_text(json.dumps(value | change))
    return path


def test_published_figures_stand_beside_ours_and_do_not_compete(registry, tmp_path):
    from casebook.runs.recording import record_run

    path = published(tmp_path / "result.json")
    record = read_mteb(path, "all-MiniLM-L6-v2", "ccqa")
    record_run(registry.layout, record)
    ours = {"ccqa.dense.ndcg@10": 0.656003}
    registry.add("ours", metrics=ours, labels={"DatasetHash": "1"})
    rows = ranking(registry.read(), "CCQA.*.nDCG@10")
    shown = [(row["metric"], row["score"], row["rank"]) for row in rows]
    theirs = ("ccqa.all-minilm-l6-v2.ndcg@10", 0.656, 1)
    assert shown == [("ccqa.dense.ndcg@10", 0.656003, 1), theirs]
    assert len({row["comparability"] for row in rows}) == 2


def test_what_we_export_comes_back(record, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(mteb_result(record, "dense", task="set")))
    back = read_mteb(path, "dense")
    assert back.metrics["set.dense.ndcg@10"] == 0.656
    assert back.metrics["set.dense.rr@10"] == 0.58825


@pytest.mark.parametrize("change", [{"scores": {}}, {"scores": {"test": []}}, {"scores": {"test": [{}]}}])
def test_other_files_are_not_results(tmp_path, change):
    path = published(tmp_path / "result.json", **change)
    with pytest.raises(InputError, match=r"result\.json: "):
        read_mteb(path, "m")


# The required part of schema 0.3.0 for what is written here.
TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
NUMBER = {"type": "number"}


def table(required, **properties):
    return {"type": "object", "required": required.split(), "properties": properties}


EVERY_EVAL = table(
    "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library evaluation_results",
    schema_version={"const": "0.3.0"},
    evaluation_id=TEXT,
    evaluation_timestamp=TEXT,
    retrieved_timestamp={"type": "string", "pattern": r"^\d+$"},
    source_metadata=table(
        "source_type source_organization_name evaluator_relationship",
        source_name=TEXT,
        source_type={"enum": ["documentation", "evaluation_run"]},
        evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
        additional_details=TEXTS,
    ),
    eval_library=table("name version", name=TEXT, version=TEXT),
    model_info=table(
        "name id additional_details",
        name=TEXT,
        id=TEXT,
        additional_details=TEXTS | {"required": ["deployment_type", "model_availability"]},
    ),
    evaluation_results={
        "type": "array",
        "minItems": 1,
        "items": table(
            "evaluation_name source_data metric_config score_details",
            source_data=table("dataset_name source_type", source_type={"const": "other"}),
            metric_config=table(
                "lower_is_better score_type min_score max_score",
                lower_is_better={"type": "boolean"},
                score_type={"const": "continuous"},
                min_score={"type": ["number", "null"]},
                max_score={"type": ["number", "null"]},
            ),
            score_details=table(
                "score",
                score=NUMBER,
                uncertainty=table(
                    "",
                    num_samples={"type": "integer"},
                    confidence_interval=table("lower upper", lower=NUMBER, upper=NUMBER),
                ),
            ),
        ),
    },
) | {"additionalProperties": False}


def test_every_eval_ever_with_intervals_of_the_report(record, results):
    folder = results / "mine" / "runs" / "c"
    number = {"value": 0.656, "ci": [0.61, 0.69], "n": 396}
    numbers = results / "mine" / "numbers" / "c.json"
    numbers.parent.mkdir(parents=True)
    numbers.write_text(json.dumps({"ablation": {"set": {"dense": {"nDCG@10": number}}}}))
    found = every_eval(record, "dense", folder)
    jsonschema.validate(found, EVERY_EVAL)
    by_name = {r["metric_config"]["metric_id"]: r for r in found["evaluation_results"]}
    assert "undefined" not in by_name
    interval = by_name["ndcg@10"]["score_details"]["uncertainty"]
    assert interval["num_samples"] == 396
    assert interval["confidence_interval"]["upper"] == 0.69
    assert "uncertainty" not in by_name["ap"]["score_details"]
    assert every_eval(record, "dense")["model_info"]["name"] == "dense"
