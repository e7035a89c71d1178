"""Double-blind human evaluation: forms, returned answers, blinding, analysis."""

from casebook.lazy import modules_of

__getattr__ = modules_of(__name__)
