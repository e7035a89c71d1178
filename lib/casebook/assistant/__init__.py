"""Answers of an assistant: their log, what is measured of them, and how a log is made."""

from casebook.lazy import modules_of

ANSWERED = (
    "pdpabench"  # data set whose published answers are the default log, where a mirror has them
)
TEMPLATES = "consumer_contracts_qa"  # data set whose template answers stand in for them
DEMONSTRATIONS = {"smoke", TEMPLATES}  # data sets whose answers no language model wrote

__getattr__ = modules_of(__name__)
