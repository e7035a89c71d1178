"use strict";
// One question of a chapter: what is relevant, and what each system returned. Every text goes in as text, never as HTML.
(() => {
  const data = window.casebookQuestions;
  const root = document.querySelector(".questions");
  const MISSING = "–";

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

  function table(caption, heads, rows) {
    const head = make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text))));
    const body = make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells)));
    const region = { className: "table-scroll", role: "region", tabindex: "0", "aria-label": caption };
    return make("div", region, make("table", { className: "data-table" }, make("caption", {}, caption), head, body));
  }

  function documentCell(place, relevant) {
    const [id, opening] = data.documents[place];
    const cell = make("td", relevant ? { className: "relevant" } : {});
    cell.append(...(relevant ? ["✓ ", hidden("relevant: ")] : []), make("code", {}, id));
    if (opening) cell.append(make("p", { className: "opening" }, opening));
    return cell;
  }

  function scoreTable(question) {
    const rows = question.scores.map((scores, column) => [
      make("th", { scope: "row" }, data.systems[column]),
      ...scores.map((value) =>
        value === null
          ? make("td", { className: "number" }, MISSING, hidden(" undefined"))
          : make("td", { className: "number" }, value.toFixed(3))),
    ]);
    return table("Scores of this question", ["System", ...data.measures], rows);
  }

  function rankCell(top, place) {
    const rank = top.indexOf(place) + 1;
    return make("td", { className: "number" }, ...(rank ? [String(rank)] : [MISSING, hidden(` not in the first ${data.depth}`)]));
  }

  function relevantTable(question) {
    const rows = question.relevant.map((place) => [
      documentCell(place, true),
      ...question.top.map((top) => rankCell(top, place)),
    ]);
    return table(`Relevant documents, and their rank in the first ${data.depth}`, ["Document", ...data.systems], rows);
  }

  function topTable(question) {
    const relevant = new Set(question.relevant);
    const depth = Math.max(...question.top.map((top) => top.length));
    const rows = Array.from({ length: depth }, (_, rank) => [
      make("th", { scope: "row" }, String(rank + 1)),
      ...question.top.map((top) =>
        rank < top.length ? documentCell(top[rank], relevant.has(top[rank])) : make("td", {}, MISSING)),
    ]);
    return table(`First ${data.depth} documents of each system; ✓ is relevant`, ["Rank", ...data.systems], rows);
  }

  const values = (question) => data.tested.map((column) => question.scores[column][0] ?? 0);
  const spread = (question) => Math.max(...values(question)) - Math.min(...values(question));
  const ORDERS = {
    "as in the data": () => 0,
    "systems differ most": (a, b) => spread(b) - spread(a),
    [`${data.systems[0]} worst`]: (a, b) => values(a)[0] - values(b)[0],
  };

  const byId = new Map(data.questions.map((question) => [question.id, question]));
  const asked = () => new URLSearchParams(location.hash.slice(1)).get("q");
  const search = make("input", { type: "search", oninput: choose });
  const order = make("select", { oninput: choose }, ...Object.keys(ORDERS).map((name) => make("option", {}, name)));
  const choice = make("select", { oninput: () => go(choice.value) });
  const status = make("output");
  const shown = make("div");

  function go(id) {
    if (id) location.hash = new URLSearchParams({ q: id });
  }

  function step(by) {
    go(choice.options[choice.selectedIndex + by]?.value);
  }

  function fill() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = data.questions.filter((question) => {
      const text = `${question.id} ${question.text ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    hits.sort(ORDERS[order.value]);
    const label = (question) => `${question.id}: ${(question.text ?? "").slice(0, 90)}`;
    choice.replaceChildren(...hits.map((question) => make("option", { value: question.id }, label(question))));
    status.textContent = `${hits.length} of ${data.questions.length} questions`;
  }

  function choose() {
    fill();
    go(choice.value);
  }

  function show() {
    const question = byId.get(asked() ?? choice.value);
    if (!question) {
      shown.replaceChildren(make("p", {}, `Question ${asked() ?? ""} is not on this page.`));
      return;
    }
    choice.value = question.id;
    const text = question.text ?? "The licence of the data does not let its text be shown.";
    shown.replaceChildren(
      make("h2", {}, `Question ${question.id}`),
      make("p", { className: "question-text" }, text),
      scoreTable(question),
      relevantTable(question),
      topTable(question),
    );
  }

  function download() {
    const link = make("a", { download: `${data.cell}.json` });
    link.href = URL.createObjectURL(new Blob([JSON.stringify(data)], { type: "application/json" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  root.replaceChildren(
    make("div", { className: "table-tools" }, make("label", {}, "Find ", search), make("label", {}, "Order ", order), status),
    make("div", { className: "table-tools" }, make("label", {}, "Question ", choice), button("Previous", () => step(-1)), button("Next", () => step(1)), button("Download JSON", download)),
    shown,
  );
  window.addEventListener("hashchange", show);
  fill();
  show();
})();
