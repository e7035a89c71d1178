"use strict";
// One item of a chapter, such as a claim: facts, a marked change, tables. Every text goes in as text, never as HTML.
(() => {
  const data = window.casebookItems;
  const root = document.querySelector(".items");
  const MISSING = "–";
  const SIGNS = { relevant: "✓", right: "✓", found: "✓", decides: "✓", wrong: "✗", missed: "✗" };
  const NUMBER = /^[-−]?[\d.,]+$/;

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "className" || key === "onclick" || key === "oninput") element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  const hidden = (text) => make("span", { className: "visually-hidden" }, text);

  // A cell is text, a place in the documents, null, or a list of one of these, a mark and a note.
  const parts = (cell) => (Array.isArray(cell) ? cell : [cell]);

  function content(cell, missing) {
    const [value, mark, note] = parts(cell);
    const shown = mark ? [`${SIGNS[mark]} `, hidden(`${mark}: `)] : [];
    if (value === null) shown.push(MISSING, hidden(` ${missing}`));
    else if (typeof value === "number") {
      const [id, opening] = data.documents[value];
      shown.push(make("code", {}, id));
      if (opening) shown.push(make("p", { className: "opening" }, opening));
    } else shown.push(value);
    if (note) shown.push(make("p", { className: "opening" }, note));
    return shown;
  }

  function tableCell(cell, missing, column, head) {
    const [value, mark, note] = parts(cell);
    if (column === 0 && typeof value === "string" && !mark && !note) return make("th", { scope: "row" }, ...content(cell, missing));
    const kinds = [SIGNS[mark] === "✓" ? "relevant" : "", value === null || NUMBER.test(value) && typeof value === "string" ? "number" : ""];
    return make("td", { className: kinds.join(" ").trim(), "data-label": head }, ...content(cell, missing));
  }

  function table({ caption, heads, missing, cards, folded }, rows) {
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    const lines = rows.map((row) => make("tr", {}, ...row.map((cell, column) => tableCell(cell, missing, column, heads[column]))));
    const region = { className: "table-scroll", role: "region", tabindex: "0", "aria-label": caption };
    const drawn = make("table", { className: "data-table" }, make("caption", {}, caption), head, make("tbody", {}, ...lines));
    const whole = make("div", cards ? { className: "cards" } : {}, make("div", region, drawn));
    return folded ? make("details", {}, make("summary", {}, caption), whole) : whole;
  }

  const facts = (_, rows) =>
    make("dl", { className: "facts" }, ...rows.flatMap(([name, cell]) => [make("dt", {}, name), make("dd", {}, ...content(cell, "none"))]));

  // Runs of words behind "=" (in both texts), "-" (before only) or "+" (after only).
  function version(runs, sign, name, word) {
    const drawn = runs.filter((run) => run[0] === "=" || run[0] === sign).flatMap((run) => {
      const text = run.slice(1);
      return [" ", run[0] === "=" ? text : make(name, {}, hidden(`${word}: `), text, hidden(` (end of ${word})`))];
    });
    return make("dd", {}, ...(drawn.length ? drawn : [MISSING]));
  }

  const change = ({ caption }, runs) =>
    make("section", { className: "change", "aria-label": caption },
      make("p", { className: "part-caption" }, caption),
      make("dl", { className: "facts" },
        make("dt", {}, "Before"), version(runs, "-", "del", "removed"),
        make("dt", {}, "After"), version(runs, "+", "ins", "added")));

  const DRAW = { facts, change, table };

  // What is chosen stands in the address: an item, a tag, only the wrong ones, words, an order.
  const address = () => new URLSearchParams(location.hash.slice(1));
  const ORDERS = ["as in the data", ...data.orders];
  const byId = new Map(data.items.map((item) => [item.id, item]));
  const options = (names) => names.map((name) => make("option", { value: name }, name));
  const counted = data.tags.map((tag, place) => {
    const count = data.items.filter((item) => item.tags.includes(place)).length;
    return make("option", { value: tag }, `${tag} (${count})`);
  });
  const search = make("input", { type: "search", oninput: choose });
  const only = make("select", { oninput: choose }, make("option", { value: "" }, "all"), ...counted);
  const wrong = make("input", { type: "checkbox", oninput: choose });
  const order = make("select", { oninput: choose }, ...options(ORDERS));
  const choice = make("select", { oninput: () => go(choice.value) });
  const status = make("output");
  const shown = make("div");

  function chosen(id) {
    const all = { q: id, only: only.value, wrong: wrong.checked ? "1" : "", find: search.value, order: order.selectedIndex ? order.value : "" };
    return new URLSearchParams(Object.entries(all).filter(([, value]) => value));
  }

  function go(id) {
    if (id) location.hash = chosen(id);
  }

  function step(by) {
    go(choice.options[choice.selectedIndex + by]?.value);
  }

  function fits(item, words) {
    const text = [item.id, item.text ?? "", ...item.tags.map((tag) => data.tags[tag])].join(" ").toLowerCase();
    const tagged = !only.value || item.tags.includes(data.tags.indexOf(only.value));
    return tagged && (!wrong.checked || item.wrong) && words.every((word) => text.includes(word));
  }

  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = data.items.filter((item) => fits(item, words));
    const key = order.selectedIndex - 1;
    if (key >= 0) hits.sort((a, b) => a.keys[key] - b.keys[key]);
    const label = (item) => `${item.id}: ${(item.text ?? "").slice(0, 90)}`;
    choice.replaceChildren(...hits.map((item) => make("option", { value: item.id }, label(item))));
    status.textContent = `${hits.length} of ${data.items.length} ${data.noun}s`;
  }

  function choose() {
    fill();
    history.replaceState(null, "", `#${chosen(choice.value)}`);
    show();
  }

  function recall() {
    const all = address();
    search.value = all.get("find") ?? "";
    const tag = all.get("only") ?? "";
    if (tag && !data.tags.includes(tag)) only.append(make("option", { value: tag }, `${tag} (0)`));
    only.value = tag;
    wrong.checked = all.has("wrong");
    order.value = ORDERS.includes(all.get("order")) ? all.get("order") : ORDERS[0];
    fill();
    show();
  }

  const capital = data.noun[0].toUpperCase() + data.noun.slice(1);

  function show() {
    const asked = address().get("q");
    const item = byId.get(asked ?? choice.value);
    if (!item) {
      const none = asked ? `${capital} ${asked} is not on this page.` : `No ${data.noun} is like this.`;
      shown.replaceChildren(make("p", {}, none));
      return;
    }
    choice.value = item.id;
    const text = item.text ?? "The licence of the data does not let its text be shown.";
    const drawn = data.layout.flatMap((part, place) => (item.parts[place]?.length ? [DRAW[part.part](part, item.parts[place])] : []));
    shown.replaceChildren(make("h2", {}, `${capital} ${item.id}`), make("p", { className: "item-text" }, text), ...drawn);
  }

  // For a download cells are plain text, and rows have the names of their columns.
  const plain = (cell) => {
    const [value, mark, note] = parts(cell);
    const text = typeof value === "number" ? data.documents[value][0] : value;
    return mark || note ? { value: text, mark, note } : text;
  };
  const named = ({ part, heads }, rows) =>
    part === "change" ? rows
      : part === "facts" ? Object.fromEntries(rows.map(([name, cell]) => [name, plain(cell)]))
        : rows.map((row) => Object.fromEntries(row.map((cell, column) => [heads[column], plain(cell)])));

  function download() {
    const items = data.items.map((item) => ({
      id: item.id,
      text: item.text,
      tags: item.tags.map((tag) => data.tags[tag]),
      ...Object.fromEntries(data.layout.flatMap((part, place) =>
        item.parts[place] ? [[part.caption ?? part.part, named(part, item.parts[place])]] : [])),
    }));
    const link = make("a", { download: `${data.cell}.json` });
    link.href = URL.createObjectURL(new Blob([JSON.stringify({ documents: data.documents, items })], { type: "application/json" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  const filters = [make("label", {}, "Find ", search)];
  if (data.tags.length) filters.push(make("label", {}, "Show ", only));
  if (data.wrong) filters.push(make("label", {}, wrong, ` ${data.wrong}`));
  filters.push(make("label", {}, "Order ", order), status);
  root.replaceChildren(
    make("div", { className: "table-tools" }, ...filters),
    make("div", { className: "table-tools" }, make("label", {}, `${capital} `, choice), button("Previous", () => step(-1)), button("Next", () => step(1)), button("Download JSON", download)),
    shown,
  );
  window.addEventListener("hashchange", recall);
  recall();
})();
