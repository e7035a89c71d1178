"""Sentences of the generated policies and questions.

What a rewriting puts in occurs in no question that is not rewritten, so that rewritten
questions are as distinct as they were.
"""

from casebook.datasets.drift_words import CONDITIONS, INSURERS, REGIONS, TOPICS

_OPENINGS = (
    "{insurer} insures {topic} kept in {region}.",
    "This contract of {insurer} is for {topic}; it is valid in {region}.",
    "Territory: {region}. Insurer: {insurer}. Subject: {topic}.",
    "For {topic} with their usual place in {region}, {insurer} grants this insurance.",
)
_INSURED = (
    "Loss or damage caused by {peril} is paid, and it is agreed that {condition}.",
    "We pay for {peril}. As to the terms: {condition}.",
    "The insured event is {peril}; {condition}.",
    "Indemnity is due for {peril}, on the footing that {condition}.",
)
_EXCLUDED = (
    "Loss or damage caused by {peril} is never paid, although {condition}.",
    "We do not pay for {peril}. As to the terms for all else: {condition}.",
    "Excluded in every case is {peril}; {condition}.",
    "No indemnity is due for {peril}, even on the footing that {condition}.",
)
_LIMITS = (
    "The limit is EUR {limit} for each event, after a deductible of EUR {deductible}.",
    "EUR {deductible} is borne by the client; the rest is paid up to EUR {limit}.",
    "Each event: at most EUR {limit}. Excess: EUR {deductible}.",
)
_NOTICES = (
    "A loss is notified within {days} days.",
    "{days} days are given to report what has happened, by letter or by telephone.",
    "Claims reach the office no later than {days} days after the event.",
)
_EXTRAS = (
    "Wear, rust and rot stay with the owner.",
    "War, confiscation and nuclear energy are outside this contract.",
    "Sums unpaid for a month suspend cover until the account is settled.",
    "A claim that is knowingly overstated is lost as a whole.",
    "Either side may end the contract at the anniversary, two months beforehand.",
    "Experts are named jointly if the parties cannot agree on an amount.",
    "Expenses for averting a loss are refunded even when they were in vain.",
    "The premium falls by a tenth after three years without a claim.",
)
_ASKED = (
    (
        "Which insurance pays {limit} euros when {subject}{place} {peril}? By the way, {condition}.",
        "I am looking for a policy: {subject}{place} {peril}, {condition}, {limit} euros.",
        "What if {subject}{place} {peril}: would I get {limit} euros when {condition}?",
        "Am I paid {limit} euros if {subject}{place} {peril}? You should know that {condition}.",
    ),
    (
        "Wording for {topic}{place}: {peril}, {condition}, limit of EUR {limit}.",
        "Response to {peril}, {condition}; {topic}{place}, EUR {limit} any one event.",
        "Find the policy that answers for {peril}, {topic}{place}, EUR {limit}, {condition}.",
        "Cover sought in respect of {topic}{place}: {peril} at EUR {limit}, {condition}.",
    ),
)
_TAILS = ("", " Please be brief.", " We must know before renewal.")
VARIANTS = len(_ASKED) * len(_ASKED[0]) * len(_TAILS)
_SWAPS = (
    ("policy", "certificate"),
    ("limit", "ceiling"),
    ("euros", "euro in all"),
    ("EUR", "Euro"),
    ("pays", "settles"),
    ("looking for", "searching"),
    ("Cover sought", "Protection wanted"),
)
_PREFIXES = ("Good morning. ", "Quick question: ", "On behalf of a client: ")
REWRITTEN_WITH_PREFIX = 0.35


def render_policy(facts, choices, excluded=False):
    """Write one policy."""
    topic, _, perils = TOPICS[facts.topic]
    slots = {
        "insurer": INSURERS[facts.insurer],
        "topic": topic,
        "region": REGIONS[facts.region],
        "peril": perils[facts.peril][0],
        "condition": CONDITIONS[facts.condition][0],
        "limit": f"{facts.limit:,}",
        "deductible": facts.deductible,
        "days": facts.days,
    }
    events = _EXCLUDED if excluded else _INSURED
    kinds = (_OPENINGS, events, _LIMITS, _NOTICES)
    chosen = [k[c % len(k)] for k, c in zip(kinds, choices, strict=False)]
    extras = list(_EXTRAS)
    chosen += [extras.pop(c % len(extras)) for c in choices[len(kinds) :]]
    return " ".join(chosen).format(**slots)


def render_query(facts, variant, place):
    """Write one question for what a policy says."""
    style, rest = variant % len(_ASKED), variant // len(_ASKED)
    sentence = _ASKED[style][rest % len(_ASKED[style])]
    topic, subject, perils = TOPICS[facts.topic]
    text = sentence.format(
        topic=topic,
        subject=subject,
        peril=perils[facts.peril][1 + style],
        condition=CONDITIONS[facts.condition][1 + style],
        limit=f"{facts.limit:,}",
        place=f" in {REGIONS[facts.region]}" if place else "",
    )
    closing = _TAILS[rest // len(_ASKED[style])]
    return text + closing, ("plain", "professional")[style]


def rewrite_query(text, rng):
    """Say the same in other words: one to three exchanged, an opening for some."""
    possible = [pair for pair in _SWAPS if pair[0] in text]
    number = min(len(possible), int(rng.integers(1, 4)))
    for at in sorted(rng.permutation(len(possible))[:number]):
        text = text.replace(*possible[at])
    if rng.random() < REWRITTEN_WITH_PREFIX:
        text = _PREFIXES[rng.integers(len(_PREFIXES))] + text
    return text
