"use strict";
// Where nothing hovers, a touch on a mark of a figure shows its value below the figure.
for (const figure of document.querySelectorAll("figure.drawn")) {
  const shown = document.createElement("output");
  figure.querySelector("figcaption").prepend(shown);
  figure.addEventListener("pointerdown", (event) => {
    const title = event.target.closest("rect")?.querySelector("title");
    if (title) shown.textContent = title.textContent;
  });
}

// A folded section, or how to cite, opens for whoever is sent there: by a link, by the words of a search, to be printed.
const folds = [...document.querySelectorAll("details.folded, details.cite")];

function openFor(element) {
  for (let at = element; at; at = at.parentElement) if (at.matches("details")) at.open = true;
  const fold = element?.querySelector(":scope > details.folded");
  if (fold) fold.open = true;
}

function openTarget(hash) {
  const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!target) return;
  openFor(target);
  target.scrollIntoView();
}

if (folds.length) {
  openTarget(location.hash);
  window.addEventListener("hashchange", () => openTarget(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && !event.defaultPrevented) openTarget(link.getAttribute("href"));
  });
  window.addEventListener("load", () => {
    for (const fold of folds) if (fold.querySelector(".highlighted")) fold.open = true;
  });
  const closed = new Set();
  window.addEventListener("beforeprint", () => {
    for (const fold of folds) if (!fold.open) closed.add(fold);
    for (const fold of closed) fold.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
    closed.clear();
  });
}
