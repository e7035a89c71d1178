"""A module per kind of item, which turns what a chapter kept into the content of a page."""

from casebook.book.item_kinds import (
    answers,
    checks,
    claims,
    edits,
    explanations,
    questions,
    ratings,
    votes,
)

VIEWS = {
    "questions": questions.content,
    "edits": edits.content,
    "votes": votes.content,
    "claims": claims.content,
    "answers": answers.content,
    "explanations": explanations.content,
    "checks": checks.content,
    "ratings": ratings.content,
}
