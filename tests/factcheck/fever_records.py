"""Claims, answers and scores in the shapes of the FEVER family."""

NEI = "NOT ENOUGH INFO"


def gold(*sets, label="SUPPORTS", name=1):
    groups = [[[0, 0, page, line] for page, line in group] for group in sets]
    return {"id": name, "label": label, "evidence": groups}


def answer(*items, label="SUPPORTS", name=1):
    return {
        "id": name,
        "predicted_label": label,
        "predicted_evidence": [list(item) for item in items],
    }


def values(scores):
    measures = getattr(scores, "measures", scores)
    return [getattr(value, "estimate", value) for value in measures.values()]
