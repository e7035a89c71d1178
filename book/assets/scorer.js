// Search results: the pages that the index names for a word come first (task_words.yml), then
// methods, then chapters and items that only use the word.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname === "words") return score + 20;
    if (docname.startsWith("methods/") || docname === "tutorial") return score + 8;
    if (docname.startsWith("documents/")) return score + 6;
    return docname === "generated/items" ? score - 4 : score;
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

(() => {
  const ASKING = new Set("a about an are can could did do does first for get give how i in is it make me mine my of on our should show the there this to use was we what when where which who why with you your".split(" "));
  const stemmer = new Stemmer();
  const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}@_.&/-]+/gu)?.map((word) => word.replace(/[.]+$/, "")) ?? [];
  const stems = (words) => words.flatMap((word) => word.split(/[-/]/)).map((word) => stemmer.stemWord(word)).sort().join(" ");

  // "How do I cite this?" asks for "cite", "confidence intervals" for the entry "confidence interval".
  function subject(text) {
    const words = wordsOf(text);
    const topic = words.filter((word) => !ASKING.has(word));
    const entries = Search._index.indexentries;
    for (const part of [words, topic]) {
      const same = Object.keys(entries).filter((name) => part.length && stems(wordsOf(name)) === stems(part));
      if (same.length) return same.reduce((best, name) => (entries[name].length > entries[best].length ? name : best));
    }
    return topic.join(" ") || text;
  }

  function help(text) {
    const words = wordsOf(text).filter((word) => word.length > 2 && !ASKING.has(word));
    const line = document.createElement("p");
    line.className = "search-help";
    line.append("No page has all of these words. ");
    if (words.length > 1) {
      line.append("Search for one of them: ");
      words.slice(0, 5).forEach((word) => line.append(link(`search.html?${new URLSearchParams({ q: word })}`, word), " "));
    } else line.append("Try another word.");
    return line;
  }

  function link(address, text) {
    const element = document.createElement("a");
    element.href = address;
    element.textContent = text;
    return element;
  }

  // A place once, under its longest title; a page that is there by a part of it, not again as a whole.
  function places(results) {
    const byPlace = new Map();
    for (const result of results.toReversed()) {
      const [page, title, anchor, kind] = result;
      const same = byPlace.get(page + anchor);
      if (same && !kind && title.length > same[1].length) same[1] = title;
      const isThere = same || (!anchor && [...byPlace.values()].some(([other]) => other === page));
      if (!isThere) byPlace.set(page + anchor, result);
    }
    return [...byPlace.values()].toReversed();
  }

  // What a page says cannot be read from disk.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  const { query, _performSearch } = Search;
  const { gettext } = Documentation;
  Documentation.gettext = (text) => (text.startsWith("Your search did not match") ? "Nothing found." : gettext(text));
  Search.query = (text) => {
    Search.asked = text;
    query(subject(text));
  };
  Search._performSearch = (...search) => {
    const results = places(_performSearch(...search));
    if (!results.length) Search.output.before(help(Search.asked));
    return results;
  };
})();
