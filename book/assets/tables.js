"use strict";
// Enhance <table class="data-table">: sort buttons, one filter, CSV download. Without it the table is complete.
const numeric = (cell) => {
  const text = cell.dataset.sort ?? cell.querySelector("data")?.value ?? cell.textContent.trim();
  const number = Number(text.replace(/,/g, ""));
  return text === "" ? null : Number.isNaN(number) ? text : number;
};

const compare = (a, b) =>
  typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), undefined, { numeric: true });

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const descending = heads[column].getAttribute("aria-sort") === "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const keyed = [...table.tBodies[0].rows].map((row) => [numeric(row.cells[column]), row]);
  keyed.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null); // empty cells last, both ways
    return descending ? compare(b, a) : compare(a, b);
  });
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

// What a spreadsheet would run as a formula gets an apostrophe; numbers, with their interval too, stay as they are.
const FORMULA = /^'*(?:[\t\r]|[\s\u200b\ufeff]*[=+@＝＋－＠-])/;
const NUMBER = /^[-+]?[\d.,]+(?:e[-+]?\d+)?%?(?: \[[-+\d.,e ]+\])?$/i;
const inert = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

const field = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

function csvOf(table) {
  const line = (cells) => [...cells].map((cell) => field(inert(cell.textContent.trim()))).join(",");
  return [...table.rows].map((row) => line(row.cells)).join("\n") + "\n";
}

function download(table) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
  link.download = (table.caption?.textContent ?? "table").slice(0, 60).replace(/[^\w]+/g, "-") + ".csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}

function addFilter(table, bar) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  input.type = "search";
  label.append("Filter ", input);
  const rows = [...table.tBodies[0].rows];
  const place = `filter-${document.querySelectorAll(".table-tools input").length + 1}`;
  const stored = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = rows.filter((row) => {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      return !row.hidden;
    });
    count.textContent = `${hits.length} of ${rows.length} rows`;
  };
  const remember = () => {
    const all = stored();
    input.value ? all.set(place, input.value) : all.delete(place);
    history.replaceState(null, "", `#${all}`);
  };
  const recall = () => {
    input.value = stored().get(place) ?? input.value;
    show();
  };
  input.addEventListener("input", () => (remember(), show()));
  window.addEventListener("hashchange", recall);
  recall();
  bar.append(label, count);
}

// On a phone the rows of such a table stand as cards, each cell with its column's name.
function nameCells(table) {
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, column) => (cell.dataset.label = heads[column]));
}

// Says that columns are out of sight, where they are.
function tellOfMore(region, bar) {
  const note = document.createElement("span");
  note.className = "more";
  note.textContent = "scrolls sideways →";
  bar.append(note);
  new ResizeObserver(() => (note.hidden = region.scrollWidth <= region.clientWidth + 1)).observe(region);
}

for (const table of document.querySelectorAll("table.data-table")) {
  const bar = document.createElement("div");
  bar.className = "table-tools";
  if (table.tBodies[0].rows.length > 8) addFilter(table, bar);
  bar.append(button("Download CSV", () => download(table)));
  if (table.closest(".table-scroll")) tellOfMore(table.closest(".table-scroll"), bar);
  (table.closest(".table-scroll") ?? table).before(bar);
  if (table.closest(".cards")) nameCells(table);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const sorter = button("", () => sortBy(table, column));
    sorter.append(...head.childNodes);
    head.append(sorter);
  });
}

window.addEventListener("beforeprint", () => document.querySelectorAll("details.reproduce").forEach((line) => (line.open = true)));
