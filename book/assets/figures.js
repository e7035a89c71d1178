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
