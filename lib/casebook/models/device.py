"""Where transformers run and how exactly: device, precision and batch size.

Encoders, cross-encoders and models of entailment run on the CPU in single precision unless the
caller or the environment names something else: that gives the numbers of the reference on every
machine. Device and precision change digits, so they are part of what identifies vectors and runs.
The card's number and the batch size, like the number of workers, are not.
"""

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass

from casebook.errors import InputError

DEVICE_VARIABLE = "CASEBOOK_DEVICE"
PRECISION_VARIABLE = "CASEBOOK_PRECISION"
BATCH_SIZE_VARIABLE = "CASEBOOK_BATCH_SIZE"
PRECISIONS = ("float32", "bfloat16", "float16")
MAX_BATCH_SIZE = 100_000
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")


@dataclass(frozen=True)
class ModelSettings:
    """How transformers run; without arguments that of the reference. See `model_settings`."""

    device: str = "cpu"
    precision: str = "float32"
    batch_size: int | None = None  # each kind of model has its own default

    @property
    def fingerprint(self):
        """What numbers depend on, as it stands in records: the kind of device, and precision."""
        return {"device": self.device.partition(":")[0], "precision": self.precision}

    def hash_of(self, model_hash):
        """Hash of what a model computes here; on the reference's device the hash of the model."""
        if self.fingerprint == REFERENCE:
            return model_hash
        words = " ".join([model_hash, *self.fingerprint.values()])
        return hashlib.sha256(words.encode()).hexdigest()

    def environment(self):
        """Variables with which another process runs models in the same way."""
        variables = {DEVICE_VARIABLE: self.device, PRECISION_VARIABLE: self.precision}
        if self.batch_size is not None:
            variables[BATCH_SIZE_VARIABLE] = str(self.batch_size)
        return variables

    def place(self, model):
        """Move a model, loaded onto the CPU, to the device in the precision, whatever its own."""
        import torch

        check_device(self.device)  # again: these may be another machine's settings
        return model.to(device=self.device, dtype=getattr(torch, self.precision))

    @contextlib.contextmanager
    def memory_for(self, batch_size):
        """Say in one line that a batch does not fit into the device's memory."""
        try:
            yield
        except RuntimeError as error:  # torch.OutOfMemoryError is one; of MPS it has no class
            if "out of memory" not in str(error):
                raise
            raise InputError(
                f"device {self.device}: its memory does not hold {batch_size} texts at a time: "
                f"give a smaller --batch-size, or {BATCH_SIZE_VARIABLE}"
            ) from error


REFERENCE = ModelSettings().fingerprint


def model_settings(device=None, precision=None, batch_size=None):
    """Check how models are to run; what is not given is that of the environment.

    `device` is ``cpu``, ``cuda``, ``cuda:N``, ``mps``, or ``auto``: the first of cuda, mps and cpu
    that this machine has. torch is imported only to look for another device than the CPU.
    """
    device = _text(device, DEVICE_VARIABLE, "cpu")
    precision = _text(precision, PRECISION_VARIABLE, "float32")
    if not _DEVICE.fullmatch(device):
        raise InputError(f"device {device!r}: expected auto, cpu, cuda, cuda:N or mps")
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision!r}: expected {', '.join(PRECISIONS)}")
    if device == "auto":
        device = available_devices()[0].partition(":")[0]
    check_device(device)
    _check_precision(precision, device)
    return ModelSettings(device, precision, _batch_size(batch_size))


def slow_precision(settings):
    """Say why a precision is slow on this processor; None where it is not, or nothing tells."""
    if settings.fingerprint != {"device": "cpu", "precision": "bfloat16"}:
        return None
    import torch

    processor = torch.cpu.get_capabilities()
    if processor["architecture"] != "x86_64" or processor.get("amx_bf16"):
        return None
    return "precision bfloat16: this processor has no AMX; without it float32 is faster"


def _text(value, variable, default):
    if value is None:
        value = os.environ.get(variable) or default
    return str(value).strip().lower()


def _batch_size(value):
    if value is None:
        value = os.environ.get(BATCH_SIZE_VARIABLE) or None
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}", str(value)) or not 1 <= int(value) <= MAX_BATCH_SIZE:
        raise InputError(
            f"batch size {value!r}: expected a whole number from 1 to {MAX_BATCH_SIZE}"
        )
    return int(value)


def available_devices():
    """Devices of this machine that torch can use, the one for ``auto`` first."""
    import torch

    devices = []
    if torch.cuda.is_available():
        devices += [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        devices.append("mps")
    return [*devices, "cpu"]


def check_device(device):
    """Refuse a device that this machine does not have."""
    if device == "cpu":
        return
    devices = available_devices()
    if device in devices or (device == "cuda" and devices[0].startswith("cuda:")):
        return
    import torch

    kind = device.partition(":")[0]
    absent = "no such device"
    if not any(name.startswith(kind) for name in devices):
        absent = f"no {kind.upper()} device"
    remedy = ""
    if kind == "cuda" and not (torch.version.cuda or torch.version.hip):
        remedy = f"; torch {torch.__version__} is built without CUDA"
    raise InputError(
        f"device {device}: this machine has {absent}; it has {', '.join(devices)}{remedy}"
    )


def _check_precision(precision, device):
    """Refuse a precision in which the device does not compute, or only slowly."""
    if precision == "float16" and device == "cpu":
        raise InputError(
            "precision float16: on the CPU it is slower than float32: give bfloat16, or a device"
        )
    if precision == "bfloat16" and device.startswith("cuda"):
        import torch

        if not torch.cuda.is_bf16_supported(including_emulation=False):
            raise InputError("precision bfloat16: this CUDA device lacks it: give float16")
