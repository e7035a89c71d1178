"use strict";
// The items of a chapter, such as claims: chosen by tags, words and a pair of systems; one of them is shown.
// `casebook.runs.items` collects them. Every text goes in as text, never as HTML.
(() => {
  const root = document.querySelector(".items");
  const cellOf = (hash) => new URLSearchParams(hash.slice(1)).get("of");
  const cell = cellOf(location.hash);
  window.addEventListener("hashchange", () => {
    if (cellOf(location.hash) !== cell) location.reload();
  });
  // Only what the page itself lists is loaded, whatever the address says.
  const listed = [...document.querySelectorAll(".items-of a")].map((link) => cellOf(link.hash));
  if (!listed.includes(cell)) {
    root.replaceChildren(cell ? `This report has no items of “${cell}”. ` : "", "Choose a chapter below.");
    return;
  }
  const script = document.createElement("script");
  script.src = `items/${encodeURIComponent(cell)}.js`;
  script.onload = async () => showItems(root, cell, await unpacked(window.casebookItems));
  document.head.append(script);
})();

function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function showItems(root, cell, data) {
  const byId = new Map(data.items.map((item, place) => [item.id, place]));
  const paired = data.systems.length > 1;
  const whole = data.items.length === data.asked; // of what was left out, none is no finding
  const leftOut = (which) => `This page, which leaves out some ${data.noun}s, has none ${which}.`;
  const usual = [data.systems[0] ?? "", data.systems[data.against] ?? ""];
  const capital = (text) => (/^[a-z]{2}/.test(text) ? text[0].toUpperCase() + text.slice(1) : text); // not nDCG
  const noun = capital(data.noun);

  // --- the state of the page is its address

  const KEYS = ["of", "q", "find", "only", "without", "system", "against", "measure", "change", "order"];
  const CHANGES = { better: "higher", equal: "equal", worse: "lower" };
  const ORDERS = ["as listed", "lowest first", ...(paired ? ["lower first", "higher first"] : [])];

  function read() {
    const address = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(KEYS.map((key) => [key, address.get(key) ?? ""]));
  }

  const write = (state) => new URLSearchParams(KEYS.filter((key) => state[key]).map((key) => [key, state[key]])).toString();

  // The two systems: the usual ones where the address names none.
  function pairOf({ system, against }) {
    if (system && against) return [system, against];
    if (system) return [system, system === usual[1] ? usual[0] : usual[1]];
    return against ? [against === usual[0] ? usual[1] : usual[0], against] : usual;
  }

  // The places of the items with a tag, of their own or of a system.
  const tags = new Map(Object.entries(data.tags));
  const systemTags = new Map(data.systems.map((name, place) => [name, new Map(Object.entries(data.system_tags[place]))]));
  const tagged = (tag, system) => tags.get(tag) ?? systemTags.get(system)?.get(tag) ?? [];
  const hasTag = (tag) => [tags, ...systemTags.values()].some((known) => known.has(tag));

  function valueOf(item, system, measure) {
    return item.cells[data.systems.indexOf(system)]?.[data.columns.indexOf(measure)] ?? null;
  }

  function difference(item, [system, against], measure) {
    const [value, other] = [valueOf(item, system, measure), valueOf(item, against, measure)];
    return value === null || other === null ? null : value - other;
  }

  const measureOf = (state) => state.measure || (data.measures[0] ?? "");
  const orderOf = (state) => state.order || ({ worse: "lower first", better: "higher first" }[state.change] ?? ORDERS[0]);
  const changeOf = (by) => (by === null ? "" : by > 0 ? "better" : by < 0 ? "worse" : "equal");

  // What the address names and this page does not have.
  function problemsOf(state) {
    const lists = { system: data.systems, against: data.systems, measure: data.measures, change: Object.keys(CHANGES), order: ORDERS };
    const unknown = Object.entries(lists).filter(([key, names]) => state[key] && !names.includes(state[key]));
    const missing = ["only", "without"].filter((key) => state[key] && !hasTag(state[key]));
    return [
      ...unknown.map(([key]) => `This page has no ${key === "against" ? data.by : key} called “${state[key]}”.`),
      ...missing.map((key) => (whole ? `No ${data.noun} has the tag “${state[key]}”.` : leftOut(`with the tag “${state[key]}”`))),
    ];
  }

  // The places of the chosen items, in their order.
  function matching(state) {
    if (problemsOf(state).length) return [];
    const pair = pairOf(state);
    const measure = measureOf(state);
    const only = state.only ? new Set(tagged(state.only, pair[0])) : null;
    const without = new Set(state.without ? tagged(state.without, pair[1]) : []);
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (item, place) => {
      if ((only && !only.has(place)) || without.has(place)) return false;
      if (state.change && changeOf(difference(item, pair, measure)) !== state.change) return false;
      const text = `${item.id} ${item.text ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const places = data.items.flatMap((item, place) => (fits(item, place) ? [place] : []));
    return ordered(places, orderOf(state), pair, measure);
  }

  function ordered(places, order, pair, measure) {
    const keys = {
      "lowest first": (item) => valueOf(item, pair[0], measure),
      "lower first": (item) => difference(item, pair, measure),
      "higher first": (item) => difference(item, [pair[1], pair[0]], measure),
    };
    if (!keys[order]) return places;
    const key = new Map(places.map((place) => [place, keys[order](data.items[place]) ?? Number.MAX_VALUE]));
    return places.sort((a, b) => key.get(a) - key.get(b) || a - b);
  }

  // --- how an item is drawn

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  const hidden = (text) => make("span", { class: "visually-hidden" }, text);
  const isWhole = new Set(data.measures.filter((name) => data.items.every((item) => data.systems.every((system) => Number.isInteger(valueOf(item, system, name) ?? 0)))));
  const digits = (value, name) => (isWhole.has(name) || (Number.isInteger(value) && !data.measures.includes(name)) ? String(value) : value.toFixed(3));
  const signed = (value, name) => (value > 0 ? "+" : value < 0 ? "−" : "") + digits(Math.abs(value), name);

  // What changed in a text: [-words that went-] and {+new ones+}.
  const changes = (text) =>
    text.split(/(\[-.*?-\]|\{\+.*?\+\})/).map((part) => {
      if (part.startsWith("[-")) return make("del", {}, hidden("removed: "), part.slice(2, -2));
      return part.startsWith("{+") ? make("ins", {}, hidden("added: "), part.slice(2, -2)) : part;
    });

  // An entry of a list: a text, a place in the documents, or one of these with a note.
  function entry(value, item) {
    const [named, note] = Array.isArray(value) ? value : [value];
    const [name, opening] = typeof named === "number" ? data.documents[named] : [named];
    const mark = item.marked.includes(named) ? ["✓ ", hidden("marked: ")] : [];
    const lines = [note, opening].filter(Boolean).map((line) => make("p", { class: "opening" }, line));
    return make("li", { class: mark.length ? "relevant" : "" }, ...mark, ...(typeof named === "number" ? [make("code", {}, name)] : changes(name)), ...lines);
  }

  function content(value, name, item) {
    if (value === null || value === undefined) return ["–", hidden(" none")];
    if (typeof value === "number") return [digits(value, name)];
    if (typeof value === "string") return changes(value);
    return value.length ? [make("ol", {}, ...value.map((one) => entry(one, item)))] : ["–", hidden(" none")];
  }

  function table(caption, heads, rows, attributes = {}) {
    const head = make("tr", {}, ...heads.map((text) => (text ? make("th", { scope: "col" }, text) : make("td", {}))));
    const lines = rows.map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell, place) => make("td", { "data-label": heads[place + 1] }, ...cell))));
    const drawn = make("table", { class: "data-table" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...lines));
    return make("div", attributes, make("div", { class: "table-scroll", role: "region", tabindex: "0", "aria-label": caption }, drawn));
  }

  // The tags of an item, its own or of a system.
  const tagsOf = (item, known) => [...known].flatMap(([tag, places]) => (places.includes(byId.get(item.id)) ? [tag] : [])).join("; ") || null;

  // The fields of both systems side by side, a row a field.
  function compared(item, pair) {
    const both = [...new Set(pair)].filter((name) => data.systems.includes(name));
    const cells = both.map((name) => item.cells[data.systems.indexOf(name)]);
    const given = data.columns.flatMap((name, place) => (cells.some((row) => row[place] !== null) ? [place] : []));
    const rows = given.map((place) => [capital(data.columns[place]), ...cells.map((row) => content(row[place], data.columns[place], item))]);
    const theirs = both.map((name) => tagsOf(item, systemTags.get(name)));
    if (theirs.some(Boolean)) rows.push(["Tags", ...theirs.map((text) => content(text, "Tags", item))]);
    return rows.length ? [table(both.join(" and "), ["", ...both], rows, { class: "cards" })] : [];
  }

  // All systems, a row each, with what is short.
  function all(item) {
    const isLong = (value) => Array.isArray(value) || String(value ?? "").length > 40;
    const places = [...data.columns.keys()].filter((place) => item.cells.some((row) => row[place] !== null) && !item.cells.some((row) => isLong(row[place])));
    if (data.systems.length < 2 || !places.length) return [];
    const rows = data.systems.map((name, system) => [name, ...places.map((place) => content(item.cells[system][place], data.columns[place], item))]);
    return [table(`Every ${data.by}`, [capital(data.by), ...places.map((place) => capital(data.columns[place]))], rows)];
  }

  function show(item, state) {
    if (!item) return shown.replaceChildren();
    const pair = pairOf(state);
    const measure = measureOf(state);
    const by = paired && measure ? difference(item, pair, measure) : null;
    const values = by === null ? [] : pair.map((name) => `${name} ${digits(valueOf(item, name, measure), measure)}`);
    const withheld = data.withheld.length ? "The licence of the data does not let its text be shown." : "";
    const own = tagsOf(item, tags);
    const facts = [...item.fields, ...(own ? [["Tags", own]] : [])].flatMap(([name, value]) => [make("dt", {}, capital(name)), make("dd", {}, ...content(value, name, item))]);
    shown.replaceChildren(
      make("h3", {}, `${noun} ${item.id}`),
      make("p", { class: "item-text" }, item.text ?? withheld),
      ...(by === null ? [] : [make("p", { class: "compared" }, `${measure}: ${values.join(", ")} (${signed(by, measure)})`)]),
      ...(facts.length ? [make("dl", { class: "facts" }, ...facts)] : []),
      ...compared(item, pair),
      ...all(item),
    );
  }

  // --- the controls

  const option = (value, text = value) => make("option", { value }, text);
  const lists = Object.fromEntries(["only", "without", "system", "against", "measure", "change", "order"].map((key) => [key, make("select", { oninput: choose })]));
  const search = make("input", { type: "search", oninput: choose });
  const choice = make("select", { oninput: () => go(choice.value) });
  const status = make("output");
  const problems = make("p", { class: "problem", role: "status" });
  const shown = make("div");

  // The choices of a list; a name that the page lacks is added, so that the list says what the address says.
  function fill(list, options, value) {
    list.replaceChildren(...options);
    if (value && !list.querySelector(`option[value="${CSS.escape(value)}"]`)) list.append(option(value, `${value} (not on this page)`));
    list.value = value;
  }

  // Tags with the number of their items among those that the other choices leave.
  function tagOptions(state, key, system) {
    const left = new Set(matching({ ...state, [key]: "" }));
    const counted = (known) => Array.from(known, ([tag, places]) => option(tag, `${tag} (${places.filter((place) => left.has(place)).length})`));
    const groups = [[`${noun}s`, counted(tags)], [system, counted(systemTags.get(system) ?? [])]];
    const drawn = groups.filter(([, options]) => options.length).map(([label, options]) => make("optgroup", { label }, ...options));
    return [option("", key === "only" ? "all" : "nothing"), ...drawn];
  }

  function changeOptions(state) {
    const counts = Object.entries(CHANGES).map(([value, word]) => [value, word, matching({ ...state, change: value }).length]);
    return [option("", "all"), ...counts.map(([value, word, count]) => option(value, `${word} (${count})`))];
  }

  function draw() {
    const state = read();
    const [system, against] = pairOf(state);
    const named = (names) => names.map((name) => option(name));
    search.value = state.find;
    fill(lists.only, tagOptions(state, "only", system), state.only);
    fill(lists.without, tagOptions(state, "without", against), state.without);
    fill(lists.system, named(data.systems), system);
    fill(lists.against, named(data.systems), against);
    fill(lists.measure, named(data.measures), measureOf(state));
    fill(lists.change, changeOptions(state), state.change);
    fill(lists.order, named(ORDERS), orderOf(state));
    const hits = matching(state);
    choice.replaceChildren(...hits.map((place) => option(data.items[place].id, `${data.items[place].id}: ${(data.items[place].text ?? "").slice(0, 90)}`)));
    status.textContent = `${hits.length} of ${data.items.length} ${data.noun}s`;
    const lines = problemsOf(state);
    const place = lines.length ? undefined : state.q ? byId.get(state.q) : hits[0];
    if (state.q && !byId.has(state.q)) lines.push(`${noun} ${state.q} is not on this page.`);
    else if (place === undefined && !lines.length) lines.push(whole ? `No ${data.noun} is like this.` : leftOut("like this"));
    else if (place !== undefined && !hits.includes(place)) lines.push(`${noun} ${state.q} is not among those chosen above.`);
    problems.textContent = lines.join(" ");
    problems.hidden = !lines.length;
    choice.value = data.items[place]?.id ?? "";
    show(data.items[place], state);
  }

  // A control changes its part of the address; the first item of the new choice is shown.
  function choose({ target }) {
    const key = Object.keys(lists).find((name) => lists[name] === target) ?? "find";
    const state = { ...read(), q: "", [key]: target.value };
    if (key === "system" || key === "against") [state.system, state.against] = [lists.system.value, lists.against.value];
    history.replaceState(null, "", `#${write(state)}`);
    draw();
  }

  function go(id) {
    if (id) location.hash = write({ ...read(), q: id });
  }

  const step = (by) => go(choice.options[choice.selectedIndex + by]?.value);

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

  const button = (text, onclick) => make("button", { type: "button", onclick }, text);
  const labelled = (text, list) => {
    list.id = `items-${text.toLowerCase().replace(" ", "-")}`;
    return make("span", { class: "labelled" }, make("label", { for: list.id }, text), list);
  };
  const tools = (...controls) => make("div", { class: "table-tools" }, ...controls);
  const hasTags = [tags, ...systemTags.values()].some((known) => known.size);
  const comparing = [labelled(capital(data.by), lists.system), labelled("against", lists.against)];
  if (data.measures.length) comparing.push(labelled("in", lists.measure), labelled("is", lists.change));
  const filters = [labelled("Find", search), ...(hasTags ? [labelled("Show", lists.only), labelled("but not", lists.without)] : [])];
  if (data.measures.length) filters.push(labelled("Order", lists.order));
  const ready = data.ready.flatMap(([tag, system, against]) => {
    const state = { of: cell, only: tag, system: data.systems[system], against: data.systems[against], order: against === null ? "" : "lower first" };
    const count = tagged(tag, state.system).length;
    const line = `${state.system && !state.against ? `${state.system}: ` : ""}${tag} (${count})`;
    return count || whole ? make("li", {}, count ? make("a", { href: `#${write(state)}` }, line) : line) : [];
  });
  const { about } = data;
  const chapter = make("a", { href: about.chapter }, "the chapter");
  const notes = about.notes.map((text) => make("p", {}, text));
  if (about.data) notes.push(make("p", {}, make("a", { href: about.data }, "Card of the data"), "."));
  document.title = about.title;
  root.replaceChildren(
    make("h2", {}, about.title),
    make("p", {}, about.opening, " Means and tests are in ", chapter, "."),
    ...(ready.length ? [make("ul", { class: "ready" }, ...ready)] : []),
    ...(paired ? [tools(...comparing)] : []),
    tools(...filters, status),
    tools(labelled(noun, choice), button("Previous", () => step(-1)), button("Next", () => step(1)), button("Copy link", copyLink)),
    problems,
    shown,
    make("div", { class: "notes" }, ...notes),
  );
  window.addEventListener("hashchange", draw);
  draw();
}
