"""Sentences, words and passages of legal text, by fixed and published rules."""

import re
from functools import lru_cache
from pathlib import Path

from casebook.readers import read_yaml
from casebook.stats.samples import check_count

_WORDS = {
    name: frozenset(words.split())
    for name, words in read_yaml(Path(__file__).with_name("text.yml")).items()
}
STOP_LIST = _WORDS["stop_list"]  # function words that are no content


def _any_of(name):
    return "|".join(map(re.escape, _WORDS[name]))


# One character for one, so that places in a folded text are places in the text.
_FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ′´`", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\t\r\f\v", " "),
    }
)
_SCRIPTS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U0003134f"
)
# A character of a script without blanks between words: each is a token.
UNSPACED = re.compile(f"[{_SCRIPTS}]")
_UNSPACED_RUN = re.compile(f"[{_SCRIPTS}]+")
_WORD = re.compile(rf"[{_SCRIPTS}]|[^\s{_SCRIPTS}]+")
_TOKEN = re.compile(
    r"\d+[A-Za-z]{0,3}(?:\([0-9A-Za-z]{1,5}\))+"  # 26C(3)(a), 482(2)
    r"|\d[\d,]*(?:\.\d+)*[A-Za-z]{0,3}"  # 302, 1,50,000, 3.5, 1.2.2020, 26C
    rf"|[{_SCRIPTS}]"
    rf"|[^\W\d_{_SCRIPTS}]+(?:'[^\W\d_{_SCRIPTS}]+)*"
)
_AT_THE_END = r"(?:^|[\s()\[\]\"])(?:{})\.[\"')\]]*\s*$"  # the last word of a text
_ABBREVIATION = re.compile(_AT_THE_END.format(f"[A-Z]|(?i:{_any_of('always_go_on')})"))
_NUMBERED = re.compile(_AT_THE_END.format(f"(?i:{_any_of('go_on_before_a_number')})"))
# Or the end of a sentence without a blank after it.
_PARAGRAPH = re.compile(r"\n\s*\n|(?<=[。！？])")
_LINE = re.compile(r"\S(?:[^\n]*\S)?")


def printable(text):
    """Words of others as one line that may reach a terminal."""
    characters = [sign if sign.isprintable() else " " for sign in text]
    return " ".join("".join(characters).split())


def fold(text):
    """Replace typographic quotes, dashes and spaces by plain ones."""
    return text.translate(_FOLD)


@lru_cache(maxsize=20_000)
def sentences(text):
    """Start and end of each sentence; paragraphs end one, and so do lines that do not go on."""
    from nupunkt import sent_spans  # most measures need no sentences

    spans = []
    start = 0
    for stop in [*(gap.start() for gap in _PARAGRAPH.finditer(text)), len(text)]:
        before = ""
        for a, b in sent_spans(text[start:stop]):
            for line in _LINE.finditer(text, start + a, start + b):
                begin = line.start()
                if before and _goes_on(before, line.group()):
                    begin, _ = spans.pop()
                spans.append((begin, line.end()))
                before = fold(text[begin : line.end()])
        start = stop
    return tuple(spans)


def sentence_texts(text):
    """Sentences of a text."""
    return [text[start:end] for start, end in sentences(text)]


def _goes_on(before, after):
    if after[0].islower() or not any(c.isalnum() for c in after):
        return True
    if re.match(r"[\d(\[]", after) and _NUMBERED.search(before):
        return True
    return _ABBREVIATION.search(before) is not None


@lru_cache(maxsize=65_536)
def token_spans(text):
    """Lower-case words, numbers and section ids of a text, each with its start and end."""
    spans = []
    for match in _TOKEN.finditer(fold(text)):
        word = match.group().lower()
        word = word.replace(",", "") if word[0].isdigit() else word.removesuffix("'s")
        spans.append((word, *match.span()))
    return tuple(spans)


@lru_cache(maxsize=65_536)
def tokens(text):
    """Lower-case words, numbers and section ids of a text."""
    return tuple(word for word, _, _ in token_spans(text))


@lru_cache(maxsize=65_536)
def content_words(text):
    """Distinct content words of a text.

    Where a script has no blanks between words, each two neighbouring characters stand for a word,
    as in search engines: single characters are shared by any two texts.
    """
    words = {
        word
        for word in tokens(text)
        if word not in STOP_LIST and not UNSPACED.match(word)
    }
    words = {word for word in words if len(word) > 1 or word.isdigit()}
    for run in _UNSPACED_RUN.findall(text):
        words.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return frozenset(words)


def passages(text, max_words):
    """Cut a text into overlapping windows of words; of characters where no blanks part words."""
    if max_words is not None:
        check_count("max_words", max_words)
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return ()
    if max_words is None or len(words) <= max_words:
        return (text,)
    step = max(1, max_words // 2)
    last = len(words) - max_words
    starts = [*range(0, last, step), last]
    return tuple(text[words[s][0] : words[s + max_words - 1][1]] for s in starts)
