"""The public surface: what ``import casebook`` offers, documented and with examples that run."""

import doctest
import importlib
import inspect

import pytest

import casebook

NAMES = dir(casebook)


def test_public_names_are_documented():
    wrong = []
    for name in NAMES:
        item = getattr(casebook, name)
        text = inspect.getdoc(item)
        parts = ["Examples\n--------"]
        if inspect.signature(item).parameters:
            parts.append("Parameters\n----------")
        if not inspect.isclass(item):
            parts.append("Returns\n-------")
        wrong += [f"{name}: {part.split()[0]}" for part in parts if part not in text]
    assert wrong == []


def test_the_examples_of_public_names_run():
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    without = []
    for name in NAMES:
        item = getattr(casebook, name)
        module = importlib.import_module(item.__module__)
        tests = finder.find(item, name, globs=vars(module) | {name: item})
        if not any(test.examples for test in tests):
            without.append(name)
        for test in tests:
            runner.run(test)  # prints what went wrong
    assert without == [] and runner.summarize(verbose=False).failed == 0


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        casebook.nonsense  # noqa: B018
