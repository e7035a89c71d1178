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

// One number a column: a value with an interval becomes three, an undefined one is empty, thousands have no comma.
const textOf = (element) => element?.textContent.trim().replace(/−(?=\d)/g, "-") ?? "";
function fieldsOf(cell, withInterval) {
  if (cell.querySelector('[aria-label="not available"]')) return withInterval ? ["", "", ""] : [""];
  const interval = textOf(cell.querySelector(".interval"));
  const value = textOf(cell.querySelector("data") ?? cell);
  const plain = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(value) ? value.replace(/,/g, "") : value;
  const bounds = interval.match(/-?\d[\d.,]*(?=[\],])/g) ?? ["", ""];
  return withInterval ? [plain, ...bounds.slice(0, 2).map((bound) => bound.replace(/,/g, ""))] : [plain];
}

// What is shown: neither the columns nor the rows that are hidden.
function csvOf(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = [...table.tBodies[0].rows].filter((row) => !row.hidden);
  const shown = heads.map((_, place) => place).filter((place) => !heads[place].hidden);
  const split = new Set(shown.filter((place) => body.some((row) => row.cells[place].querySelector(".interval"))));
  const names = shown.flatMap((place) => {
    const name = heads[place].textContent.trim();
    return split.has(place) ? [name, `${name} low`, `${name} high`] : [name];
  });
  const lines = body.map((row) => shown.flatMap((place) => fieldsOf(row.cells[place], split.has(place))));
  return [names, ...lines].map((line) => line.map((text) => field(inert(text))).join(",")).join("\n") + "\n";
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

// A wide table shows its first columns, at most seven and on a desktop no more than fit, until a reader asks for all.
function foldColumns(table, region, bar) {
  const rows = [...table.rows];
  const all = rows[0].cells.length;
  const draw = (count) => rows.forEach((row) => [...row.cells].forEach((cell, place) => (cell.hidden = place >= count)));
  let shown = Math.min(all, table.dataset.shown ?? all);
  draw(shown);
  while (innerWidth >= 1200 && shown > 2 && region.scrollWidth > region.clientWidth + 1) draw(--shown);
  if (shown === all) return;
  const toggle = button(`All ${all} columns`, () => {
    const open = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", open);
    draw(open ? all : shown);
  });
  toggle.setAttribute("aria-pressed", false);
  bar.append(toggle);
}

// Says that columns are out of sight, where they are.
function tellOfMore(region, bar) {
  const note = document.createElement("span");
  note.className = "more";
  note.textContent = "scrolls sideways →";
  bar.append(note);
  new ResizeObserver(() => (note.hidden = region.scrollWidth <= region.clientWidth + 1)).observe(region);
}

for (const table of document.querySelectorAll("table.data-table, .pst-scrollable-table-container > table")) {
  const region = table.parentElement;
  const bar = document.createElement("div");
  bar.className = "table-tools";
  region.before(bar);
  if (table.matches(".data-table")) {
    if (table.tBodies[0].rows.length > 8) addFilter(table, bar);
    bar.append(button("Download CSV", () => download(table)));
    if (table.closest(".cards")) nameCells(table);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const sorter = button("", () => sortBy(table, column));
      sorter.append(...head.childNodes);
      head.classList.toggle("number", Boolean(table.tBodies[0].rows[0]?.cells[column]?.classList.contains("number")));
      head.append(sorter);
    });
  }
  foldColumns(table, region, bar);
  tellOfMore(region, bar);
}


// What the last page says at its end stands at the foot of every printed page.
const foot = document.querySelector(".print-footer")?.textContent.trim().replace(/\s+/g, " ");
if (foot) {
  const style = document.createElement("style");
  const box = "font: 8pt sans-serif; color: #444;";
  style.textContent = `@page { @bottom-left { content: ${JSON.stringify(foot)}; ${box} } @bottom-right { content: counter(page); ${box} } }`;
  document.head.append(style);
}
