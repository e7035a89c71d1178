"use strict";
// The items of a chapter, such as claims: chosen by tags, words and a pair of systems; one of them is shown.
// Every text goes in as text, never as HTML.
(() => {
  const packed = window.casebookItems; // as `casebook.book.item_script` writes it

  // A text, or by reference one of the page's strings.
  function whole(value) {
    if (Array.isArray(value)) return value.map(whole);
    if (typeof value !== "string" || value[0] !== "~") return value;
    return value[1] === "~" ? value.slice(1) : packed.strings[Number(value.slice(1))];
  }

  // Numbers, or null, with as many digits as the number of what they count needs: characters from 35 on, but for 92.
  function numbersIn(written, counted) {
    let width = 1;
    while (91 ** width <= counted) width += 1;
    const digit = (code) => code - (code > 92 ? 36 : 35);
    return Array.from({ length: written.length / width }, (_, place) => {
      const number = Array.from(written.slice(place * width, (place + 1) * width)).reduce((sum, character) => 91 * sum + digit(character.codePointAt(0)), 0);
      return number ? number - 1 : null;
    });
  }

  function unpacked(row) {
    const item = Object.fromEntries(row.map((value, place) => [packed.columns[place], whole(value)]));
    const scores = numbersIn(item.scores, packed.values.length);
    const length = packed.measures.length;
    item.scores = packed.systems.map((_, system) => scores.slice(system * length, (system + 1) * length));
    item.by_system = numbersIn(item.by_system, packed.tag_lists.length).map((place) => packed.tag_lists[place]);
    return item;
  }

  const items = packed.items.map(unpacked);
  const data = { ...packed, items };
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

  // Scores are positions in an ascending list of values: their signs are those of the values.
  const valueOf = (item, system, measure) => {
    const place = item.scores[system]?.[measure] ?? null;
    return place === null ? null : data.values[place];
  };
  const digits = (value, measure) => (value === null ? null : value.toFixed(data.measures[measure][1]));
  const signed = (value, measure) => {
    const text = Math.abs(value).toFixed(data.measures[measure][1]);
    return (Number(text) === 0 ? "" : value > 0 ? "+" : "−") + text;
  };

  function scores({ caption }, item, view) {
    const heads = ["System", ...data.measures.map(([name]) => name)];
    const rows = data.systems.map((name, system) => [name, ...data.measures.map((_, measure) => digits(valueOf(item, system, measure), measure))]);
    const drawn = table({ caption, heads, missing: "undefined" }, rows);
    drawn.querySelectorAll("tbody tr").forEach((row, system) => row.classList.toggle("chosen", view.pair.includes(system)));
    return drawn;
  }

  // A list of documents has a character for each, whose code is its position and 35.
  const decoded = (list) => [...list].map((character) => character.codePointAt(0) - 35);

  // What the two systems returned: the ranks of the relevant documents, and the lists.
  function rankings({ ranked, lists, depth }, [documents, relevant, distinct, positions], view) {
    const pair = [...new Set(view.pair)];
    const names = pair.map((system) => data.systems[system]);
    const found = pair.map((system) => decoded(distinct[positions[system]]));
    const rank = (place) => (place < 0 ? null : String(place + 1));
    const ranks = documents.slice(0, relevant).map((document, place) => [[document, "relevant"], ...found.map((list) => rank(list.indexOf(place)))]);
    const listed = (place) => (place === undefined ? null : place < relevant ? [documents[place], "relevant"] : documents[place]);
    const longest = Math.max(0, ...found.map((list) => list.length));
    const rows = Array.from({ length: longest }, (_, place) => [String(place + 1), ...found.map((list) => listed(list[place]))]);
    return make("div", {},
      ...(ranks.length ? [table({ caption: ranked, heads: ["Document", ...names], missing: `not in the first ${depth}` }, ranks)] : []),
      ...(rows.length ? [table({ caption: lists, heads: ["Rank", ...names], missing: "none" }, rows)] : []));
  }

  const DRAW = { facts, change, table, scores, rankings };

  // The state of the page is its address: an item, a tag, words, a pair of systems, an order.
  const KEYS = ["q", "only", "wrong", "find", "order", "system", "against", "change", "measure"];
  const CHANGES = Object.keys(data.words);
  const OTHER_NOT = ", other not";
  const paired = data.pair !== null && data.measures.length > 0;
  const byId = new Map(data.items.map((item) => [item.id, item]));
  const bySystem = new Set(data.items.flatMap((item) => item.by_system.flat()));
  const names = data.measures.map(([name]) => name);
  const IN_DATA = "as in the data";
  const ORDERS = [IN_DATA, ...data.orders, ...(paired ? [`${CHANGES[2]} first`, `${CHANGES[0]} first`] : []),
    ...(names.length ? ["lowest first", "systems differ most"] : [])];

  function read() {
    const address = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(KEYS.map((key) => [key, address.get(key) ?? ""]));
  }

  const write = (state) => new URLSearchParams(KEYS.filter((key) => state[key]).map((key) => [key, state[key]]));

  // What a state means: the pair, the measure, the tag; and what of it this page does not have.
  function resolve(state) {
    const problems = [];
    const find = (list, name, what) => {
      const place = list.indexOf(name);
      if (place < 0) problems.push(`This page has no ${what} called “${name}”.`);
      return place;
    };
    const usual = data.pair ?? [0, 0];
    let system = state.system ? find(data.systems, state.system, "system") : usual[0];
    let against = state.against ? find(data.systems, state.against, "system") : usual[1];
    if (system === against && !state.against) against = usual[0];
    if (system === against && !state.system) system = usual[1];
    const measure = state.measure ? find(names, state.measure, "measure") : 0;
    if (state.change) find(CHANGES, state.change, "change");
    if (state.order) find(ORDERS, state.order, "order");
    const base = state.only.endsWith(OTHER_NOT) ? state.only.slice(0, -OTHER_NOT.length) : state.only;
    const tag = data.tags.indexOf(base);
    if (state.only && tag < 0) problems.push(`No ${data.noun} has the tag “${base}”.`);
    return { pair: [system, against], measure, tag, alone: base !== state.only, problems };
  }

  const has = (item, tag, system) => item.tags.includes(tag) || Boolean(item.by_system[system]?.includes(tag));

  function difference(item, view) {
    const [value, other] = view.pair.map((system) => valueOf(item, system, view.measure));
    return value === null || other === null ? null : value - other;
  }

  function changeOf(item, view) {
    const by = difference(item, view);
    return by === null ? "" : CHANGES[by > 0 ? 0 : by < 0 ? 2 : 1];
  }

  function fits(item, state, view, words) {
    const [system, against] = view.pair;
    if (state.only && !(has(item, view.tag, system) && !(view.alone && has(item, view.tag, against)))) return false;
    if (state.wrong && !(data.wrong && has(item, data.tags.indexOf(data.wrong[0]), system))) return false;
    if (state.change && changeOf(item, view) !== state.change) return false;
    if (!words.length) return true;
    const tags = [...item.tags, ...(item.by_system[system] ?? [])].map((tag) => data.tags[tag]);
    const text = [item.id, item.text ?? "", ...tags].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  const wordsOf = (state) => state.find.toLowerCase().split(/\s+/).filter(Boolean);

  // Nothing stands for an unknown name: such an address has no items.
  function matching(state, view = resolve(state)) {
    if (view.problems.length) return [];
    const words = wordsOf(state);
    return data.items.filter((item) => fits(item, state, view, words));
  }

  // A change puts the largest differences first, where no order is chosen.
  function orderOf(state) {
    if (state.order) return state.order;
    return state.change && state.change !== CHANGES[1] ? `${state.change} first` : IN_DATA;
  }

  function keyOf(state, view) {
    const name = orderOf(state);
    const place = data.orders.indexOf(name);
    if (place >= 0) return (item) => item.keys[place];
    const by = (item) => difference(item, view) ?? NaN;
    if (name === "lowest first") return (item) => valueOf(item, view.pair[0], view.measure) ?? NaN;
    if (name === "systems differ most") {
      return (item) => {
        const values = data.tested.map((system) => valueOf(item, system, view.measure)).filter((value) => value !== null);
        return values.length ? Math.min(...values) - Math.max(...values) : NaN;
      };
    }
    if (name === `${CHANGES[2]} first`) return by;
    return name === `${CHANGES[0]} first` ? (item) => -by(item) : null;
  }

  function ordered(items, key) {
    if (!key) return items;
    const last = (value) => (Number.isNaN(value) ? Infinity : value);
    const keys = new Map(items.map((item) => [item, last(key(item))]));
    return items.sort((a, b) => (keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0));
  }

  const capital = data.noun[0].toUpperCase() + data.noun.slice(1);
  const option = (value, text = value) => make("option", { value }, text);
  const select = () => make("select", { oninput: choose });
  const search = make("input", { type: "search", oninput: choose });
  const only = select();
  const wrong = make("input", { type: "checkbox", oninput: choose });
  const wrongLabel = document.createTextNode("");
  const order = select();
  const system = select();
  const against = select();
  const changed = select();
  const measure = select();
  const choice = make("select", { oninput: () => go(choice.value) });
  const status = make("output");
  const problems = make("p", { className: "problem", role: "status" });
  const ready = make("ul", { className: "ready" });
  const shown = make("div");

  // The choice of a list; a name that the list lacks is added, so that the list says what the address says.
  function fill(list, options, value) {
    list.replaceChildren(...options);
    if (value && !list.querySelector(`option[value="${CSS.escape(value)}"]`)) list.append(option(value, `${value} (not on this page)`));
    list.value = value;
  }

  function tagOptions(state, view) {
    const items = matching({ ...state, only: "" });
    const count = (tag) => items.filter((item) => has(item, tag, view.pair[0])).length;
    const alone = (tag) => items.filter((item) => has(item, tag, view.pair[0]) && !has(item, tag, view.pair[1])).length;
    const counted = data.tags.map((tag, place) => option(tag, `${tag} (${count(place)})`));
    const ofSystem = counted.filter((_, place) => bySystem.has(place));
    const flips = paired ? [...bySystem].sort((a, b) => a - b).map((place) => option(data.tags[place] + OTHER_NOT, `${data.tags[place]}${OTHER_NOT} (${alone(place)})`)) : [];
    const [name, other] = view.pair.map((place, k) => data.systems[place] ?? [state.system, state.against][k]);
    const groups = [[`${data.noun}s`, counted.filter((_, place) => !bySystem.has(place))], [name, ofSystem], [`${name}, not ${other}`, flips]];
    const drawn = groups.filter(([, options]) => options.length).map(([label, options]) => make("optgroup", { label }, ...options));
    return [option("", "all"), ...drawn];
  }

  function changeOptions(state, view) {
    const items = matching({ ...state, change: "" });
    const count = (name) => items.filter((item) => changeOf(item, view) === name).length;
    return [option("", `all (${items.length})`), ...CHANGES.map((name) => option(name, `${data.words[name]} (${count(name)})`))];
  }

  function label(item, state, view) {
    const by = paired && orderOf(state) !== IN_DATA ? difference(item, view) : null;
    return `${item.id}: ${by === null ? "" : `${signed(by, view.measure)} · `}${(item.text ?? "").slice(0, 90)}`;
  }

  function controls(state, view) {
    search.value = state.find;
    fill(only, tagOptions(state, view), state.only);
    wrong.checked = Boolean(state.wrong);
    wrongLabel.data = data.wrong ? ` ${data.wrong[1].replace("{system}", data.systems[view.pair[0]] ?? state.system)}` : "";
    fill(order, ORDERS.map((name) => option(name)), orderOf(state));
    fill(measure, names.map((name) => option(name)), state.measure || (names[0] ?? ""));
    fill(system, data.systems.map((name) => option(name)), data.systems[view.pair[0]] ?? state.system);
    fill(against, data.systems.map((name) => option(name)), data.systems[view.pair[1]] ?? state.against);
    fill(changed, changeOptions(state, view), state.change);
  }

  function draw() {
    const state = read();
    const view = resolve(state);
    controls(state, view);
    const hits = ordered(matching(state, view), keyOf(state, view));
    choice.replaceChildren(...hits.map((item) => option(item.id, label(item, state, view))));
    status.textContent = `${hits.length} of ${data.items.length} ${data.noun}s`;
    const lines = [...view.problems];
    const item = lines.length ? null : byId.get(state.q || choice.value);
    if (state.q && !byId.has(state.q)) lines.push(`${capital} ${state.q} is not on this page.`);
    else if (item && !hits.includes(item)) lines.push(`${capital} ${item.id} is not among those chosen above.`);
    else if (!item && !lines.length) lines.push(`No ${data.noun} is like this.`);
    problems.textContent = lines.join(" ");
    problems.hidden = !lines.length;
    choice.value = item?.id ?? "";
    show(item, view);
  }

  function show(item, view) {
    if (!item) return shown.replaceChildren();
    const text = item.text ?? "The licence of the data does not let its text be shown.";
    const drawn = data.layout.flatMap((part, place) => {
      const content = part.part === "scores" ? item : item.parts[place];
      return content ? [DRAW[part.part](part, content, view)] : [];
    });
    shown.replaceChildren(make("h2", {}, `${capital} ${item.id}`), make("p", { className: "item-text" }, text), ...compared(item, view), ...drawn);
  }

  function compared(item, view) {
    const by = paired && !view.problems.length ? difference(item, view) : null;
    if (by === null) return [];
    const values = view.pair.map((place) => `${data.systems[place]} ${digits(valueOf(item, place, view.measure), view.measure)}`);
    return [make("p", { className: "compared" }, `${names[view.measure]}: ${values.join(", ")} (${signed(by, view.measure)})`)];
  }

  // A control changes its part of the address; the first item of the new choice is shown.
  const CONTROLS = new Map([[search, "find"], [only, "only"], [order, "order"], [changed, "change"], [measure, "measure"]]);

  function choose({ target }) {
    const state = { ...read(), q: "" };
    if (target === wrong) state.wrong = wrong.checked ? "1" : "";
    else if (CONTROLS.has(target)) state[CONTROLS.get(target)] = target.value;
    else Object.assign(state, { system: system.value }, paired ? { against: against.value } : {});
    history.replaceState(null, "", `#${write(state)}`);
    draw();
  }

  function go(id) {
    if (id) location.hash = write({ ...read(), q: id });
  }

  function step(by) {
    go(choice.options[choice.selectedIndex + by]?.value);
  }

  // A link to the view with its item; where the browser has no clipboard for pages from disk, by selection.
  async function copyLink() {
    const link = `${location.href.split("#")[0]}#${write({ ...read(), q: choice.value })}`;
    try {
      await navigator.clipboard.writeText(link);
    } catch {
      const field = make("textarea", { "aria-hidden": "true" }, link);
      document.body.append(field);
      field.select();
      const copied = document.execCommand("copy");
      field.remove();
      if (!copied) return window.prompt("Copy this link", link);
    }
    status.textContent = "Link copied";
  }

  // For a download cells are plain text, and rows have the names of their columns.
  const plain = (cell) => {
    const [value, mark, note] = parts(cell);
    const text = typeof value === "number" ? data.documents[value][0] : value;
    return mark || note ? { value: text, mark, note } : text;
  };
  const named = ({ part, heads }, rows) => {
    if (part === "change") return rows;
    if (part === "facts") return Object.fromEntries(rows.map(([name, cell]) => [name, plain(cell)]));
    if (part === "table") return rows.map((row) => Object.fromEntries(row.map((cell, column) => [heads[column], plain(cell)])));
    const [documents, relevant, distinct, positions] = rows;
    const ids = (list) => list.map((place) => data.documents[documents[place]][0]);
    return { relevant: ids([...documents.slice(0, relevant).keys()]), ...Object.fromEntries(data.systems.map((name, place) => [name, ids(decoded(distinct[positions[place]]))])) };
  };
  const scored = (item) =>
    Object.fromEntries(data.systems.map((name, place) => [name, Object.fromEntries(names.map((one, k) => [one, valueOf(item, place, k)]))]));

  function download() {
    const items = data.items.map((item) => ({
      id: item.id,
      text: item.text,
      tags: item.tags.map((tag) => data.tags[tag]),
      scores: scored(item),
      ...Object.fromEntries(data.layout.flatMap((part, place) =>
        item.parts[place] ? [[part.caption ?? part.lists ?? part.part, named(part, item.parts[place])]] : [])),
    }));
    const link = make("a", { download: `${data.cell}.json` });
    link.href = URL.createObjectURL(new Blob([JSON.stringify({ documents: data.documents, items })], { type: "application/json" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  const labelled = (text, list) => {
    list.id = `items-${text.toLowerCase()}`;
    return make("span", { className: "labelled" }, make("label", { for: list.id }, text), list);
  };
  const pairTools = [];
  if (paired) pairTools.push(labelled("System", system), labelled("against", against), labelled("change", changed));
  else if (bySystem.size) pairTools.push(labelled("System", system));
  if (paired && names.length > 1) pairTools.push(labelled("in", measure));
  const filters = [labelled("Find", search)];
  if (data.tags.length) filters.push(labelled("Show", only));
  if (data.wrong) filters.push(make("label", {}, wrong, wrongLabel));
  filters.push(labelled("Order", order), status);
  ready.append(...data.questions.map(([text, choices]) => {
    const state = { ...Object.fromEntries(KEYS.map((key) => [key, ""])), ...choices };
    const count = matching(state).length;
    const line = `${text} (${count})`;
    return make("li", {}, count ? make("a", { href: `#${write(state)}` }, line) : line);
  }));
  root.replaceChildren(
    ...(data.questions.length ? [ready] : []),
    ...(pairTools.length ? [make("div", { className: "table-tools" }, ...pairTools)] : []),
    make("div", { className: "table-tools" }, ...filters),
    make("div", { className: "table-tools" }, labelled(capital, choice), button("Previous", () => step(-1)), button("Next", () => step(1)),
      button("Copy link", copyLink), button("Download JSON", download)),
    problems,
    shown,
  );
  window.addEventListener("hashchange", draw);
  draw();
})();
