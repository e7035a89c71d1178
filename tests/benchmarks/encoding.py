"""Ways of running the default encoder on a CPU: speed, installed size, scores, nDCG@10.

Exported models are those of torch's own exporter: the packages through which
sentence-transformers exports, optimum-onnx 0.1.0 and optimum-intel 2.2.0, do not import with the
transformers of the lock. What is measured needs packages that the lock does not have, in an
environment beside it: ``pip install --no-deps onnx onnxruntime openvino protobuf flatbuffers
ml_dtypes``. Ways whose package is absent are left out, and said so.

``python tests/benchmarks/encoding.py`` writes ``docs/encoding_speed.csv``,
``encoding_scores.csv`` and ``encoding_processors.csv``. Ways take turns on the same texts, and
a ratio is the median over the turns, so that a machine that others use too slows all alike.
``CASEBOOK_DATA_MIRROR`` names the folder of the data sets that cannot be downloaded.
"""

import functools
import importlib.metadata
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from measuring import processor
from transformers.modeling_outputs import BaseModelOutput

from casebook import HybridRetriever
from casebook.data.registry import load
from casebook.frames import contrasts
from casebook.models.cache import CachedEncoder, EmbeddingCache
from casebook.models.device import ModelSettings
from casebook.models.encoders import SentenceEncoder
from casebook.retrieval.ablation import run_ablation
from casebook.retrieval.index import CorpusIndex, chunk_documents

DOCS = Path(__file__).parents[2] / "docs"
SETS = ("consumer_contracts_qa", "insurance", "pdpabench", "privacy_qa", "smoke")
SPEED_SETS = SETS[:3]
CALIBRATION = "privacy_qa"
MARGIN = 0.002  # of nDCG@10
TURNS = 5
TURNS_WITH_FEWER_INSTRUCTIONS = 2  # a turn may take a minute
PASSAGES = 12  # of each set, in the measurement of speed
QUESTIONS = 24
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
BASELINE = "torch, float32"
HALF = "torch, bfloat16"
PACKAGES = {  # what a way adds to the installation
    "ONNX Runtime": ("onnxruntime", "onnx", "protobuf", "flatbuffers", "ml_dtypes"),
    "OpenVINO": ("openvino", "onnx", "protobuf", "ml_dtypes"),
    "OpenVINO, int8 calibrated": ("openvino", "onnx", "protobuf", "ml_dtypes", "nncf", "pymoo"),
}
RATIOS = {"faster, CPU": "CPU", "faster, wall": "wall"}
PROCESSORS = {  # the instructions that the libraries are allowed to use
    "AMX": {},
    "AVX-512 with bfloat16": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
    "AVX-512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "AVX2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}


class ExportedTransformer(torch.nn.Module):
    """A transformer that another library computes, in the place of torch's."""

    def __init__(self, transformer, compute):
        super().__init__()
        self.config = transformer.config
        self.compute = compute

    def forward(self, **tensors):
        arrays = {name: tensors[name].numpy() for name in INPUTS}
        return BaseModelOutput(last_hidden_state=torch.from_numpy(self.compute(arrays)))


class HiddenStates(torch.nn.Module):
    """The part of a transformer that is exported: three tensors in, one out."""

    def __init__(self, transformer):
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids, attention_mask, token_type_ids):
        inputs = dict(zip(INPUTS, (input_ids, attention_mask, token_type_ids), strict=True))
        return self.transformer(**inputs).last_hidden_state


class AutocastEncoder(SentenceEncoder):
    """Weights in single precision, products in bfloat16."""

    def _outputs(self, *arguments, **settings):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super()._outputs(*arguments, **settings)


@functools.cache
def exported(kind):
    folder = Path(tempfile.gettempdir()) / "casebook_exported"
    folder.mkdir(exist_ok=True)
    path = folder / f"{kind}.{'xml' if kind == 'int8_calibrated' else 'onnx'}"
    if path.is_file():
        return str(path)
    if kind == "float32":
        ids = torch.tensor([[101, 2043, 102], [101, 102, 0]])
        tensors = (ids, (ids > 0).long(), torch.zeros_like(ids))
        axes = {name: {0: "text", 1: "token"} for name in (*INPUTS, "hidden")}
        torch.onnx.export(
            HiddenStates(SentenceEncoder()._model()[0].model),
            tensors,
            str(path),
            input_names=list(INPUTS),
            output_names=["hidden"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        return str(path)
    if kind == "int8_calibrated":
        return calibrated(path)
    from onnxruntime.quantization import QuantType, quantize_dynamic

    per_channel = kind == "int8_per_channel"
    quantize_dynamic(
        exported("float32"), path, weight_type=QuantType.QInt8, per_channel=per_channel
    )
    return str(path)


def calibrated(path):
    """Write the model that OpenVINO's own tool quantises by what 150 sentences need."""
    import nncf
    import openvino

    layers = SentenceEncoder()._model()

    def arrays(texts):
        tensors = layers.preprocess(texts)
        return {name: tensors[name].numpy() for name in INPUTS}

    texts = load(CALIBRATION).documents["text"].tolist()[:300:2]
    batches = [texts[start : start + 4] for start in range(0, len(texts), 4)]
    model = nncf.quantize(
        openvino.Core().read_model(exported("float32")),
        nncf.Dataset(batches, arrays),
        model_type=nncf.ModelType.TRANSFORMER,
    )
    openvino.save_model(model, path)
    return str(path)


def with_transformer(compute):
    encoder = SentenceEncoder()
    layers = encoder._model()
    layers[0].model = ExportedTransformer(layers[0].model, compute)
    return encoder


def onnx_encoder(kind):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(
        exported(kind), options, providers=["CPUExecutionProvider"]
    )
    return with_transformer(lambda arrays: session.run(None, arrays)[0])


def openvino_encoder(kind, precision):
    import openvino

    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "NUM_STREAMS": 1,
    }
    model = openvino.Core().compile_model(exported(kind), "CPU", settings)
    request = model.create_infer_request()
    return with_transformer(lambda arrays: np.array(request.infer(arrays)[0]))


def int8_encoder():
    encoder = SentenceEncoder()
    layers = encoder._model()
    layers[0].model = torch.ao.quantization.quantize_dynamic(
        layers[0].model, {torch.nn.Linear}, dtype=torch.qint8
    )
    return encoder


WAYS = {
    BASELINE: SentenceEncoder,
    HALF: lambda: SentenceEncoder(settings=ModelSettings(precision="bfloat16")),
    "torch, autocast to bfloat16": AutocastEncoder,
    "torch, int8": int8_encoder,
    "ONNX Runtime, float32": lambda: onnx_encoder("float32"),
    "ONNX Runtime, int8": lambda: onnx_encoder("int8"),
    "ONNX Runtime, int8 per channel": lambda: onnx_encoder("int8_per_channel"),
    "OpenVINO, float32": lambda: openvino_encoder("float32", "f32"),
    "OpenVINO, bfloat16": lambda: openvino_encoder("float32", "bf16"),
    "OpenVINO, int8 calibrated": lambda: openvino_encoder("int8_calibrated", "f32"),
}
SCORED = (  # in single precision a library changes no cosine by more than 1e-6
    BASELINE,
    HALF,
    "torch, int8",
    "ONNX Runtime, int8 per channel",
    "OpenVINO, bfloat16",
    "OpenVINO, int8 calibrated",
)
BATCH_SIZES = (1, 8, 32, 64)


def batched_encoder(size):
    return SentenceEncoder(settings=ModelSettings(batch_size=size))


for _size in BATCH_SIZES:
    WAYS[f"torch, float32, {_size} texts at a time"] = functools.partial(batched_encoder, _size)


def packages_of(way):
    return PACKAGES.get(way) or PACKAGES.get(way.partition(",")[0], ())


def is_installed(way):
    modules = [name.replace("protobuf", "google") for name in packages_of(way)]
    return all(importlib.util.find_spec(name) for name in modules)


def installed_megabytes(way):
    size = 0
    for name in packages_of(way):
        for file in importlib.metadata.distribution(name).files:
            path = Path(file.locate())
            size += path.stat().st_size if path.is_file() else 0
    return size / 1e6


def sampled_texts():
    """Give passages and questions of some sets, as the pipeline encodes them."""
    encoder = SentenceEncoder()
    rng = np.random.default_rng(0)
    texts = {"passages": [], "questions": []}
    for name in SPEED_SETS:
        data = load(name)
        chunks = chunk_documents(data.documents["text"].tolist(), encoder=encoder).texts
        questions = data.queries["text"].tolist()
        for kind, pool, size in (
            ("passages", chunks, PASSAGES),
            ("questions", questions, QUESTIONS),
        ):
            texts[kind] += [pool[row] for row in rng.permutation(len(pool))[:size]]
    return texts


def speed(names, turns):
    """Measure ways in turns; give a row for each way and kind of text."""
    encoders = {name: WAYS[name]() for name in names}
    rows = []
    for kind, texts in sampled_texts().items():
        seconds = {name: [] for name in names}
        for encoder in encoders.values():
            encoder.encode_documents(texts[:8])
        for _ in range(turns):
            for name, encoder in encoders.items():
                start = time.perf_counter(), time.process_time()
                encoder.encode_documents(texts)
                end = time.perf_counter(), time.process_time()
                seconds[name].append(np.subtract(end, start))
        for name in names:
            faster = np.median(np.divide(seconds[BASELINE], seconds[name]), axis=0)
            per_second = len(texts) / statistics.median(cpu for _, cpu in seconds[name])
            rows.append(
                {
                    "way": name,
                    "texts": kind,
                    "per CPU second": per_second,
                    "faster, CPU": faster[1],
                    "faster, wall": faster[0],
                }
            )
    return rows


def speed_elsewhere(names, turns, **variables):
    """Measure ways in a process of their own, with one thread and other variables."""
    command = [sys.executable, __file__, "turns", str(turns), *names]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | variables
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return pd.DataFrame(json.loads(done.stdout.splitlines()[-1]))


def speed_table(names):
    rows = speed_elsewhere(names, TURNS)
    table = rows.pivot_table(index="way", columns="texts", values=list(RATIOS)).loc[list(names)]
    table.columns = [f"{texts}, {RATIOS[ratio]}" for ratio, texts in table.columns]
    table.insert(0, "adds, MB", [round(installed_megabytes(name)) for name in names])
    return table.reset_index()


def processor_table():
    """Give the speed of bfloat16 as a multiple of float32's, with fewer instructions."""
    rows = []
    for instructions, variables in PROCESSORS.items():
        ratios = speed_elsewhere(
            [BASELINE, HALF], TURNS_WITH_FEWER_INSTRUCTIONS, **variables
        ).query("way == @HALF")
        ratios = ratios.set_index("texts")["faster, CPU"]
        rows.append({"instructions": instructions, **ratios.to_dict()})
    return pd.DataFrame(rows)


def scores(names, key):
    """Give contrasts of nDCG@10 with the baseline on a set, and the largest change of a cosine."""
    data = load(key)
    by_system = []
    cosines = {}
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            encoder = CachedEncoder(WAYS[name](), EmbeddingCache(Path(folder)))
            index = CorpusIndex(data.documents, encoder)
            pipelines = {
                f"{mode}: {name}": HybridRetriever(index, mode=mode) for mode in ("full", "dense")
            }
            study = run_ablation(data, pipelines, ["nDCG@10"])
            by_system.append(study.scores["nDCG@10"])
            passages = index.passages(next(iter(pipelines.values())).config.cut)
            questions = encoder.encode_queries(data.queries["text"].tolist())
            cosines[name] = questions @ passages.vectors.T
    frame = pd.concat(by_system, axis=1)
    others = [name for name in names if name != BASELINE]
    pairs = [
        (f"{mode}: {name}", f"{mode}: {BASELINE}") for mode in ("dense", "full") for name in others
    ]
    rows = contrasts(frame, pairs, study.clusters, margin=MARGIN)
    level = frame.mean()
    columns = {"set": key, "level": rows["against"].map(level)}
    changes = {name: np.abs(cosines[name] - cosines[BASELINE]).max() for name in others}
    ways = rows["system"].str.partition(": ")[2]
    return rows.assign(**columns, change=ways.map(changes)).to_dict("records")


def scores_table(rows):
    """Give a row for each way and pipeline: changes of nDCG@10, with their intervals."""
    table = []
    for system, contrasts_of_sets in rows.groupby("system", sort=False):
        mode, _, way = system.partition(": ")
        row = {"pipeline": mode, "way": way}
        for contrast in contrasts_of_sets.itertuples():
            heading = f"{contrast.set} (n = {contrast.n})"
            row[heading] = f"{contrast.difference:+.3f}"
            if contrast.low is not None and np.isfinite(contrast.low):
                row[heading] += f" [{contrast.low:+.3f}, {contrast.high:+.3f}]"
        row["cosine, largest change"] = f"{contrasts_of_sets['change'].max():.2g}"
        table.append(row)
    for mode in ("full", "dense"):
        levels = rows[rows["system"].str.startswith(mode)].drop_duplicates("set")
        headings = [f"{row.set} (n = {row.n})" for row in levels.itertuples()]
        level = [f"{value:.3f}" for value in levels["level"]]
        row = {"pipeline": mode, "way": f"{BASELINE}: level"}
        table.insert(0, row | dict(zip(headings, level, strict=True)))
    return pd.DataFrame(table).sort_values("pipeline", kind="stable")


def main():
    if sys.argv[1:2] == ["turns"]:
        print(json.dumps(speed(sys.argv[3:], int(sys.argv[2]))))
        return
    names = [name for name in WAYS if is_installed(name)]
    for name in WAYS.keys() - set(names):
        print(f"left out, its packages are not installed: {name}", file=sys.stderr)
    write(speed_table(names), "encoding_speed.csv")
    write(processor_table(), "encoding_processors.csv")
    ways = [name for name in SCORED if name in names]
    rows = [row for key in SETS for row in scores(ways, key)]
    write(scores_table(pd.DataFrame(rows)), "encoding_scores.csv")


def write(table, name):
    print(f"{name}, on {processor()}")
    print(table.to_string(index=False, float_format="%.2f"))
    table.to_csv(DOCS / name, index=False, float_format="%.2f", lineterminator="\n")


if __name__ == "__main__":
    main()
