"""Generate a collection in stages: a base, then more policies, then other questions.

    python data/make/drift.py 1337 1338 ...   # writes data/drift/SEED.jsonl.gz, which casebook reads

Policies come in families that agree in what questions ask for (line, peril, condition
and limit; no two families agree in all four) and differ in the rest. A question that
names no region has every member of one family as an answer; one that names a region
has the member of that region at grade 2 and the others at grade 1. From stage 1 on
there are confusers: policies that say what another says, except that they exclude its
peril. They answer nothing, so that the judgements hold at every stage. From stage 2 on
the questions are said in other words.

Each purpose draws from a random stream of its own. So the policies do not depend on the
number of questions, the first n questions do not depend on how many follow, and stage k
does not depend on the number of stages. Time and memory are linear in both sizes.
"""

import gzip
import json
import math
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml

_WORDS = yaml.safe_load(Path(__file__).with_name("drift_words.yml").read_text(encoding="utf-8"))
TOPICS = {
    key: (topic["policy"], topic["question"], topic["perils"])
    for key, topic in _WORDS["topics"].items()
}
CONDITIONS, INSURERS, REGIONS = (_WORDS[name] for name in ("conditions", "insurers", "regions"))

MAX_QUERIES_PER_POLICY = 16
_WORDING, _QUERIES, _CONFUSERS, _REWRITING = range(3, 7)  # 1 and 2: the facts
_CHOICES = 7
_STEP = 7  # has no divisor in common with the number of ways to ask
_FAMILIES, _MEMBERS = 1, 2  # random streams; drift.py has those of the texts
_SIZE_SHARES = (0.65, 0.25, 0.10)  # families of one, two and three policies
_DEDUCTIBLES = (100, 250, 400, 750, 1200)
_DAYS = (3, 5, 8, 14, 21, 30)
_AMOUNT = 5000
_PERILS = 5

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


def records(n_policies=80, n_queries=160, seed=1337):
    """Yield the records of one collection: base policies, confusers, questions in both wordings."""
    if not 1 <= n_queries <= MAX_QUERIES_PER_POLICY * n_policies:
        raise SystemExit(f"1 to {MAX_QUERIES_PER_POLICY} questions for each policy")
    base = draw_policies(n_policies, seed)
    for confuser, texts in ((False, _render(base, seed)), (True, _confuse(base, seed))):
        for name in sorted(texts):
            yield {"policy": name, "text": texts[name], "confuser": confuser}
    rng = np.random.default_rng([seed, _REWRITING, 2])
    for query, text, family, line, wording, relevant in _ask(base, n_queries, seed):
        rewritten = rewrite_query(text, rng)
        row = {
            "question": query,
            "text": text,
            "rewritten": rewritten,
            "group": family,
            "line": line,
        }
        yield row | {"wording": wording, "relevant": relevant}


@dataclass(frozen=True)
class Facts:
    """What one generated policy says; all but amounts and days are positions."""

    family: int
    topic: str
    peril: int
    condition: int
    limit: int
    insurer: int
    region: int
    deductible: int
    days: int


def draw_policies(n, seed):
    """Draw the facts of n policies, family by family, topics in turn."""
    sizes, members = _family_sizes(n, seed), _members(n, seed)
    combinations = _combinations(n, seed)
    names, numbers, policies = list(TOPICS), Counter(), {}
    for family, size in enumerate(sizes):
        topic = names[family % len(names)]
        peril, condition, amount = combinations[topic][family // len(names)]
        shared = Facts(family, topic, peril, condition, _AMOUNT * (amount + 1), 0, 0, 0, 0)
        for place in range(size):
            numbers[topic] += 1
            name = f"policy-{topic}-{numbers[topic]:0{digits(n, 3)}d}"
            policies[name] = replace(shared, **members(family, place))
    return policies


def digits(n, least):
    """Give the digits that numbers up to n need, so that ids sort as numbers do."""
    return max(least, len(str(n)))


def _family_sizes(n, seed):
    """Give sizes that sum to n; the last family may be cut."""
    rng = np.random.default_rng([seed, _FAMILIES])
    sizes = rng.choice([1, 2, 3], size=n, p=_SIZE_SHARES)
    last = int(np.searchsorted(np.cumsum(sizes), n))
    sizes = sizes[: last + 1].tolist()
    sizes[-1] -= sum(sizes) - n
    return sizes


def _combinations(n, seed):
    """Give, per topic, more (peril, condition, amount) than it can have families."""
    families = -(-n // len(TOPICS))
    amounts = max(12, -(-families // (_PERILS * len(CONDITIONS))))
    shape = (_PERILS, len(CONDITIONS), amounts)
    found = {}
    for number, topic in enumerate(TOPICS, 1):  # a last 0 would not change the stream
        rng = np.random.default_rng([seed, _FAMILIES, number])
        order = rng.permutation(math.prod(shape))[:families]
        found[topic] = np.column_stack(np.unravel_index(order, shape)).tolist()
    return found


def _members(n, seed):
    """Give a function that tells a family's members apart in four facts."""
    rng = np.random.default_rng([seed, _MEMBERS])
    insurers = _distinct(rng, n, len(INSURERS))
    regions = _distinct(rng, n, len(REGIONS))
    deductibles = rng.choice(_DEDUCTIBLES, size=(n, len(_SIZE_SHARES)))
    days = rng.choice(_DAYS, size=(n, len(_SIZE_SHARES)))
    names = ("insurer", "region", "deductible", "days")
    tables = (insurers, regions, deductibles, days)

    def facts(family, place):
        values = (int(table[family, place]) for table in tables)
        return dict(zip(names, values, strict=True))

    return facts


def _distinct(rng, n, values):
    """Draw three different values for each of n families."""
    return rng.permuted(np.tile(np.arange(values), (n, 1)), axis=1)[:, :3]


def _render(base, seed):
    """Give {doc_id: text} of the base policies."""
    rng = np.random.default_rng([seed, _WORDING])
    choices = rng.integers(1000, size=(len(base), _CHOICES)).tolist()
    return {
        name: render_policy(facts, row)
        for (name, facts), row in zip(base.items(), choices, strict=True)
    }


def _confuse(base, seed):
    """Give {doc_id: text} of the confusers: a quarter of the policies, spread out."""
    names, n = list(base), len(base)
    stride = next(step for step in (7, 11, 13, 17, 19, 23, n + 1) if n % step)
    rng = np.random.default_rng([seed, _CONFUSERS])
    texts, numbers = {}, Counter()
    for at in range(max(1, n // 4)):
        source = base[names[stride * at % n]]
        numbers[source.topic] += 1
        number = f"{numbers[source.topic]:0{digits(n, 3)}d}"
        other = replace(source, insurer=(source.insurer + 1) % len(INSURERS))
        choices = rng.integers(1000, size=_CHOICES).tolist()
        name = f"policy-{source.topic}-confuser-{number}"
        texts[name] = render_policy(other, choices, excluded=True)
    return texts


def _ask(base, n, seed):
    """Yield n questions with their judgements."""
    family = defaultdict(list)
    for name, facts in base.items():
        family[facts.family].append(name)
    ways = 2 * VARIANTS
    rng = np.random.default_rng([seed, _QUERIES])
    way = rng.integers(ways, size=len(family)).tolist()
    for number, name in enumerate(_asked_for(list(base), n, seed), 1):
        facts = base[name]
        variant, place = divmod(way[facts.family], 2)
        way[facts.family] = (way[facts.family] + _STEP) % ways
        text, wording = render_query(facts, variant, bool(place))
        query = f"q{number:0{digits(MAX_QUERIES_PER_POLICY * len(base), 4)}d}"
        judged = dict.fromkeys(family[facts.family], 1 if place else 2) | {name: 2}
        yield query, text, f"family-{facts.family}", facts.topic, wording, judged


def _asked_for(names, n, seed):
    """Yield n policies: all in their order, then all again in orders drawn."""
    for start in range(0, n, len(names)):
        order = np.arange(len(names))
        if start:
            rng = np.random.default_rng([seed, _QUERIES, start // len(names)])
            order = rng.permutation(order)
        yield from (names[at] for at in order[: n - start])


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


def main(seeds):
    """Write one file a seed, the same bytes every time."""
    for seed in map(int, seeds):
        lines = "".join(json.dumps(row) + "\n" for row in records(seed=seed))
        path = Path(__file__).parents[1] / "drift" / f"{seed}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(lines.encode(), mtime=0))
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
