"""The systems of another run beside those of this one, item by item."""

from casebook.book.history import same_data


def put_beside(found, before, run, other, kind):
    """Add the other run's systems to the items of a page, or say why not."""
    if not kind.BY_SYSTEM:
        return f"The {kind.NOUN}s of the run {other} are not shown beside these."
    if before is None or before["kind"] != found["kind"]:
        return f"The run {other} kept no {kind.NOUN}s of this chapter."
    if not same_data(run, other, found["cell"]):
        return f"The run {other} had other data and is not shown beside this one."
    past = {item["id"]: item for item in before["items"]}
    place = _placing(found, before)
    for item in found["items"]:
        added = kind.past(past.get(item["id"]), found, before, place)
        for part in kind.BY_SYSTEM:
            item[part] = item[part] + added[part]
    _side_by_side(found, before["systems"], other, kind.BY_SYSTEM)
    missing = sum(item["id"] not in past for item in found["items"])
    lost = f"; it did not keep {missing} of the {kind.NOUN}s" if missing else ""
    return f"The systems of the run {other} stand beside those of this run{lost}."


def _placing(found, before):
    """Give what turns a place in the other run's documents into one of this run's."""
    places = {name: place for place, (name, _) in enumerate(found["documents"])}

    def place(past):
        name, opening = before["documents"][past]
        if name not in places:
            places[name] = len(places)
            found["documents"].append([name, opening])
        return places[name]

    return place


def _side_by_side(found, systems, other, parts):
    """Let each system of the other run stand next to its namesake of this run."""
    names = [*found["systems"], *systems]
    first = [names.index(name) for name in names]
    order = sorted(range(len(names)), key=first.__getitem__)
    shown = found["systems"] + [f"{system}, {other}" for system in systems]
    found["systems"] = [shown[place] for place in order]
    found["tested"] = [order.index(place) for place in found["tested"]]
    for item in found["items"]:
        for part in parts:
            item[part] = [item[part][place] for place in order]
