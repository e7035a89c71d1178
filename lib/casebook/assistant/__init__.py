"""Answers of an assistant: their log, what is measured of them, and how a log is made."""

from casebook.lazy import modules_of

# Data set whose published answers are read, where a mirror has them.
ANSWERED = "pdpabench"
DEMONSTRATION = "smoke"  # data set whose answers are templates, and no language model's

__getattr__ = modules_of(__name__)
