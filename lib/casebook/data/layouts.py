"""Where a collection of any usual layout keeps its documents, questions and judgements.

Known are BEIR, saved folders and parquet of Hugging Face `datasets`, TREC and MS MARCO files, and
tables of questions with passages. Parts are told by words in the names of files and folders.
"""

import html
import re
from dataclasses import dataclass, field
from pathlib import Path

from casebook.data.folders import check_folder
from casebook.data.records import LAYOUTS, TABLES, column_of, read_table, rows_by_id
from casebook.errors import InputError
from casebook.readers import OPENERS, delimited_rows, read_lines, read_text, suffix_of
from casebook.trec import judgements

PART_WORDS = LAYOUTS["parts"]
SPLIT_WORDS = LAYOUTS["splits"]
USUAL_SPLIT = "test"
_ABOUT = {"dataset_dict.json", "dataset_info.json", "dataset_infos.json", "state.json"}
_UNREAD = {".md", ".pdf", ".zip", ".tar", ".py", ".ipynb", ".html", ".yml", ".yaml", ".lock"}
_SHARD = re.compile(r"[-_]?\d{3,}-of-\d{3,}")
_HEADERLESS = {2: ("id", "text"), 3: ("id", "title", "text"), 4: ("id", "url", "title", "text")}
_BLOCK = re.compile(r"<(top|topic|doc)\b([^>]*)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_PAIR = re.compile(r"<([a-zA-Z]\w*)[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(r"\s*(?:number|topic|description|narrative)\s*:", re.IGNORECASE)


@dataclass
class CollectionFiles:
    """Files by part; those of judgements and of pairs by split."""

    corpus: list = field(default_factory=list)
    queries: list = field(default_factory=list)
    qrels: dict = field(default_factory=dict)
    pairs: dict = field(default_factory=dict)
    unread: list = field(default_factory=list)


def layout_of(source, out=None):
    """Find the parts of a collection in a folder, or in one table of questions with passages."""
    source = Path(source)
    if source.is_file():
        return CollectionFiles(pairs=usual_name({split_of(source.name): [source]}))
    check_folder(source)
    layout = CollectionFiles()
    tables = []
    for path in files_below(source, out):
        relative = path.relative_to(source)
        part = _part_of(relative)
        if part is None or (part != "corpus" and suffix_of(path) in _UNREAD):
            (tables if suffix_of(path) in TABLES else layout.unread).append(path)
        elif part == "qrels":
            layout.qrels.setdefault(split_of(relative), []).append(path)
        else:
            getattr(layout, part).append(path)
    if layout.corpus or layout.queries or layout.qrels:
        layout.unread += tables
    else:
        for path in tables:
            layout.pairs.setdefault(split_of(path.relative_to(source)), []).append(path)
    layout.qrels = usual_name(layout.qrels)
    layout.pairs = usual_name(layout.pairs)
    return layout


def files_below(source, out=None):
    """Give the files below a folder that may hold data, without those of the output."""
    files = []
    for path in sorted(source.rglob("*")):
        parts = path.relative_to(source).parts
        hidden = any(part.startswith((".", "__")) for part in parts)
        written = out is not None and path.resolve().is_relative_to(Path(out).resolve())
        if path.is_file() and not hidden and not written and path.name not in _ABOUT:
            files.append(path)
    return files


def _part_of(relative):
    """Tell the part of a file by the first name on its path that has a word for one."""
    for number, name in enumerate(relative.parts):
        words = set(re.split(r"[\W_\d]+", name.lower()))
        is_file = number == len(relative.parts) - 1
        for part, words_of_part in PART_WORDS.items():
            if words & (set(words_of_part) - ({"default"} if is_file else set())):
                return part
    return None


def split_of(relative):
    """Tell the split of a file by the words of its path."""
    path = Path(relative)
    path = path.with_suffix("") if path.suffix in OPENERS else path
    names = [*path.parts[:-1], path.stem if suffix_of(path) in TABLES else path.name]
    words = [word for name in names for word in re.split(r"[\W_]+", _SHARD.sub("", name))]
    for word in words:
        if word.lower() in SPLIT_WORDS:
            return SPLIT_WORDS[word.lower()]
    usual = {*PART_WORDS["qrels"], "data", "txt", "trec", ""}
    rest = [word for word in words if word.lower() not in usual]
    return "-".join(rest) or USUAL_SPLIT


def usual_name(by_split):
    """Call a single split without a usual name as every chapter expects it."""
    if len(by_split) == 1 and not set(by_split) & set(SPLIT_WORDS.values()):
        return {USUAL_SPLIT: next(iter(by_split.values()))}
    return by_split


# --- the rows of a part


def part_rows(path, part, columns=(), root=None):
    """Yield (line, record) of documents or questions; ``columns`` are names that users gave.

    A text that is no table is a document, named after its path below ``root``.
    """
    kind = suffix_of(path)
    if kind in TABLES and kind != ".tsv":
        yield from read_table(path, rows_of=rows_by_id)
        return
    start = _first_line(path)
    if start.lstrip().startswith("<"):
        yield from _tagged_rows(path)
        return
    if "\t" in start:
        headerless = lacks_header(path, part, columns)
        yield from _headerless_rows(path) if headerless else delimited_rows(path, plain_tabs=True)
    elif part == "corpus":
        text = read_text(path)
        name = path.relative_to(root or path.parent).with_suffix("").as_posix()
        yield 1, {"_id": name, "text": text}
    else:
        raise InputError(f"{path}: is no table and no TREC topics: give id and text in columns")


def lacks_header(path, part, columns=()):
    """Say whether tab-separated documents or questions begin with a row that names no column."""
    if suffix_of(path) in TABLES and suffix_of(path) != ".tsv":
        return False
    cells = _first_line(path).split("\t")
    named = [role for role in ("id", "text") if column_of(cells, part, role)]
    return len(cells) > 1 and not named and not set(cells) & set(columns)


def _first_line(path):
    return next((line for _, line in read_lines(path) if line.strip()), "")


def _headerless_rows(path):
    """Rows of tab-separated files without a header, as MS MARCO has them."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        names = _HEADERLESS.get(len(cells))
        if names is None:
            raise InputError.at(
                path, number, f"has {len(cells)} fields: without a header, give id and text"
            )
        yield number, dict(zip(names, cells, strict=True))


def _tagged_rows(path):
    """TREC topics and documents: an element each, its parts as columns."""
    text = read_text(path)
    number = 1
    counted = 0
    for block in _BLOCK.finditer(text):
        number += text.count("\n", counted, block.start())
        counted = block.start()
        attributes = dict(re.findall(r"(\w+)\s*=\s*[\"']([^\"']*)[\"']", block[2]))
        yield number, attributes | _elements(block[3])


def _elements(block):
    """Give the parts of an element; an open tag without an end goes to the next one."""
    pairs = _PAIR.findall(block)
    open_tags = re.findall(r"<([a-zA-Z]\w*)[^>]*>([^<]*)", _PAIR.sub("", block))
    parts = {}
    for name, content in [*pairs, *open_tags]:
        plain = re.sub(r"<[^>]*>", " ", _LABEL.sub("", content, count=1))
        words = html.unescape(plain).split()
        name = name.lower()
        parts[name] = f"{parts.get(name, '')} {' '.join(words)}".strip()
    return parts


def judgement_rows(path, columns=()):
    """Yield (line, record) of judgements: of a table, or of a TREC file."""
    kind = suffix_of(path)
    cells = []
    if kind in (".csv", ".tsv") or kind not in TABLES:
        cells = re.split("[\t,;]", _first_line(path))
        has_header = column_of(cells, "qrels", "query") and column_of(cells, "qrels", "document")
        if has_header or set(cells) & set(columns):
            yield from delimited_rows(path, plain_tabs=True)
            return
    if kind in TABLES and kind not in (".csv", ".tsv"):
        yield from read_table(path, rows_of=rows_by_id)
        return
    for line, query, document, grade in judgements(path):
        yield line, {"query-id": query, "corpus-id": document, "score": grade}
