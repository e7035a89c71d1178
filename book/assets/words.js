"use strict";
// The first mention of a term in each section leads to the word list; its sentence is the tooltip.
(() => {
  const SKIPPED = "a, button, summary, code, pre, script, style, svg, math, mjx-container, .math, h1, h2, h3, h4, h5, h6, td, select, label, output, .headerlink";
  const article = document.querySelector("article.bd-article");
  const bySpelling = new Map();
  for (const word of WORDS.words) {
    for (const text of word.spellings) bySpelling.set(text.toLowerCase(), { ...word, text });
  }
  const escaped = [...bySpelling.keys()]
    .sort((a, b) => b.length - a.length)
    .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "[\\s\\u00a0]+"));
  const mention = new RegExp(`(?<![\\p{L}\\p{N}_@-])(?:${escaped.join("|")})(?![\\p{L}\\p{N}_@-])`, "iu");
  const root = document.documentElement.dataset.content_root ?? "./";

  // A spelling with a capital is a name and has to be written so; others may begin a sentence.
  function find(text, start = 0) {
    const match = mention.exec(text.slice(start));
    if (!match) return null;
    const written = match[0].replace(/[\s\u00a0]+/g, " ");
    const word = bySpelling.get(written.toLowerCase());
    const index = start + match.index;
    const fits = word.text === word.text.toLowerCase() || word.text === written;
    return fits ? { word, index, length: match[0].length } : find(text, index + match[0].length);
  }

  function link(word) {
    const element = document.createElement("a");
    element.className = "word";
    element.href = `${root}${WORDS.page}#${word.anchor}`;
    element.title = word.means;
    return element;
  }

  const seen = new Set();
  function isFirst(node, word) {
    const key = `${node.parentElement.closest("section").id}#${word.anchor}`;
    return !seen.has(key) && seen.add(key);
  }

  function linkText(node) {
    let start = 0;
    for (let hit = find(node.data); hit; hit = find(node.data, start)) {
      start = hit.index + hit.length;
      if (!isFirst(node, hit.word)) continue;
      const text = node.splitText(hit.index);
      const rest = text.splitText(hit.length);
      const element = link(hit.word);
      text.replaceWith(element);
      element.append(text);
      node = rest;
      start = 0;
    }
  }

  // The head of a column holds the button that sorts it, in which there can be no link.
  function linkHead(head) {
    const hit = find(head.textContent);
    if (!hit || head.querySelector("a") || !isFirst(head.firstChild, hit.word)) return;
    const element = link(hit.word);
    element.classList.add("mark-only");
    element.setAttribute("aria-label", `What ${hit.word.text} means`);
    head.append(element);
  }

  const walker = document.createTreeWalker(article, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.nodeType === Node.TEXT_NODE) return NodeFilter.FILTER_ACCEPT;
    return node.matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  texts.filter((node) => node.parentElement.closest("section") && !node.parentElement.closest("th")).forEach(linkText);
  article.querySelectorAll("section table.data-table th").forEach(linkHead);
})();
