"""YAML as plain data: no tags, no bombs, no key twice."""

import json
from pathlib import Path

import yaml

from casebook.errors import InputError

LARGEST = 5_000_000  # bytes; a hand-written file is far below
_ALIASES = 100


class _Loader(yaml.SafeLoader):
    """Safe loader that refuses what is only ever a mistake or an attack."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            self.aliases = getattr(self, "aliases", 0) + 1
            if self.aliases > _ALIASES or self.inside:
                mark = self.peek_event().start_mark
                raise yaml.composer.ComposerError(None, None, "an anchor within an anchor, or too many of them", mark)
            return super().compose_node(parent, index)
        anchored = self.peek_event().anchor is not None
        self.inside += anchored
        try:
            return super().compose_node(parent, index)
        finally:
            self.inside -= anchored

    inside = 0  # how many anchored nodes are being composed

    def construct_mapping(self, node, deep=False):
        scalars = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        seen = set()
        for key in scalars:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def parse_yaml(text, where):
    """Parse YAML into plain data."""
    try:
        value = yaml.load(text, Loader=_Loader)  # a SafeLoader: plain data only
        if "\\u" in text.lower():
            json.dumps(value, ensure_ascii=False, default=str).encode()
        return value
    except UnicodeEncodeError:
        raise InputError(f"{where}: a lone surrogate, which is no character") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise InputError.at(where, line, f"not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise InputError(f"{where}: nested too deeply") from None
    except (ValueError, OverflowError, TypeError) as error:
        raise InputError(f"{where}: not YAML: {error}") from None


def read_yaml(path, kind="YAML file"):
    """Read a YAML file into plain data."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise InputError(f"{path}: {len(data):,} bytes: no {kind} is so large")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8") from None
    return parse_yaml(text, path)
