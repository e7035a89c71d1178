"""Where transformers run and how exactly: device, precision and batch size.

Models run on the CPU in single precision unless the caller or the environment names something else:
that gives the numbers of the reference on every machine. Device and precision change digits, so
they are part of what identifies vectors and runs; the card's number and the batch size are not.
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


@dataclass(frozen=True)
class ModelSettings:
    """How transformers run; without arguments that of the reference. See `model_settings`."""

    device: str = "cpu"
    precision: str = "float32"
    batch_size: int | None = None  # each kind of model has its own default

    @property
    def fingerprint(self):
        """What numbers depend on: the kind of device, and the precision."""
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

    @contextlib.contextmanager
    def memory_for(self, batch_size):
        """Refuse a batch that does not fit into the device's memory."""
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
    device = _given(device, DEVICE_VARIABLE, "cpu")
    precision = _given(precision, PRECISION_VARIABLE, "float32")
    batch_size = _given(batch_size, BATCH_SIZE_VARIABLE, None)
    if device == "auto":
        device = available_devices()[0]
    check_device(device)
    if precision not in PRECISIONS:
        raise InputError(f"precision {precision!r}: expected {', '.join(PRECISIONS)}")
    if precision == "float16" and device == "cpu":
        raise InputError(
            "precision float16: on the CPU it is slower than float32: give bfloat16, or a device"
        )
    if batch_size is not None:
        if not re.fullmatch("[1-9][0-9]*", batch_size):
            raise InputError(f"batch size {batch_size!r}: expected a whole number, 1 or more")
        batch_size = int(batch_size)
    return ModelSettings(device, precision, batch_size)


def _given(value, variable, default):
    text = os.environ.get(variable, "") if value is None else str(value)
    return text.strip().lower() or default


def available_devices():
    """Devices of this machine that torch can use, the one for ``auto`` first."""
    from torch import accelerator

    kind = accelerator.current_accelerator(check_available=True)
    if kind is None:
        return ["cpu"]
    numbered = [f"{kind.type}:{number}" for number in range(accelerator.device_count())]
    return [kind.type, *numbered, "cpu"]


def check_device(device):
    """Refuse a device that this machine does not have."""
    if device != "cpu" and device not in available_devices():
        raise InputError(f"device {device!r}: this machine has {', '.join(available_devices())}")
