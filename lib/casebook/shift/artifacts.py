"""What `casebook shift train` and `casebook shift run` do and store, under the documented names."""

import contextlib
import datetime
import itertools
import uuid
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.measures.ranking import ORIGINAL
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.readers import read_json
from casebook.runs.record import (
    RunRecord,
    digest,
    library_digest,
    now,
    per_query_name,
    utc,
    write_per_query,
)
from casebook.runs.registry import record_run
from casebook.shift.embedded import (
    DOCUMENTED_MEASURES,
    SHIFT_MEASURES,
    SPLIT_SHARES,
    divide,
    embed,
    group_labels,
    per_query,
)
from casebook.shift.learn import CANDIDATE_SCALES, DOCUMENTED_MODE, TRAINING_MODES, learn_posneg
from casebook.shift.segments import means_and_gains
from casebook.stats.samples import check_choice

RESULT = "shift-training-result.json"
READABLE = "shift-training-result.md"
STATS = "training_stats.json"
SPLIT = "split.json"
SELECTION_WEIGHTS = {"map@1": 0.7, "ndcg@3": 0.3}  # of the documented selection score
_TOP_DIMENSIONS = 8
_TIE_DECIMALS = 12  # of selection scores
# A stored training: its folder, and its fields under the documented names.
Training = namedtuple("Training", "folder values")
# What a shift is learned on, and with which settings.
Setup = namedtuple(
    "Setup",
    "dataset embedder mode hard_negatives by seed",
    defaults=("minilm", DOCUMENTED_MODE, 1, "group", 0),
)


def prepare(setup):
    """Load, embed and divide a dataset: all of it, its parts, and labels that fingerprint them."""
    check_choice("mode", setup.mode, TRAINING_MODES)  # before any vector is computed
    encoder = load_encoder(setup.embedder)
    data = embed(load_dataset(setup.dataset), encoder)
    division = divide(data, by=setup.by, seed=setup.seed)
    parts = {part: data.take(rows) for part, rows in division.items()}
    labels = {
        "Dataset": data.dataset.name,
        "DatasetHash": data.dataset.fingerprint,
        "SplitHash": digest({part: queries.query_ids for part, queries in parts.items()}),
        "SplitBy": setup.by,
        "SplitSizes": {part: len(rows) for part, rows in division.items()},
        "SplitShares": SPLIT_SHARES,
        "Encoder": encoder.name,
        "EncoderHash": encoder.model_hash,
        "Device": model_settings().fingerprint["device"],
        "Precision": model_settings().fingerprint["precision"],
        "Parameters": {"mode": setup.mode, "hard_negatives": setup.hard_negatives},
        "Seed": setup.seed,
        "CodeHash": library_digest(),
        "Queries": data.account(),
    }
    return data, parts, labels


def load_dataset(name):
    return load(Path(name) if (Path(name) / "policies").is_dir() else name)


def names_of(dataset):
    if dataset.key == "insurance":
        return "mini-insurance-posneg", "MiniInsurance-PosNeg"
    return f"{dataset.key}-posneg", f"{dataset.key}-PosNeg"


# --- training


def train_shift(setup, root):
    """Learn on the training queries, choose the scale on the development queries, store both."""
    data, parts, labels = prepare(setup)
    shift = learn_posneg(parts["train"], setup.mode, hard_negatives=setup.hard_negatives)
    dev = parts["dev"]
    means = {}
    scores = {}
    for scale in CANDIDATE_SCALES:
        means[scale] = documented_measure_means(dev, dev.queries + scale * shift.move(dev.queries))
        scores[scale] = round(selection_score(means[0.0], means[scale]), _TIE_DECIMALS)
    scale = max(scores, key=scores.get)  # the first of equals
    workflow, _ = names_of(data.dataset)
    values = training_values(shift, workflow, means[0.0], means[scale], labels, scale)
    folder = write_training(root, values, shift.stats)
    write_json(folder / SPLIT, {part: queries.query_ids for part, queries in parts.items()})
    return folder, values, shift.stats


def documented_measure_means(data, vectors):
    return data.score(vectors, DOCUMENTED_MEASURES).mean().set_axis(SELECTION_WEIGHTS).to_dict()


def selection_score(before, after):
    """Weighted gain of both documented measures, by which scale and best training are chosen."""
    return sum(weight * (after[key] - before[key]) for key, weight in SELECTION_WEIGHTS.items())


def training_values(shift, workflow, before, after, labels, scale):
    """Fields of a learned shift; ``before`` and ``after`` it: map@1 and ndcg@3 on dev."""
    return {
        "WorkflowName": workflow,
        "CreatedUtc": utc(),
        "ComparisonRuns": shift.stats.Cases,
        "ImprovementFirst": 0.0,
        "ImprovementFirstPlusDelta": 0.0,
        "DeltaImprovement": 0.0,
        "DeltaVector": shift.vector.tolist(),
        "TrainingMode": shift.mode,
        "CancelOutEpsilon": shift.cancel_epsilon,
        "IsCancelled": shift.cancel_reason is not None,
        "CancelReason": shift.cancel_reason,
        "DeltaNorm": shift.norm,
        "Scale": scale,
        "Labels": labels,
        "SelectionSource": "dev",
        "SelectionMapAt1Baseline": before["map@1"],
        "SelectionMapAt1Shifted": after["map@1"],
        "SelectionNdcg3Baseline": before["ndcg@3"],
        "SelectionNdcg3Shifted": after["ndcg@3"],
        "SelectionScore": selection_score(before, after),
    }


def write_training(root, values, stats):
    created = datetime.datetime.fromisoformat(values["CreatedUtc"])
    folder = stamped_folder(root, f"{values['WorkflowName']}-training", created)
    values["BaseDirectory"] = folder.name
    write_json(folder / STATS, vars(stats))
    write_json(folder / RESULT, values)
    largest = pd.Series(values["DeltaVector"]).sort_values(key=np.abs, kind="stable")[::-1]
    components = largest.head(_TOP_DIMENSIONS).map("{:+z.6f}".format)
    fields = [pair for pair in values.items() if not isinstance(pair[1], list | dict)]
    tables = {("field", "value"): fields, ("dimension", "value"): components.items()}
    _write_readable(folder / READABLE, values["WorkflowName"], tables)
    return folder


def stamped_folder(root, stem, moment):
    """A new folder named after a moment, or the next free one of its second."""
    for number in itertools.count():
        folder = Path(root) / f"{stem}_{moment:%Y%m%d_%H%M%S}_{number:03d}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder


def _write_readable(path, title, tables):
    lines = [f"# {title}"]
    for head, body in tables.items():
        rows = [head, ["---"] * len(head), *body]
        lines += ["", *(f"| {' | '.join(map(str, row))} |" for row in rows)]
    write_text(path, "\n".join(lines) + "\n")


def read_training(folder):
    path = Path(folder) / RESULT
    try:
        values = read_json(path)
        values["DeltaVector"] = np.array(values["DeltaVector"], dtype=float)
        values["Scale"] = float(values["Scale"])
        values["SelectionScore"] = round(values["SelectionScore"], _TIE_DECIMALS)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a training result: {error}") from None
    return Training(Path(folder), values)


def best_training(root, workflow, newest=False):
    """The training with the highest selection score, of equals the newest; or the newest of all.

    The best is chosen among those that were not cancelled; what cannot be read is passed over.
    """
    found = []
    for folder in sorted(Path(root).glob(f"{workflow}-training_*"), reverse=True):
        with contextlib.suppress(InputError):
            found.append(read_training(folder))
    if not found:
        raise InputError(f"{root}: no training of {workflow}: use 'casebook shift train' first")
    if newest:
        return found[0]
    applicable = [training for training in found if not training.values["IsCancelled"]]
    if not applicable:
        raise InputError(f"{root}: every training of {workflow} was cancelled: use --latest")
    return max(applicable, key=lambda training: training.values["SelectionScore"])


def find_training(dataset, root, *, newest=False, folder=None):
    if folder is None:
        training = best_training(root, names_of(load_dataset(dataset))[0], newest)
    else:
        below_root = Path(root) / folder
        training = read_training(below_root if below_root.exists() else folder)
    labels = training.values["Labels"]
    options = {"by": labels["SplitBy"], "seed": labels["Seed"], **labels["Parameters"]}
    return training, Setup(str(dataset), labels["Encoder"], **options)


# --- application


def check_split(labels, training):
    for key in ("DatasetHash", "SplitHash", "EncoderHash"):
        if training.values["Labels"].get(key) != labels[key]:
            raise InputError(
                f"{training.folder}: was trained with another {key}; train again, "
                "so that no test query was learned from"
            )


def applied_scale(values, scale=None):
    """Scale at which a stored shift is applied, and why it moves nothing; None if it does."""
    scale = float(values["Scale"] if scale is None else scale)
    if not np.isfinite(scale):
        raise InputError(f"the scale must be a finite number, not {scale}")
    if values["IsCancelled"]:
        return 0.0, f"no shift is applied: the training was cancelled: {values['CancelReason']}"
    if not scale:
        return 0.0, (
            "no shift is applied: the scale is 0, which training chooses if no scale raises the "
            "selection score of the development questions"
        )
    return scale, None


def run_shift(setup, training, layout, *, scale=None):
    """Evaluate a stored shift on the test queries, write its files and record two runs."""
    data, parts, labels = prepare(setup)
    started = now()
    check_split(labels, training)
    train, test = parts["train"], parts["test"]
    scale, note = applied_scale(training.values, scale)
    scales = {"baseline": 0.0, "posneg": scale}
    moves = {system: by * training.values["DeltaVector"] for system, by in scales.items()}
    train_means = {}
    for system, move in moves.items():
        train_means[system] = documented_measure_means(train, train.queries + move)
    clusters = group_labels(test)
    metrics = _metrics(test, moves, clusters, note)
    values = _documented(data, metrics, train_means)
    values |= {"Scale": scale, "TrainingId": training.folder.name, "CreatedUtc": utc(started)}
    workflow, name = names_of(data.dataset)
    folder = stamped_folder(layout.results, f"{workflow}-run", started)
    write_json(folder / "metrics-posneg.json", values)
    table = []
    for measure, numbers in metrics.items():
        table.append((measure, *map(text_of, numbers.values()), numbers["delta"]["n"]))
    head = ("measure", "baseline", "shifted", "delta", "n")
    _write_readable(folder / "metrics-posneg.md", workflow, {head: table})
    records = []
    for system, record_name in {"baseline": f"{name}-Baseline", "posneg": name}.items():
        rows = per_query(test, test.queries + moves[system])
        rows["Group"] = _group_names(test, clusters)
        write_per_query(folder / per_query_name(system), rows)
        means = {measure: numbers[system]["value"] for measure, numbers in metrics.items()}
        means |= {f"train.{key}": mean for key, mean in train_means[system].items()}
        record = RunRecord.model_construct(
            run_id=uuid.uuid4().hex,
            workflow=record_name,
            started=started,
            completed=now(),
            success=True,
            labels=labels | {"Training": training.folder.name, "Scale": scales[system]},
            metrics=means,
        )
        records.append(str(record_run(layout, record, rows)))
    about = {"folder": str(folder), "runs": records, "note": note}
    return about | {"values": values, "measures": metrics}


def _group_names(data, clusters):
    """Name of each query's group in the data; those that share a question are one group."""
    if data.dataset.groups is None:
        return clusters
    own = pd.Series(data.query_ids).map(data.dataset.groups)
    joined = own.groupby(clusters).transform(lambda names: "+".join(sorted(set(names))))
    return joined.tolist()


def _metrics(test, moves, clusters, note):
    scores = {system: test.score(test.queries + move) for system, move in moves.items()}
    metrics = {}
    for measure in SHIFT_MEASURES:
        systems = pd.DataFrame({system: frame[measure] for system, frame in scores.items()})
        means, gains = means_and_gains(systems, clusters)
        delta = gains["posneg"]
        if note:
            delta |= {"value": None, "reason": "no shift was applied"}
        metrics[measure.removeprefix(ORIGINAL)] = means | {"delta": delta}
    return metrics


def _documented(data, metrics, train_means):
    counts = data.account()
    values = {
        "WorkflowName": names_of(data.dataset)[0],
        "PolicyCount": len(data.documents),
        "EffectiveQueryCount": metrics["map@1"]["baseline"]["n"],
        "TotalQueryCount": counts["n_total"],
        "DroppedQueries": counts["reasons"],
    }
    for key, stem in {"map@1": "Map", "ndcg@3": "Ndcg3"}.items():
        numbers = metrics[key]
        values[f"Delta{stem}"] = numbers["delta"]["value"]
        values[f"Delta{stem}Ci"] = numbers["delta"]["ci"]
        for system, name in {"baseline": "Baseline", "posneg": "PosNeg"}.items():
            values[f"{stem}{name}"] = numbers[system]["value"]
            values[f"Train{stem}{name}"] = train_means[system][key]
    return values


def text_of(number):
    low, high = number["ci"]
    why = (number["reason"] or "no interval").replace("_", " ")
    value = "not measured" if number["value"] is None else f"{number['value']:.3f}"
    return value + (f" ({why})" if low is None else f" [{low:.3f}, {high:.3f}]")
