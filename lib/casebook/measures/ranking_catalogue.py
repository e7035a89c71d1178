"""Every standard ranking measure once: definition, range, source and formula."""

import numpy as np

from casebook.measures import ranking_families as m
from casebook.measures import ranking_formulas as f
from casebook.measures import ranking_gains as g
from casebook.measures.ranking_families import Family, MeasureInfo

TREC_EVAL = "trec_eval 10"

STANDARD = {
    "nDCG": Family(
        MeasureInfo(
            "nDCG@k",
            "Sum of gain / log2(rank + 1) over the first k documents, divided by the "
            "same sum for the judged documents in the best order. The gain is the "
            "grade, or 2**grade - 1 for nDCG(dcg='exp-log2')@k; no gain is below 0.",
            0.0,
            1.0,
            "Jarvelin and Kekalainen 2002; exponential gain: Burges et al. 2005",
            "Equals trec_eval's ndcg and ndcg_cut_k. Has no relevance level.",
        ),
        m.ndcg,
        parameters=("dcg",),
    ),
    "AP": Family(
        MeasureInfo(
            "AP@k",
            "Mean over all relevant documents of the precision at their rank, 0 for those not among the first k.",
            0.0,
            1.0,
            "Buckley and Voorhees 2005",
            "Equals trec_eval's map and map_cut_k: the divisor is the number of "
            "relevant documents even if it exceeds k.",
        ),
        lambda k, rel=1: f.AveragePrecision(rel, k),
    ),
    "RR": Family(
        MeasureInfo(
            "RR@k",
            "1 / rank of the first relevant document, 0 if that is beyond k.",
            0.0,
            1.0,
            "Kantor and Voorhees 2000",
            "Ties are broken as for every other measure; ir_measures breaks them the other way for RR@k.",
        ),
        lambda k, rel=1: f.FirstRelevant(g.reciprocal, rel, k),
    ),
    "P": Family(
        MeasureInfo(
            "P@k",
            "Number of relevant documents among the first k, divided by k.",
            0.0,
            1.0,
            TREC_EVAL,
            "Divides by k even if fewer documents are retrieved.",
        ),
        m.precision,
        cutoff="required",
    ),
    "R": Family(
        MeasureInfo(
            "R@k",
            "Share of the relevant documents that is among the first k.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals trec_eval's recall_k.",
        ),
        m.recall,
        cutoff="required",
    ),
    "Success": Family(
        MeasureInfo(
            "Success@k",
            "1 if a relevant document is among the first k, else 0.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals trec_eval's success_k.",
        ),
        lambda k, rel=1: f.FirstRelevant(g.no_discount, rel, k),
        cutoff="required",
    ),
    "Rprec": Family(
        MeasureInfo(
            "Rprec",
            "Precision at rank R, the number of relevant documents of the query.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals trec_eval's Rprec: divides by R even if fewer are retrieved.",
        ),
        m.r_precision,
        cutoff="none",
    ),
    "bpref": Family(
        MeasureInfo(
            "bpref",
            "Mean over relevant documents of 1 - n / min(R, N), where n counts the "
            "judged non-relevant documents ranked above (at most R), R the relevant "
            "and N the judged non-relevant ones; 0 for those not retrieved.",
            0.0,
            1.0,
            "Buckley and Voorhees 2004, as corrected in trec_eval",
            "Negative grades count as unjudged. 1 per retrieved relevant document if none is judged non-relevant.",
        ),
        lambda k, rel=1: f.BinaryPreference(rel),
        cutoff="none",
    ),
    "RBP": Family(
        MeasureInfo(
            "RBP(p=0.8)@k",
            "Sum of (1 - p) p**(rank - 1) over the relevant documents among the first "
            "k: the rate of relevant documents met by a reader who goes on to the next "
            "with probability p.",
            0.0,
            1.0,
            "Moffat and Zobel 2008",
            "Binary at grade 1 unless rel is given; p is 0.8 unless given. trec_eval's "
            "rbp has p = 0.9 and, where a grade exceeds 1, the gain grade / highest "
            "judged grade of the query: the two agree on grades 0 and 1 alone, where "
            "rbp is RBP(p=0.9).",
        ),
        m.rank_biased,
        parameters=("p", "rel"),
    ),
    "Judged": Family(
        MeasureInfo(
            "Judged@k",
            "Share of the first k documents (or of those retrieved, if fewer) that has a judgement.",
            0.0,
            1.0,
            "ir_measures",
            "Any grade counts as a judgement, negative ones too. Ties are broken as "
            "for every other measure; ir_measures breaks them the other way.",
        ),
        m.judged_share,
        parameters=(),
    ),
    "IPrec": Family(
        MeasureInfo(
            "IPrec@x",
            "Highest precision at any rank where the share x of the relevant documents has been found.",
            0.0,
            1.0,
            TREC_EVAL,
            "Equals iprec_at_recall_x of trec_eval 10, which rounds x times the number "
            "of relevant documents to the nearest; trec_eval 9 rounded almost always "
            "up.",
        ),
        lambda x, rel=1: f.InterpolatedPrecision(x, rel),
        cutoff="required",
    ),
    "gm_map": Family(
        MeasureInfo(
            "gm_map",
            "Average precision; summarised over queries by the geometric mean, values below 0.00001 raised to it.",
            0.0,
            1.0,
            "Robertson 2006, trec_eval 10",
            "The value per query is AP; only the summary differs from map.",
        ),
        lambda k, rel=1: f.AveragePrecision(rel, k),
        cutoff="none",
        aggregate="geometric",
    ),
    "NumQ": Family(
        MeasureInfo(
            "NumQ",
            "1 per query; summed.",
            1.0,
            np.inf,
            TREC_EVAL,
            "Equals trec_eval's num_q with -c: queries that the run lacks count too.",
        ),
        lambda k: f.Count(lambda judged: np.ones(len(judged.query_ids))),
        cutoff="none",
        parameters=(),
        aggregate="sum",
    ),
    "NumRet": Family(
        MeasureInfo(
            "NumRet", "Number of documents retrieved; summed.", 0.0, np.inf, TREC_EVAL, "Equals trec_eval's num_ret."
        ),
        lambda k: f.Count(lambda judged: judged.retrieved),
        cutoff="none",
        parameters=(),
        aggregate="sum",
    ),
    "NumRel": Family(
        MeasureInfo(
            "NumRel", "Number of relevant documents; summed.", 0.0, np.inf, TREC_EVAL, "Equals trec_eval's num_rel."
        ),
        lambda k, rel=1: f.Count(m.count_relevant(rel)),
        cutoff="none",
        aggregate="sum",
    ),
    "NumRelRet": Family(
        MeasureInfo(
            "NumRelRet",
            "Number of relevant documents retrieved; summed.",
            0.0,
            np.inf,
            TREC_EVAL,
            "Equals trec_eval's num_rel_ret.",
        ),
        lambda k, rel=1: f.Count(m.count_relevant_retrieved(rel)),
        cutoff="none",
        aggregate="sum",
    ),
}
