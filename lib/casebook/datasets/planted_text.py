"""Words and sentences of the planted cases."""

PER_SECTION = 50  # documents that share a section, so that hits do not grow with size
_PHRASES = {
    "section": "Section {} was applied.",
    "evidence": "The court relied on {}.",
    "party": "The claim was brought by {}.",
    "amount": "The sum in dispute was {} crowns.",
    "court": "It was heard at {}.",
    "month": "It was filed in {}.",
    "clerk": "The clerk was {}.",
}
_WORDS = {
    "evidence": "a medical report, an eyewitness, a confession, a site inspection, "
    "an expert opinion, a recovery memo, an electronic record, a signed document, "
    "a post-mortem report, circumstantial evidence",
    "party": "a tenant, a minor, an employee, a contractor, a partnership, a carrier, "
    "an insurer, a policyholder, a public body, a foreign national, a licensee, "
    "a lender",
    "court": "Northgate, Easton, Westbury, Southmoor, Midvale, Harbourside",
    "month": "January, February, March, April, May, June, July, August, September, October, November, December",
    "clerk": "Adeyemi, Brandt, Castellano, Dufour, Eriksen, Fontaine, Goh",
}
_THOUSANDS = (2, 3, 5, 8, 12, 20, 35, 50, 75, 90)


def vocabulary(n_documents):
    """List the values that each fact type can take."""
    sections = max(20, n_documents // PER_SECTION)
    words = {name: tuple(text.split(", ")) for name, text in _WORDS.items()}
    return {
        "section": tuple(str(number) for number in range(1, sections + 1)),
        "amount": tuple(f"{1000 * n:,}" for n in _THOUSANDS),
        **words,
    }


def render(values, codes):
    """Write each row of a fact table as sentences."""
    columns = []
    for column, (name, words) in enumerate(values.items()):
        sentences = [_PHRASES[name].format(word) for word in words]
        columns.append([sentences[code] for code in codes[:, column].tolist()])
    return [" ".join(row) for row in zip(*columns, strict=True)]
