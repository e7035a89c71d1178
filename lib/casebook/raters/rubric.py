"""What raters are told: the task, and an anchor for each point of each scale."""

KINDS = ("lay", "expert")

_USEFULNESS = {
    "lay": (
        "Beside the point, confusing or unclear: the question stays open.",
        "Near the topic, but the main point is unclear or missing.",
        "Helps in part: can be followed, yet vague or incomplete.",
        "Answers the question clearly and easily; says more about the law.",
        "Answers it fully and plainly; nothing more is needed to rely on it.",
    ),
    "expert": (
        "Legally off topic, or the central provision is left out.",
        "Right field, but material context is missing or the statute is misapplied.",
        "The main idea is there, without the depth or the distinctions it needs.",
        "Relevant, complete enough and within the scope of the statute.",
        "Relevant, accurate and complete, and fits the legal context exactly.",
    ),
}
_FACTUALITY = {
    "lay": (
        "Claims without support or source; reads as if made up.",
        "Some mention of law, but loosely tied to the question; little trust.",
        "Seems to rest on real law, but the link is thin: plausible, not certain.",
        "Plainly rests on a legal text and its reasons; small imprecision only.",
        "Strong support by a named source and reasons, without contradiction.",
    ),
    "expert": (
        "The provision does not exist, is misquoted or is read against the law.",
        "A distantly related section, or a condition is missing that changes the law.",
        "A fitting section, but too general, without exceptions, or mixed with others.",
        "Agrees with the section cited; minor simplifications at most.",
        "Every provision is right and rightly applied; faithful and complete.",
    ),
}
# Names of the levels from 1 to 5, word for word as the documents give them; the
# anchors beside the first two are ours.
LEVELS = {
    "factuality": (
        "Ungrounded / Incorrect",
        "Weakly Grounded / Partially Incorrect",
        "Moderately Grounded / Partially Correct",
        "Well Grounded / Largely Correct",
        "Fully Grounded / Correct",
    ),
    "usefulness": ("Not Useful", "Weakly Useful", "Moderately Useful", "Useful", "Highly Useful"),
}
_EXPLANATION = {
    "clarity_1_to_5": (
        "Incomprehensible",
        "Confusing in parts",
        "Understandable but could be clearer",
        "Clear with minor ambiguity",
        "Perfectly clear, easy to understand",
    ),
    "legal_accuracy_1_to_5": (
        "Legally incorrect",
        "Contains significant legal errors",
        "Partially accurate",
        "Mostly accurate, minor issues",
        "Legally precise and correct",
    ),
    "usefulness_1_to_5": (
        "Not useful at all",
        "Marginally useful",
        "Somewhat useful",
        "Useful with minor improvements needed",
        "Highly useful for legal research",
    ),
}
_TASKS = {
    "paired": (
        "Read the prompt and both answers. Which answer stands left is random.",
        "preferred: S1 (left), S2 (right) or Tie.",
        "Rate factuality and usefulness of each answer with a whole number, 1 to 5.",
        "Judge the content: accurate, useful, clear. Style counts only where it helps.",
        "comment is optional. Please do not try to find out which system wrote what.",
    ),
    "likert": (
        "Read the explanation and the passage that it explains.",
        "Rate clarity, legal accuracy and usefulness with a whole number, 1 to 5.",
        "notes is optional. Please do not try to find out who wrote what.",
    ),
}
_RETURN = (
    "White cells are yours; grey cells, row order and sheets must stay as they are. "
    "Leave a cell blank only if you cannot judge. Save under the same name."
)


def scales(layout, kind):
    """Give the anchors of every scale of a form."""
    if layout == "likert":
        return dict(_EXPLANATION)
    anchors = {"factuality": _FACTUALITY[kind], "usefulness": _USEFULNESS[kind]}
    return {
        scale: tuple(f"{n}. {a}" for n, a in zip(LEVELS[scale], texts, strict=True)) for scale, texts in anchors.items()
    }


def instructions(layout, guess=None):
    """Give the task, one sentence a line."""
    lines = list(_TASKS[layout])
    if guess:
        lines.append(f"guess, after the ratings: {guess} S1, S2, or DK (do not know).")
    return [*lines, _RETURN]
