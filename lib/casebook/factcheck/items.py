"""Single claims: the verdict of every system, and the passages that decided and that were found."""

import pandas as pd

from casebook.data.cards import card_of, may_show
from casebook.factcheck.score import is_right
from casebook.factcheck.study import touches_any
from casebook.factcheck.transfer import DEFAULT_JUDGE
from casebook.factcheck.verdict import NEUTRAL
from casebook.runs.items import MOST_BYTES, item_page, one_line
from casebook.tables import reason_text

WRONG = "wrong verdict"
MISSED = "evidence not found"
CONFUSION = "gold {}, verdict {}"
MISJUDGED = "judge wrong: {}"
RIGHT = "right verdict"
STATED = "stated probability"
SUB_CLAIMS = "sub-claims"
DECISIVE = "decisive evidence; ✓ was found"
CITED = "evidence that was found; ✓ decides"
GOLD = "gold evidence"
MOST_CELLS = 4  # of the confusion matrix, that the page offers
GOLD_LENGTH = 200  # characters of the gold evidence of a claim of another set


def claim_items(study, most_bytes=MOST_BYTES, answers=None):
    """Collect single claims: those that the first system has wrong, then with missed evidence.

    ``answers`` are those of the judges on gold evidence, by set, as
    `casebook.factcheck.transfer.run_transfer` gives them: claims that the default judge has wrong
    come, too.
    """
    results = pd.concat([_results(study, system) for system in study.verdicts])
    main = study.names[study.main]
    of_main = results[results["system"] == main].set_index("id")
    documents = {}
    items = pd.DataFrame([_claim(study, row, documents) for row in range(len(study.rows))])
    is_missed = items["tags"].map(lambda tags: MISSED in tags)
    is_wrong = items["id"].map(of_main[RIGHT]).eq(0)
    misjudged = [_misjudged(gold, judges) for gold, judges in (answers or {}).values()]
    order = pd.DataFrame({"right": ~is_wrong, "found": ~is_missed})
    order = order.sort_values(["right", "found"], kind="stable").index
    n_wrong = int(is_wrong.sum())
    items = pd.concat(
        [items.loc[order[:n_wrong]], *misjudged, items.loc[order[n_wrong:]]], ignore_index=True
    )
    cells = of_main.loc[of_main[RIGHT].eq(0), "tags"].str[0].value_counts()
    ready = [(cell, main, None) for cell in cells.index[:MOST_CELLS]]
    own_tags = dict.fromkeys(tag for tags in items["tags"] for tag in tags)
    prefix = MISJUDGED.format("")
    ready += [(tag, None, None) for tag in own_tags if tag == MISSED or tag.startswith(prefix)]
    return item_page(
        items,
        results,
        noun="claim",
        ready=ready,
        card=card_of(study.name),
        documents=documents,
        item_texts=[SUB_CLAIMS, DECISIVE],
        most_bytes=most_bytes,
    )


def _results(study, system):
    """Give the verdicts of one system, a row a claim."""
    labels = study.rows["label"]
    verdicts = pd.Series(study.verdicts[system], labels.index, dtype=object)
    right = study.right(system).astype(float)
    cells = map(CONFUSION.format, labels, verdicts.fillna("none"))
    return pd.DataFrame(
        {
            "id": study.rows["id"].astype(str),
            "system": study.names[system],
            "verdict": verdicts,
            RIGHT: right,
            STATED: pd.Series(study.confidence.get(system), labels.index, dtype=float),
            "tags": [[cell, *[WRONG] * (hit == 0)] for cell, hit in zip(cells, right, strict=True)],
        }
    )


def _claim(study, row, documents):
    """Give the fields of a claim; the passages that they name are added to the documents."""
    claim = study.rows.iloc[row]
    decisive = study.decisive[row] if study.decisive else []
    cited = study.cited[row] if study.cited else []
    fields = {"id": str(claim["id"]), "text": study.texts and one_line(study.texts[row])}
    fields |= {"gold label": claim["label"]} | {name: str(claim[name]) for name in study.slices}
    tags = [f"label: {claim['label']}", *(f"{name}: {fields[name]}" for name in study.slices)]
    if study.evidence_found and study.evidence_found[row] is not None:
        tags.append("evidence found" if study.evidence_found[row] else MISSED)
    if study.pipeline is not None:
        result = study.pipeline.results[row]
        fields["why no evidence decided"] = reason_text(result.error or result.reason)
        fields[SUB_CLAIMS] = _sub_claims(result)
    fields[DECISIVE] = [
        (
            _named(passage, study, documents),
            f"decides {passage.about or 'the claim'}: {passage.stance}",
        )
        for passage in decisive
    ]
    fields[CITED] = [(_named(passage, study, documents), _role(passage)) for passage in cited]
    if study.ablation is not None:
        parts = study.ablation["claims"].astype({"id": str}).set_index("id").loc[fields["id"]]
        tags += [name for name, decides in parts.items() if decides is True]
        changed = parts[parts.index.str.startswith("without ") & (parts != parts["verdict"])]
        fields["other verdicts"] = [f"{part}: {verdict}" for part, verdict in changed.items()]
    met = [passage for passage in decisive if touches_any(passage, cited)]
    met += [passage for passage in cited if touches_any(passage, decisive)]
    return fields | {"marked": [_named(passage, study, documents) for passage in met], "tags": tags}


def _named(passage, study, documents):
    """Name a passage, whose text is added to the documents, after the title of its own."""
    name = passage.doc_id
    if passage.end:
        name += f", characters {passage.start} to {passage.end}"
    if passage.text:
        base = study.pipeline and study.pipeline.base
        header = base.headers[base.rows[passage.doc_id]] if base else None
        documents[name] = ": ".join(filter(None, [header, passage.text]))
    return name


def _role(passage):
    """Say what a passage that was found does for a claim."""
    stance = passage.stance
    if passage.together > 1 and stance != NEUTRAL:
        stance = f"{stance}, together with {passage.together - 1} more"
    words = [f"for {passage.about}" if passage.about else None, stance]
    if passage.probability is not None:
        words.append(f"probability of support {passage.probability:.3f}")
    return "; ".join(filter(None, [*words, passage.level]))


def _sub_claims(result):
    """Give the parts of a claim with their verdicts, then those that were not judged."""
    verdicts = {part.subclaim_id: part for part in result.subverdicts}
    entries = []
    for part in (*result.subclaims, *result.dropped):
        note = f"not judged: {part.verifiability}"
        if part.id in verdicts:
            judged = verdicts[part.id]
            share = "no passage takes a side"
            if judged.score is not None:
                share = f"share of support {judged.score:.3f}"
            note = f"{judged.verdict}; {share}; {judged.evidence_count} passages"
        entries.append((f"{part.id}: {part.text}", note))
    return entries


def _misjudged(gold, judges):
    """Give the claims of a set that the default judge has wrong, given their gold evidence."""
    key = gold["dataset"].iloc[0]
    card = card_of(key)
    title = card.title.partition(",")[0] if card else key
    shown = may_show(card)
    verdicts = judges[DEFAULT_JUDGE]["verdict"]
    wrong = gold.assign(verdict=verdicts)[is_right(gold["label"], verdicts).eq(False).to_numpy()]
    rows = []
    for claim in wrong.to_dict("records"):
        evidence = " … ".join(passage.text for passage in claim["evidence"])
        row = {
            "id": f"{title} {claim['id']}",
            "text": one_line(claim["claim"]) if "items" in shown else None,
            "claims of": title,
            "gold label": claim["label"],
            "verdict of the judge, given the gold evidence": claim["verdict"],
            GOLD: one_line(evidence, GOLD_LENGTH) if "documents" in shown else None,
            "tags": [MISJUDGED.format(title)],
            "marked": [],
        }
        rows.append(row)
    return pd.DataFrame(rows)
