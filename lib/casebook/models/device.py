"""Where transformers run and how exactly: device, precision and batch size.

Models run on the CPU in single precision unless the caller or the environment names something else:
that gives the numbers of the reference on every machine. Device and precision change digits, so
they are part of what identifies vectors and runs; the card's number and the batch size are not.
"""

import hashlib
import os
from typing import Literal

from pydantic import PositiveInt, ValidationError
from pydantic.dataclasses import dataclass

from casebook.data.cards import first_problem
from casebook.errors import InputError

VARIABLES = {
    "device": "CASEBOOK_DEVICE",
    "precision": "CASEBOOK_PRECISION",
    "batch_size": "CASEBOOK_BATCH_SIZE",
}


@dataclass(frozen=True)
class ModelSettings:
    """How transformers run; without arguments that of the reference. See `model_settings`."""

    device: str = "cpu"
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: PositiveInt | None = None  # each kind of model has its own default

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
        values = {VARIABLES[name]: getattr(self, name) for name in VARIABLES}
        return {name: str(value) for name, value in values.items() if value is not None}


REFERENCE = ModelSettings().fingerprint


def model_settings(device=None, precision=None, batch_size=None):
    """Check how models are to run; what is not given is that of the environment.

    `device` is ``cpu``, ``cuda``, ``cuda:N``, ``mps``, or ``auto``: the first of cuda, mps and cpu
    that this machine has. torch is imported only to look for another device than the CPU.
    """
    given = {"device": device, "precision": precision, "batch_size": batch_size}
    for name, variable in VARIABLES.items():
        value = os.environ.get(variable, "") if given[name] is None else given[name]
        given[name] = str(value).strip().lower()
    if given["device"] == "auto":
        given["device"] = available_devices()[0]
    try:
        settings = ModelSettings(
            **{name: value for name, value in given.items() if value}
        )
    except ValidationError as error:
        raise InputError(first_problem(error)) from None
    device = settings.device
    if device != "cpu" and device not in available_devices():
        raise InputError(
            f"device {device!r}: this machine has {', '.join(available_devices())}"
        )
    if settings.precision == "float16" and settings.device == "cpu":
        raise InputError(
            "precision float16: on the CPU it is slower than float32: give bfloat16, or a device"
        )
    return settings


def available_devices():
    """Devices of this machine that torch can use, the one for ``auto`` first."""
    from torch import accelerator

    kind = accelerator.current_accelerator(check_available=True)
    if kind is None:
        return ["cpu"]
    numbered = [f"{kind.type}:{number}" for number in range(accelerator.device_count())]
    return [kind.type, *numbered, "cpu"]
