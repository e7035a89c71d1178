import retrieval_default as rd, re
from casebook.data import load
def evidence(key):
    data=load(key,kind="claims")
    says=data.evidence
    link = re.compile(r"\[\[[^|\]]*\|([^\]]*)\]\]")
    ev=data.evidence.groupby("claim_id",sort=False)["text"].apply(lambda t:" ".join(link.sub(r"\1",x) for x in t))
    claims=data.claims[data.claims["claim_id"].isin(ev.index)].sample(frac=1,random_state=3).head(500)
    return rd.collection(f"{key} evidence", claims["claim"].tolist(), ev[claims["claim_id"]].tolist(), [[r] for r in range(len(claims))])
def licence_halves():
    d=rd.halves("licence_notices")
    q=d.queries[d.queries.text.str.split().str.len()>300].sample(300,random_state=3)
    return d.subset(q["query_id"],"long")
def policies():
    """first half of each policy of PrivacyQA asks for second half"""
