"""Formats of public fact-checking sets: which field means what, which label is which.

Each format is a function of one record (a dict) that gives the claim's row (a dict, or
None for a blank record) and its evidence (a list of dicts). A label that a format does
not know stays as it is and is refused or counted by the reader.
"""

S, N = "SUPPORTED", "NOT_SUPPORTED"
NEI, C = "INSUFFICIENT", "CONFLICTING"

_FEVER = {"SUPPORTS": S, "REFUTES": N, "NOT ENOUGH INFO": NEI}
LABEL_MAPS = {
    "averitec": {"Supported": S, "Refuted": N, "Not Enough Evidence": NEI, "Conflicting Evidence/Cherrypicking": C},
    "climate_fever": {"SUPPORTS": S, "REFUTES": N, "NOT_ENOUGH_INFO": NEI, "DISPUTED": C},
    "fever": _FEVER,
    "feverous": _FEVER,
    "feverous_s": {"supports": S, "refutes": N},
    "hover": {"SUPPORTED": S, "NOT_SUPPORTED": N},
    "plain": {S: S, N: N, NEI: NEI, C: C, "INSUFFICIENT_EVIDENCE": NEI},
    "scifact": {"SUPPORT": S, "CONTRADICT": N, "NOT_ENOUGH_INFO": NEI, "CONFLICT": C},
}
LABEL_MAPS["scifact_open"] = LABEL_MAPS["scifact"]


def _hover(record):
    """HoVer: supporting facts are titles and sentence numbers, without their text."""
    facts = record.get("supporting_facts", [])
    row = _row(record, "uid", hops=record.get("num_hops"), cluster="hpqa_id")
    return row, [_passage(f"{title}:{n}", title) for title, n in facts]


def _fever(record):
    """FEVER: alternative gold sets of page and line."""
    row = _row(record, "id")
    evidence = [
        _passage(f"{page}:{line}", page, number)
        for number, members in enumerate(record.get("evidence", []))
        for _, _, page, line in members
        if page is not None
    ]
    return row, evidence


def _feverous(record):
    """FEVEROUS: up to three gold sets of element ids such as ``Title_cell_0_1_2``."""
    if not record.get("id") and not record.get("claim"):
        return None, []  # official files begin with a blank record
    row = _row(record, "id", category=record.get("challenge"))
    row["difficulty"] = record.get("expected_challenge")
    evidence = [
        _passage(element, element.split("_", 1)[0], number)
        for number, members in enumerate(record.get("evidence", []))
        for element in members["content"]
    ]
    return row, evidence


def _feverous_s(record):
    """FEVEROUS-S of ProgramFC: gold sentences as lines of title, tab, text."""
    row = _row(record, "id", category=record.get("challenge"))
    lines = [line for line in record.get("evidence", "").split("\n") if line.strip()]
    evidence = []
    for number, line in enumerate(lines):
        title, tab, text = line.partition("\t")
        evidence.append(_passage(f"{row['claim_id']}:{number}", title, text=text if tab else title))
    return row, evidence


def _climate_fever(record):
    """Climate-FEVER: five sentences a claim, each with its own label and votes."""
    row = _row(record, "claim_id", label="claim_label")
    evidence = []
    for item in record.get("evidences", []):
        passage = _passage(item["evidence_id"], item["article"], text=item["evidence"])
        passage["label"] = LABEL_MAPS["climate_fever"].get(item["evidence_label"])
        passage["entropy"] = item.get("entropy")
        passage["votes"] = "|".join(vote or "" for vote in item.get("votes", []))
        evidence.append(passage)
    return row, evidence


def _scifact(record):
    """SciFact: rationales by abstract; the claim's label follows from theirs."""
    evidence = [
        (doc, number, rationale["label"], rationale["sentences"])
        for doc, rationales in record.get("evidence", {}).items()
        for number, rationale in enumerate(rationales)
    ]
    return _scientific(record, evidence)


def _scifact_open(record):
    """SciFact-Open: one label and its sentences by abstract."""
    evidence = [
        (doc, 0, found["label"], found.get("sentences", [])) for doc, found in record.get("evidence", {}).items()
    ]
    return _scientific(record, evidence)


def _scientific(record, rationales):
    labels = sorted({str(label) for _, _, label, _ in rationales})
    both = labels == ["CONTRADICT", "SUPPORT"]
    row = _row(record, "id")
    row["original_label"] = "CONFLICT" if both else ", ".join(labels) or "NOT_ENOUGH_INFO"
    passages = []
    for doc, number, label, sentences in rationales:
        for sentence in sentences:
            passage = _passage(f"{doc}:{sentence}", doc, number)
            passage["label"] = LABEL_MAPS["scifact"].get(label)
            passages.append(passage)
    return row, passages


def _averitec(record):
    """AVeriTeC: questions whose answers are the evidence; claims carry no id."""
    row = _row(record, None)
    row["category"] = "; ".join(record.get("claim_types", [])) or None
    evidence = []
    for number, question in enumerate(record.get("questions", [])):
        for answer in question.get("answers", []):
            text = f"{question['question']} {answer.get('answer', '')}".strip()
            source = answer.get("source_url") or answer.get("cached_source_url")
            evidence.append(_passage(f"q{number}", source, text=text))
    return row, evidence


def _plain(record):
    """Any record with id and label; claim, category, difficulty, hops are optional."""
    row = _row(record, "id", category=record.get("category"))
    row |= {"difficulty": record.get("difficulty"), "hops": record.get("hops")}
    used = {"id", "claim", "label", "category", "difficulty", "hops", "evidence"}
    row |= {k: v for k, v in record.items() if k not in used and k not in row}
    evidence = record.get("evidence")
    if isinstance(evidence, str) and evidence.strip():
        return row, [_passage(f"{row['claim_id']}:0", None, text=evidence)]
    return row, []


def _row(record, key, label="label", cluster=None, **more):
    row = {
        "claim_id": str(record[key]) if key else None,
        "claim": record.get("claim"),
        "original_label": record.get(label),
    }
    return row | ({"cluster": record.get(cluster)} if cluster else {}) | more


def _passage(name, source, number=0, text=None):
    return {"evidence_id": name, "set": number, "source": source, "text": text, "label": None}


FORMATS = {
    "averitec": _averitec,
    "climate_fever": _climate_fever,
    "fever": _fever,
    "feverous": _feverous,
    "feverous_s": _feverous_s,
    "hover": _hover,
    "plain": _plain,
    "scifact": _scifact,
    "scifact_open": _scifact_open,
}
