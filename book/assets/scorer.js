// Search results: a page on the method comes before the chapters and items that only use the word.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname === "methods/measures") return score + 20;
    if (docname.startsWith("methods/") || docname === "tutorial") return score + 8;
    if (docname.startsWith("documents/")) return score + 6;
    return docname.startsWith("generated/items/") ? score - 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
