"""Explanations as data: sentences, each with the places that support it."""

from dataclasses import dataclass

_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ESCAPED |= {mark: f"\\{mark}" for mark in "\\`*_[]#|"}


@dataclass(frozen=True)
class Support:
    """Words of a document that support a sentence: ``text[start:end] == quote``."""

    document_id: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class Sentence:
    """One sentence of an explanation."""

    text: str
    kind: str
    support: tuple = ()
    checked: bool = True


@dataclass(frozen=True)
class Passage:
    """The part of a document that an explanation was made from, ``[start:end]``."""

    document_id: str
    text: str
    start: int = 0

    @property
    def end(self):
        """Give the end in the document."""
        return self.start + len(self.text)

    def support(self, start, end):
        """Give the support at ``text[start:end]`` of the passage."""
        quote = self.text[start:end]
        return Support(self.document_id, self.start + start, self.start + end, quote)


@dataclass(frozen=True)
class Explanation:
    """Why a document was found, or what an edit did."""

    sentences: tuple
    passages: tuple = ()
    documented: bool = False

    @property
    def text(self):
        """Give the sentences in one line."""
        return " ".join(sentence.text for sentence in self.sentences)

    def to_dict(self):
        """Give plain data."""
        return {
            "text": self.text,
            "rules": "documented" if self.documented else "corrected",
            "sentences": [_sentence(one) for one in self.sentences],
            "passages": [
                {
                    "document_id": passage.document_id,
                    "start": passage.start,
                    "end": passage.end,
                    "words": len(passage.text.split()),
                }
                for passage in self.passages
            ],
        }


def as_markdown(explanation):
    """Write an explanation with its supports quoted below it."""
    lines = []
    for sentence in explanation["sentences"]:
        mark = "" if sentence["checked"] else " (not checked)"
        lines.append(f"- {plain(sentence['text'])}{mark}")
        for one in sentence["support"]:
            place = f"{one['document_id']}, {one['start']} to {one['end']}"
            lines.append(f"  - “{plain(one['quote'])}” ({plain(place)})")
    return "\n".join(lines) + "\n"


def node_markdown(node):
    """Write the explanations of one state of a tree."""
    parts = []
    if node["edge"] and node["edge"].get("explanation"):
        parts.append(f"**The edit**\n\n{as_markdown(node['edge']['explanation'])}")
    for one in node["retrieval_results"]:
        if one.get("explanation"):
            title = f"**{one['rank']}. {plain(one['case_id'])}**"
            parts.append(f"{title}\n\n{as_markdown(one['explanation'])}")
    return "\n".join(parts)


def plain(text):
    """Make text of others safe for one line of Markdown."""
    flat = " ".join(str(text).split())
    return "".join(_ESCAPED.get(character, character) for character in flat)


def _sentence(one):
    return {
        "text": one.text,
        "kind": one.kind,
        "checked": one.checked,
        "support": [vars(place) for place in one.support],
    }
