"""Single claims: the verdict of every system, and the passages that decided and that were found."""

from itertools import chain

import numpy as np
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
FOUND = {True: "evidence found", False: MISSED}
CONFUSION = "gold {}, verdict {}"
MISJUDGED = "judge wrong: {}"
RIGHT = "right verdict"
STATED = "stated probability"
SUB_CLAIMS = "sub-claims"
DECISIVE = "decisive evidence; ✓ was found"
CITED = "evidence that was found; ✓ decides"
GOLD = "gold evidence"
VERDICT = "verdict of the judge, given the gold evidence"
MOST_CELLS = 4  # of the confusion matrix, that the page offers
GOLD_LENGTH = 200  # characters of the gold evidence of a claim of another set


def claim_items(study, most_bytes=MOST_BYTES, answers=None):
    """Collect single claims: those that the first system has wrong, then with missed evidence.

    ``answers`` are those of the judges on gold evidence, by set, as
    `casebook.factcheck.transfer.run_transfer` gives them: claims that the default judge has wrong
    come, too.
    """
    results = pd.concat([_results(study, name) for name in study.verdicts], ignore_index=True)
    main = study.names[study.main]
    wrong = results[(results["system"] == main) & results[WRONG]]
    cells = results.pop("cell")
    claims = _claims(study)
    order = [claims["evidence"] != MISSED, ~claims["id"].isin(wrong["id"])]
    claims = claims.iloc[np.lexsort(order)]
    misjudged = [_misjudged(gold, judges) for gold, judges in (answers or {}).values()]
    parts = [claims[: len(wrong)], *misjudged, claims[len(wrong) :]]
    items = pd.concat(parts, ignore_index=True)
    tags = pd.get_dummies(items[["label", *study.slices]], prefix_sep=": ")
    tags = tags.join(pd.get_dummies(items.pop("evidence")))
    tags = tags.join(pd.get_dummies(items["claims of"]).rename(columns=MISJUDGED.format))
    if study.ablation is not None:
        by_part = study.ablation["claims"].astype({"id": str}).set_index("id")
        decided = by_part.select_dtypes(bool).reindex(items["id"], fill_value=False)
        tags = tags.join(decided.reset_index(drop=True))
    offered = [tag for tag in tags if tag == MISSED or tag.startswith(MISJUDGED.format(""))]
    ready = [(cell, main, None) for cell in cells[wrong.index].value_counts().index[:MOST_CELLS]]
    return item_page(
        items.join(tags),
        results.join(pd.get_dummies(cells)),
        noun="claim",
        ready=ready + [(tag, None, None) for tag in offered],
        card=card_of(study.name),
        documents=_documents(study),
        item_texts=[SUB_CLAIMS, DECISIVE],
        most_bytes=most_bytes,
    )


def _results(study, system):
    """Give the verdicts of one system, a row a claim."""
    labels = study.rows["label"]
    verdicts = pd.Series(study.verdicts[system], labels.index, dtype=object)
    right = study.right(system).astype(float)
    return pd.DataFrame(
        {
            "id": study.rows["id"],
            "system": study.names[system],
            "verdict": verdicts,
            RIGHT: right,
            STATED: pd.Series(study.confidence.get(system), labels.index, dtype=float),
            WRONG: right == 0,
            "cell": list(map(CONFUSION.format, labels, verdicts.fillna("none"))),
        }
    ).astype({"id": str})


def _claims(study):
    """Give the fields of all claims, a row a claim."""
    claims = study.rows[["id", "label", *study.slices]].astype(str).to_dict("records")
    nothing = [()] * len(claims)
    passages = zip(study.decisive or nothing, study.cited or nothing, strict=True)
    for row, (claim, (decisive, cited)) in enumerate(zip(claims, passages, strict=True)):
        found = study.evidence_found and study.evidence_found[row]
        claim |= {"evidence": FOUND.get(found), "claims of": None}
        claim["text"] = study.texts and one_line(study.texts[row])
        if study.pipeline is not None:
            result = study.pipeline.results[row]
            claim["why no evidence decided"] = reason_text(result.error or result.reason)
            claim[SUB_CLAIMS] = _sub_claims(result)
        met = [passage for passage in decisive if touches_any(passage, cited)]
        met += [passage for passage in cited if touches_any(passage, decisive)]
        claim["marked"] = [_name(passage) for passage in met]
        claim[DECISIVE] = [(_name(one), _decides(one)) for one in decisive]
        claim[CITED] = [(_name(one), _role(one)) for one in cited]
    return pd.DataFrame(claims)


def _decides(passage):
    return f"decides {passage.about or 'the claim'}: {passage.stance}"


def _name(passage):
    where = f", characters {passage.start} to {passage.end}" if passage.end else ""
    return f"{passage.doc_id}{where}"


def _documents(study):
    """Give the texts of all passages, each after the title of its document."""
    headers = {}
    if study.pipeline is not None:
        headers = dict(zip(study.pipeline.base.doc_ids, study.pipeline.base.headers, strict=True))
    passages = chain.from_iterable([*(study.decisive or ()), *(study.cited or ())])
    return {
        _name(passage): ": ".join(filter(None, [headers.get(passage.doc_id), passage.text]))
        for passage in passages
        if passage.text
    }


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
    is_wrong = is_right(gold["label"], verdicts).eq(False).to_numpy()
    wrong = gold.assign(**{VERDICT: verdicts})[is_wrong]
    claims = wrong[["label", VERDICT]].assign(
        **{"id": f"{title} " + wrong["id"].astype(str), "claims of": title}
    )
    claims["marked"] = [[]] * len(claims)
    claims["text"] = [one_line(text) for text in wrong["claim"]] if "items" in shown else None
    quoted = [" … ".join(passage.text for passage in passages) for passages in wrong["evidence"]]
    claims[GOLD] = (
        [one_line(text, GOLD_LENGTH) for text in quoted] if "documents" in shown else None
    )
    return claims
