"""What `casebook shift train` and `casebook shift run` do and store, under the documented names."""

import contextlib
import datetime
import itertools
import uuid
from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from casebook.data import load
from casebook.errors import InputError
from casebook.files import write_json, write_text
from casebook.measures.ranking import ORIGINAL
from casebook.models.device import model_settings
from casebook.models.encoders import load_encoder
from casebook.readers import parse_json
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
_LEGACY_RESULT = "result.json"
RUN_SYSTEMS = ("baseline", "posneg")
SELECTION_WEIGHTS = {"map@1": 0.7, "ndcg@3": 0.3}  # of the documented selection score
TIE = 1e-12
LARGEST_SCALE = 1e6
_TOP_DIMENSIONS = 8
_COMMON_LABELS = ("DatasetHash", "SplitHash", "EncoderHash")  # of a training and its run
_FIELDS = (
    "WorkflowName",
    "CreatedUtc",
    "BaseDirectory",
    "ComparisonRuns",
    "Scale",
    "Labels",
    "ImprovementFirst",
    "ImprovementFirstPlusDelta",
    "DeltaImprovement",
    "DeltaNorm",
    "DeltaVector",
    "TrainingMode",
    "CancelOutEpsilon",
    "IsCancelled",
    "CancelReason",
    "SelectionScore",
    "SelectionSource",
)


@dataclass(frozen=True)
class Setup:
    """What a shift is learned on, and with which settings."""

    dataset: str
    embedder: str = "minilm"
    mode: str = DOCUMENTED_MODE
    hard_negatives: int = 1
    by: str = "group"
    seed: int = 0

    def __post_init__(self):
        check_choice("mode", self.mode, TRAINING_MODES)  # before any vector is computed


def prepare(setup):
    """Load, embed and divide a dataset: all of it, its parts, and labels that fingerprint them."""
    encoder = load_encoder(setup.embedder)
    data = embed(load_dataset(setup.dataset), encoder)
    division = divide(data, by=setup.by, seed=setup.seed)
    query_ids = {part: [data.query_ids[row] for row in rows] for part, rows in division.items()}
    settings = model_settings().fingerprint
    labels = {
        "Dataset": data.dataset.name,
        "DatasetHash": data.dataset.fingerprint,
        "SplitHash": digest(query_ids),
        "SplitBy": setup.by,
        "SplitSizes": {part: len(rows) for part, rows in division.items()},
        "SplitShares": SPLIT_SHARES,
        "Encoder": encoder.name,
        "EncoderHash": encoder.model_hash,
        "Device": settings["device"],
        "Precision": settings["precision"],
        "Parameters": {"mode": setup.mode, "hard_negatives": setup.hard_negatives},
        "Seed": setup.seed,
        "CodeHash": library_digest(),
        "Queries": data.account(),
    }
    return data, {part: data.take(rows) for part, rows in division.items()}, labels


def load_dataset(name):
    """Load a dataset by name, or a folder in BEIR or Mini-Insurance layout."""
    return load(Path(name) if (Path(name) / "policies").is_dir() else name)


def names_of(dataset):
    """Documented names of a dataset's training and run workflows."""
    if dataset.key == "insurance":
        return "mini-insurance-posneg", "MiniInsurance-PosNeg"
    return f"{dataset.key}-posneg", f"{dataset.key}-PosNeg"


def train_shift(setup, root):
    """Learn on the training queries, choose the scale on the development queries, store both."""
    data, parts, labels = prepare(setup)
    shift = learn_posneg(parts["train"], mode=setup.mode, hard_negatives=setup.hard_negatives)
    dev = parts["dev"]
    means = {
        scale: documented_measure_means(dev, dev.queries + scale * shift.move(dev.queries))
        for scale in CANDIDATE_SCALES
    }
    scores = {scale: selection_score(means[0.0], shifted) for scale, shifted in means.items()}
    best_score = max(scores.values())
    scale = min(scale for scale, score in scores.items() if score >= best_score - TIE)
    training_workflow, _ = names_of(data.dataset)
    result = training_result(shift, training_workflow, means[0.0], means[scale], labels, scale)
    folder = write_training(root, result, shift.stats)
    write_json(folder / SPLIT, {part: data.query_ids for part, data in parts.items()})
    return folder, result, shift.stats


def documented_measure_means(data, vectors):
    """Means of map@1 and ndcg@3, by their documented names."""
    means = data.score(vectors, DOCUMENTED_MEASURES).mean()
    return {key.removeprefix(ORIGINAL): float(means[key]) for key in DOCUMENTED_MEASURES}


def selection_score(before, after):
    """Weighted gain of both documented measures, by which scale and best training are chosen."""
    return sum(weight * (after[key] - before[key]) for key, weight in SELECTION_WEIGHTS.items())


@dataclass(frozen=True)
class TrainingResult:
    """A learned shift as it is stored, under the documented names."""

    values: dict = field(repr=False)
    folder: Path | None = None

    @property
    def vector(self):
        """The shift [D]; empty if none was stored."""
        return np.array(self.values.get("DeltaVector") or [], dtype=np.float64)

    @property
    def created(self):
        """When it was made, in UTC."""
        moment = datetime.datetime.fromisoformat(self.values["CreatedUtc"])
        return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)

    @property
    def score(self):
        """What the best result is chosen by: selection score, else documented improvement."""
        if self.values.get("SelectionScore") is not None:
            return float(self.values["SelectionScore"])
        first_plus_delta = float(self.values.get("ImprovementFirstPlusDelta") or 0)
        if abs(first_plus_delta) >= TIE:
            return first_plus_delta
        return float(self.values.get("ImprovementFirst") or 0)


def training_result(shift, workflow, before, after, labels, scale):
    """Describe a learned shift; ``before`` and ``after`` it: map@1 and ndcg@3 on dev."""
    values = {
        "WorkflowName": workflow,
        "CreatedUtc": utc(),
        "BaseDirectory": "",
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
    return TrainingResult(values)


def write_training(root, result, stats):
    """Write the three files of a training."""
    folder = stamped_folder(root, f"{result.values['WorkflowName']}-training", result.created)
    values = result.values | {"BaseDirectory": folder.name}
    write_json(folder / STATS, vars(stats))
    _write_readable(folder / READABLE, values["WorkflowName"], _readable_training(result, values))
    write_json(folder / RESULT, values)
    return folder


def stamped_folder(root, stem, moment):
    """A new folder named after a moment in milliseconds, or the next free one."""
    milliseconds = moment.microsecond // 1000
    for number in itertools.count(milliseconds):
        folder = Path(root) / f"{stem}_{moment:%Y%m%d_%H%M%S}_{number:03d}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True)
            return folder


def _readable_training(result, values):
    """Lines of a training for readers: its fields, and the largest components of its vector."""
    fields = [(name, value) for name, value in values.items() if not isinstance(value, list | dict)]
    vector = result.vector
    largest = np.argsort(-np.abs(vector), kind="stable")[:_TOP_DIMENSIONS]
    components = [
        (dimension, f"{vector[dimension]:+z.6f}") for dimension in largest if vector[dimension]
    ]
    lines = _markdown_table(("field", "value"), fields)
    return [*lines, "", *_markdown_table(("dimension", "value"), components)]


def _markdown_table(head, body):
    rows = [head, ["---"] * len(head), *body]
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


def _write_readable(path, title, lines):
    write_text(path, "\n".join([f"# {title}", "", *lines]) + "\n")


def read_training(folder):
    """Read a training result; names in any letter case, with or without a byte order mark."""
    folder = Path(folder)
    candidates = [folder, folder / RESULT, folder / _LEGACY_RESULT]
    files = [path for path in candidates if path.is_file()]
    if not files:
        raise InputError(f"{folder}: no {RESULT}; run 'casebook shift train' first")
    path = files[0]
    spelling = {name.lower(): name for name in _FIELDS}
    try:
        raw = parse_json(path.read_text(encoding="utf-8-sig"))
        values = {spelling.get(name.lower(), name): value for name, value in raw.items()}
        result = TrainingResult(values, path.parent)
        _ = result.created, result.score, result.vector  # damaged values are found here
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a training result: {error}") from None
    return result


def trainings(root, workflow):
    """Readable trainings of a workflow, newest first."""
    results = []
    for folder in sorted(Path(root).glob(f"{workflow}-training_*"), reverse=True):
        with contextlib.suppress(InputError):
            results.append(read_training(folder))
    return results


def best_training(root, workflow, newest=False):
    """Choose the training with the highest selection score, of equals the newest; or the newest.

    The best is chosen among those that were not cancelled.
    """
    results = trainings(root, workflow)
    if not results:
        raise InputError(f"{root}: no training of {workflow}: use 'casebook shift train' first")
    if newest:
        return results[0]
    applicable = [result for result in results if not result.values.get("IsCancelled")]
    if not applicable:
        raise InputError(
            f"{root}: every training of {workflow} was cancelled: "
            "--latest takes the newest, unapplied"
        )
    return max(applicable, key=lambda result: (round(result.score, 12), result.created))


def find_training(dataset, root, *, newest=False, folder=None):
    """Find the training to apply, and the setup that it was made with."""
    if folder is None:
        training_workflow, _ = names_of(load_dataset(dataset))
        result = best_training(root, training_workflow, newest)
    else:
        below_root = Path(root) / folder
        if not Path(folder).exists() and below_root.exists():
            folder = below_root
        result = read_training(folder)
    try:
        labels = result.values["Labels"]
        parameters = labels["Parameters"]
        setup = Setup(
            dataset=str(dataset),
            embedder=labels["Encoder"],
            mode=parameters["mode"],
            hard_negatives=parameters["hard_negatives"],
            by=labels["SplitBy"],
            seed=labels["Seed"],
        )
    except (KeyError, TypeError):
        raise InputError(
            f"{result.folder}: does not say which embedder and split it was made with; train again"
        ) from None
    return result, setup


def check_split(labels, result):
    """Refuse a training whose data or division were other ones."""
    trained = result.values.get("Labels") or {}
    for key in _COMMON_LABELS:
        if trained.get(key) != labels[key]:
            raise InputError(
                f"{result.folder}: was trained with another {key}; train again, "
                "so that no test query was learned from"
            )


def shift_queries(data, result, scale=None):
    """Apply a stored shift: queries and the scale used, 0 if the training was cancelled."""
    scale = float(result.values.get("Scale", 1.0) if scale is None else scale)
    if not abs(scale) <= LARGEST_SCALE:
        raise InputError(
            f"the scale must lie between -{LARGEST_SCALE:g} and {LARGEST_SCALE:g}, not {scale}"
        )
    if result.values.get("IsCancelled") or not result.vector.size:
        return data.queries.copy(), 0.0
    if result.vector.size != data.queries.shape[1]:
        raise InputError(
            f"the shift has {result.vector.size} dimensions, the queries "
            f"{data.queries.shape[1]}: train with this embedder"
        )
    return data.queries + scale * result.vector, scale


def unapplied(result, scale):
    """Say why no shift was applied, if none was."""
    if scale:
        return None
    if result.values.get("IsCancelled"):
        why = f"the training was cancelled: {result.values.get('CancelReason')}"
    else:
        why = (
            "the scale is 0, which training chooses if no scale raises the selection score "
            "of the development questions"
        )
    return (
        f"no shift was applied, so the two runs have the same input and nothing was measured: {why}"
    )


RunReport = namedtuple("RunReport", "folder records metrics values note")


def run_shift(setup, result, layout, *, scale=None, arguments=None):
    """Evaluate a stored shift on the test queries, write its files and record two runs."""
    data, parts, labels = prepare(setup)
    started = now()
    check_split(labels, result)
    train = parts["train"]
    test = parts["test"]
    shifted_train, _ = shift_queries(train, result, scale)
    shifted, applied_scale = shift_queries(test, result, scale)
    note = unapplied(result, applied_scale)
    train_means = {
        "baseline": documented_measure_means(train, train.queries),
        "posneg": documented_measure_means(train, shifted_train),
    }
    vectors = {"baseline": test.queries, "posneg": shifted}
    groups = group_labels(test)
    names = named_groups(test, groups)
    frames = {
        system: per_query(test, vectors[system]).assign(Group=names) for system in RUN_SYSTEMS
    }
    metrics = _means_and_delta(test, vectors, groups, note)
    values = _documented(data, metrics, train_means, started)
    values["Scale"] = applied_scale
    values["TrainingId"] = result.folder.name
    folder = _write_run(layout, values, metrics, frames, started)
    _, workflow = names_of(data.dataset)
    workflows = {"baseline": f"{workflow}-Baseline", "posneg": workflow}
    scales = {"baseline": 0.0, "posneg": applied_scale}
    records = []
    for system in RUN_SYSTEMS:
        means = {measure: numbers[system]["value"] for measure, numbers in metrics.items()}
        means |= {f"train.{key}": mean for key, mean in train_means[system].items()}
        record = RunRecord.model_construct(
            run_id=uuid.uuid4().hex,
            workflow=workflows[system],
            started=started,
            completed=now(),
            success=True,
            labels=labels | {"Training": result.folder.name, "Scale": scales[system]},
            metrics=means,
        )
        records.append(record_run(layout, record, frames[system], arguments))
    return RunReport(folder, records, metrics, values, note)


def named_groups(data, labels):
    """Name of each query's group in the data; those that share a question are one group."""
    if data.dataset.groups is None:
        return labels
    own = pd.Series([data.dataset.groups[query] for query in data.query_ids])
    joined = own.groupby(labels).transform(lambda names: "+".join(sorted(set(names))))
    return joined.tolist()


def _write_run(layout, values, metrics, frames, started):
    """Write scores of both systems and their means, as documented; gives the folder."""
    workflow = values["WorkflowName"]
    folder = stamped_folder(layout.results, f"{workflow}-run", started)
    for system, frame in frames.items():
        write_per_query(folder / per_query_name(system), frame)
    write_json(folder / "metrics-posneg.json", values)
    rows = []
    for measure, numbers in metrics.items():
        texts = [text_of(number) for number in numbers.values()]
        rows.append((measure, *texts, numbers["delta"]["n"]))
    table = _markdown_table(("measure", "baseline", "shifted", "delta", "n"), rows)
    _write_readable(folder / "metrics-posneg.md", workflow, table)
    return folder


def _means_and_delta(test, vectors, groups, note):
    """Means of both systems and their difference, by measure."""
    scores = [test.score(vectors[system]) for system in RUN_SYSTEMS]
    metrics = {}
    for measure in SHIFT_MEASURES:
        columns = np.stack([frame[measure] for frame in scores], axis=1)
        [baseline, shifted], [delta] = means_and_gains(columns, groups)
        if note:
            delta |= {"value": None, "reason": "no shift was applied"}
        metrics[measure.removeprefix(ORIGINAL)] = {
            "baseline": baseline,
            "posneg": shifted,
            "delta": delta,
        }
    return metrics


def _documented(data, metrics, train_means, started):
    """Results under their documented names."""
    counts = data.account()
    values = {
        "WorkflowName": names_of(data.dataset)[0],
        "CreatedUtc": utc(started),
        "PolicyCount": len(data.documents),
        "EffectiveQueryCount": metrics["map@1"]["baseline"]["n"],
        "TotalQueryCount": counts["n_total"],
        "DroppedQueries": counts["reasons"],
    }
    for key, stem in (("map@1", "Map"), ("ndcg@3", "Ndcg3")):
        numbers = metrics[key]
        values[f"Delta{stem}"] = numbers["delta"]["value"]
        values[f"Delta{stem}Ci"] = numbers["delta"]["ci"]
        for system, name in zip(RUN_SYSTEMS, ("Baseline", "PosNeg"), strict=True):
            values[f"{stem}{name}"] = numbers[system]["value"]
            values[f"Train{stem}{name}"] = train_means[system][key]
    return values


def text_of(number):
    """Write a number with its interval, or why it has none."""
    low, high = number["ci"]
    why = (number.get("reason") or "no interval").replace("_", " ")
    value = "not measured" if number["value"] is None else f"{number['value']:.3f}"
    return value + (f" ({why})" if low is None else f" [{low:.3f}, {high:.3f}]")
