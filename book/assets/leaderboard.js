"use strict";
// Any system against any other: every number is looked up. A pair is stored in one direction; in the other
// one its signs and its verdict are turned round. Every text goes in as text, never as HTML.
(async () => {
  const packed = Uint8Array.from(atob(window.casebookLeaderboard), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { opposite, unmeasured, chapters } = await new Response(stream).json();
  const root = document.querySelector(".leaderboard");
  const ALL = "All systems";
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  // --- numbers as text

  const capital = (text) => text[0].toUpperCase() + text.slice(1);
  const defined = (value) => value !== null && value !== undefined;
  const fixed = (value) => (Number(value.toFixed(3)) || 0).toFixed(3).replace("-", "−");
  const signed = (value) => (fixed(value).startsWith("−") ? "" : "+") + fixed(value);
  const bounds = (low, high, text) => (defined(low) && defined(high) ? ` [${text(low)}, ${text(high)}]` : "");
  const measured = (by) => by.verdict !== unmeasured && defined(by.difference);
  const withBounds = (value, low, high, text) => (defined(value) ? text(value) + bounds(low, high, text) : "–");
  const probability = (p) => (!defined(p) ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));
  const time = (ms) => (defined(ms) ? `${ms.toPrecision(2).includes("e") ? ms.toFixed(0) : Number(ms.toPrecision(2))} ms` : "–");

  // --- what is stored

  const rowOf = (table, k) => Object.fromEntries(Object.entries(table).map(([name, column]) =>
    [name, column.words ? column.words[column.rows[k]] ?? null : column[k]]));

  function turned(row) {
    const negative = (value) => (defined(value) ? -value : value);
    return {
      ...row,
      system: row.against,
      against: row.system,
      difference: negative(row.difference),
      low: negative(row.high),
      high: negative(row.low),
      better: row.worse,
      worse: row.better,
      verdict: opposite[row.verdict] ?? row.verdict,
    };
  }

  function contrast(measure, system, against) {
    const { system: systems, against: baselines } = measure.contrasts;
    const same = systems.findIndex((_, k) => systems[k] === system && baselines[k] === against);
    if (same >= 0) return rowOf(measure.contrasts, same);
    const other = systems.findIndex((_, k) => systems[k] === against && baselines[k] === system);
    return other < 0 ? null : turned(rowOf(measure.contrasts, other));
  }

  // --- what is chosen stands in the address

  const select = (name) => make("select", { name });
  const selects = { data: select("data"), measure: select("measure"), baseline: select("baseline"), systems: select("systems") };
  const titles = { data: "Data set", measure: "Measure", baseline: "Baseline", systems: "Systems" };
  const option = (value, text = value) => make("option", { value }, text);

  function offer(name, values, wanted, usual) {
    selects[name].replaceChildren(...values.map((value) => option(value)));
    selects[name].value = values.includes(wanted) ? wanted : usual;
  }

  selects.data.append(...chapters.map(({ cell, title }) => option(cell, title)));

  function choose(wanted) {
    const chapter = chapters.find(({ cell }) => cell === wanted.data) ?? chapters[0];
    selects.data.value = chapter.cell;
    const measures = chapter.measures.map(({ name }) => name);
    offer("measure", measures, wanted.measure, measures[0]);
    offer("baseline", chapter.systems, wanted.baseline, chapter.systems[chapter.baseline]);
    offer("systems", [ALL, ...Object.keys(chapter.groups)], wanted.systems, ALL);
    show(chapter);
  }

  const chosen = () => Object.fromEntries(Object.entries(selects).map(([name, element]) => [name, element.value]));

  // --- the rows of a choice

  function rowsOf(chapter) {
    const measure = chapter.measures[selects.measure.selectedIndex];
    const baseline = selects.baseline.selectedIndex;
    const members = chapter.groups[selects.systems.value];
    const rows = chapter.systems.map((name, system) => ({
      name,
      level: rowOf(measure.levels, system),
      milliseconds: chapter.milliseconds?.[system] ?? null,
      isBaseline: system === baseline,
      isControl: chapter.controls.includes(system),
      isMember: !members || members.includes(system),
      contrast: system === baseline ? null : contrast(measure, system, baseline),
    }));
    const shown = rows.filter((row) => row.isBaseline || row.isControl || row.isMember);
    const height = ({ level: { value } }) => (defined(value) ? value : -Infinity);
    shown.sort((a, b) => a.isControl - b.isControl || (height(a) < height(b)) - (height(a) > height(b)));
    return { measure, baseline: chapter.systems[baseline], rows: shown };
  }

  // Only what the page of items has: both systems, and the measure.
  function itemsOf(chapter, measure, system, against) {
    const { items } = chapter;
    if (!items || ![system, against].every((name) => items.systems.includes(name))) return null;
    const usual = measure === chapter.measures[0] ? items.measures[0] : null;
    const choice = { system, against, measure: items.measures.includes(measure.name) ? measure.name : usual };
    if (!choice.measure) return null;
    return (change) => `${items.address}&${new URLSearchParams({ ...choice, change })}`;
  }

  // --- the forest

  // A control that would stretch the scale by more than half is an arrow at its edge.
  function scaleOf(rows, margin) {
    const compared = rows.filter((row) => row.contrast && !row.isControl);
    const drawn = (compared.length ? compared : rows.filter((row) => row.contrast)).map((row) => row.contrast);
    const valuesOf = (by) => (measured(by) ? [by.difference, by.low, by.high].filter(defined) : []);
    const values = [0, margin ?? 0, -(margin ?? 0), ...drawn.flatMap(valuesOf)];
    const room = (Math.max(...values) - Math.min(...values)) / 2;
    const ends = [Math.min(...values) - room, Math.max(...values) + room];
    const near = (value) => value >= ends[0] && value <= ends[1];
    const controls = rows.filter((row) => row.contrast && row.isControl).map((row) => valuesOf(row.contrast));
    values.push(...controls.filter((bounds) => bounds.every(near)).flat());
    const span = Math.max(...values) - Math.min(...values) || 1;
    const low = Math.min(...values) - 0.04 * span;
    const high = Math.max(...values) + 0.04 * span;
    const rough = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const ticks = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(k * step);
    const place = (value) => 100 * Math.min(1, Math.max(0, (value - low) / (high - low)));
    return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), at: (value) => `${place(value)}%`, outside: (value) => value < low || value > high };
  }

  function axis(scale) {
    const labels = scale.ticks.map((tick) => {
      const text = (Number(tick.toFixed(scale.digits)) || 0).toFixed(scale.digits).replace("-", "−");
      return draw("text", { x: scale.at(tick), y: 12, "text-anchor": "middle" }, (tick > 0 && Number(tick.toFixed(scale.digits)) ? "+" : "") + text);
    });
    return draw("svg", { "aria-hidden": "true" }, ...labels);
  }

  const sentence = (row, baseline, measure) => {
    const by = row.contrast;
    const verdict = `${row.name} against ${baseline}: ${by.verdict}`;
    const effect = measured(by) ? `, ${signed(by.difference)}${bounds(by.low, by.high, signed)} ${measure.name}` : "";
    return verdict + effect;
  };

  function strip(row, scale, measure, baseline, address) {
    const { contrast: by } = row;
    const parts = [];
    if (measure.margin) {
      const from = parseFloat(scale.at(-measure.margin));
      parts.push(draw("rect", { class: "band", x: `${from}%`, y: 0, width: `${parseFloat(scale.at(measure.margin)) - from}%`, height: 28 }));
    }
    parts.push(draw("line", { class: "zero", x1: scale.at(0), x2: scale.at(0), y1: 0, y2: 28 }));
    if (by && measured(by)) {
      const { at } = scale;
      if (defined(by.low) && defined(by.high)) parts.push(draw("line", { class: "interval", x1: at(by.low), x2: at(by.high), y1: 14, y2: 14 }));
      const dot = scale.outside(by.difference)
        ? draw("text", { x: at(by.difference), y: 18, "text-anchor": by.difference < 0 ? "start" : "end" }, by.difference < 0 ? "◀" : "▶")
        : draw("circle", { class: "value", cx: at(by.difference), cy: 14, r: 5 });
      const target = draw("circle", { class: "target", cx: at(by.difference), cy: 14, r: 12 });
      const label = sentence(row, baseline, measure) + (address ? `; leads to the ${wordOf(measure, changeOf(by))} ones` : "");
      const mark = address
        ? draw("a", { class: "mark", href: address(changeOf(by)), "aria-label": label })
        : draw("g", { class: "mark", tabindex: "0", role: "img", "aria-label": label });
      mark.append(draw("title", {}, label), target, dot);
      parts.push(mark);
    }
    return draw("svg", {}, ...parts);
  }

  // What a reader wants to see of a pair: where it was worse, if it ever was.
  const changeOf = (by) => (by.worse ? "worse" : by.better ? "better" : "equal");

  const CHANGES = ["better", "equal", "worse"];
  const wordOf = (measure, change) => measure.words?.[change] ?? change;

  function counts(by, address, measure) {
    return CHANGES.flatMap((change, place) => {
      const text = `${by[change]} ${wordOf(measure, change)}`;
      const part = address && by[change] ? make("a", { href: address(change) }, text) : text;
      return place ? [" · ", part] : [part];
    });
  }

  function forestRow(row, scale, { measure, baseline }, chapter) {
    const { level, contrast: by } = row;
    const address = by && itemsOf(chapter, measure, row.name, baseline);
    const levels = withBounds(level.value, level.low, level.high, fixed);
    const control = !chapter.controls.length && defined(level.control) ? ` · control ${fixed(level.control)}` : "";
    const times = defined(row.milliseconds) ? ` · ${time(row.milliseconds)}` : "";
    const kind = row.isBaseline ? "baseline" : row.isControl ? "control" : "";
    const name = make("div", {}, make("span", { class: "system" }, row.name), make("small", {}, levels + control + times));
    const numbers = make("div", { class: "difference" });
    if (row.isBaseline) numbers.append("baseline");
    else if (!by) numbers.append("no unit in common");
    else {
      numbers.append(make("span", { class: `word word-${by.verdict.replaceAll(" ", "-")}` }, by.verdict), " ");
      if (measured(by)) {
        numbers.append(signed(by.difference) + bounds(by.low, by.high, signed), make("small", {}, ...counts(by, address, measure)));
      } else if (by.reason) numbers.append(make("small", {}, by.reason));
    }
    return make("li", { class: `forest-row ${kind}` }, name, strip(row, scale, measure, baseline, address), numbers);
  }

  // --- the same numbers as a table

  const columnsOf = (measure) => ["System", "Level", "Difference", "Verdict", "p, adjusted",
    ...CHANGES.map((change) => capital(wordOf(measure, change))), "n", "Milliseconds"];

  function cells({ name, level, contrast: by, isBaseline, milliseconds }) {
    const start = [name, withBounds(level.value, level.low, level.high, fixed)];
    const end = defined(milliseconds) ? time(milliseconds).replace(" ms", "") : "–";
    if (!by) return [...start, "–", isBaseline ? "baseline" : "no unit in common", "–", "–", "–", "–", level.n ?? "–", end];
    if (!measured(by)) return [...start, "–", by.verdict, "–", "–", "–", "–", by.n, end];
    const difference = withBounds(by.difference, by.low, by.high, signed);
    return [...start, difference, by.verdict, probability(by.p_adjusted), by.better, by.equal, by.worse, by.n, end];
  }

  function table({ measure, rows }, caption) {
    const head = make("thead", {}, make("tr", {}, ...columnsOf(measure).map((text) => make("th", { scope: "col" }, text))));
    const lines = rows.map((row) => make("tr", {}, ...cells(row).map((value, column) =>
      column ? make("td", column === 3 ? {} : { class: "number" }, String(value)) : make("th", { scope: "row" }, value))));
    const region = { class: "table-scroll", role: "region", tabindex: "0", "aria-label": caption };
    return make("div", region, make("table", { class: "data-table" }, make("caption", {}, caption), head, make("tbody", {}, ...lines)));
  }

  // All digits; what a spreadsheet would run as a formula gets an apostrophe.
  function csv({ measure, baseline, rows }, chapter) {
    const inert = (value) => (typeof value === "string" && /^'*(?:[\t\r]|[\s\u200b\ufeff]*[=+\-@＝＋－＠])/.test(value) ? `'${value}` : String(value ?? ""));
    const field = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const names = ["difference", "low", "high", "n", "groups", "p", "p_adjusted", "better", "equal", "worse", "verdict", "reason"];
    const stored = (by, key) => (by && (measured(by) || ["n", "groups", "verdict", "reason"].includes(key)) ? by[key] : null);
    const head = ["chapter", "measure", "system", "against", "level", "level low", "level high", ...names, "milliseconds"];
    const lines = rows.map(({ name, level, contrast: by, milliseconds }) =>
      [chapter.title, measure.name, name, baseline, level.value, level.low, level.high, ...names.map((key) => stored(by, key)), milliseconds]);
    return [head, ...lines].map((line) => line.map((value) => field(inert(value))).join(",")).join("\n") + "\n";
  }

  function download(view, chapter) {
    const link = make("a", { download: `${chapter.cell}.csv` });
    link.href = URL.createObjectURL(new Blob([csv(view, chapter)], { type: "text/csv" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // --- the page

  const summary = make("output");
  const reading = make("p", { class: "reading" });
  const forest = make("ol", { class: "forest" });
  const numbers = make("div");

  function summarise({ measure, baseline, rows }) {
    const verdicts = rows.filter((row) => row.contrast && !row.isControl).map((row) => row.contrast.verdict);
    const words = [...new Set(verdicts)].sort();
    const listed = words.map((word) => `${verdicts.filter((verdict) => verdict === word).length} ${word}`).join(", ");
    const systems = verdicts.length === 1 ? "1 system" : `${verdicts.length} systems`;
    return verdicts.length ? `${measure.name}, ${systems} against ${baseline}: ${listed}.` : `No system here but the baseline, ${baseline}.`;
  }

  function explain({ measure, baseline }, chapter) {
    const band = measure.margin
      ? `the grey band holds the differences below ${measure.margin}, which do not matter`
      : "no band is drawn, because no limit was stated below which a difference in this measure does not matter";
    const milliseconds = chapter.milliseconds ? ` Milliseconds are ${chapter.timing ?? "measured times of this run"}.` : "";
    const control = chapter.controls.length || !measure.levels.control.some(defined) ? "" : " A control is what a system that knows nothing gets.";
    const neutral = measure.words ? " Whether more of it is better, only its maker knows." : "";
    const ahead = wordOf(measure, "better");
    return `A dot is the mean difference in ${measure.name} from ${baseline} on the same ${chapter.unit}, the line through it its 95 % interval, and ${band}. ` +
      `“Undecided” means that the interval leaves open which of the two is ${ahead}; it does not mean that they are equal. ` +
      `${chapter.controls.length ? "Grey rows are controls, which know nothing. " : ""}${capital(chapter.protocol)}. ${measure.inference}${control}${neutral}${milliseconds}`;
  }

  function show(chapter) {
    const view = rowsOf(chapter);
    const scale = scaleOf(view.rows, view.measure.margin);
    const head = make("li", { class: "forest-row forest-head", "aria-hidden": "true" },
      make("span", {}, `System, ${view.measure.name}`), axis(scale), make("span", {}, `Difference from ${view.baseline}`));
    forest.replaceChildren(head, ...view.rows.map((row) => forestRow(row, scale, view, chapter)));
    summary.textContent = summarise(view);
    reading.textContent = explain(view, chapter);
    const button = make("button", { type: "button" }, "Download CSV");
    button.addEventListener("click", () => download(view, chapter));
    const source = make("a", { href: `../run/notebooks/${chapter.cell}.html` }, "The chapter");
    numbers.replaceChildren(make("div", { class: "table-tools" }, button, source),
      table(view, `${view.measure.name}: differences from ${view.baseline}. ${chapter.title}`));
  }

  function recall() {
    choose(Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
  }

  for (const element of Object.values(selects)) {
    element.addEventListener("input", () => {
      choose(chosen());
      history.replaceState(null, "", `#${new URLSearchParams(chosen())}`);
    });
  }
  window.addEventListener("hashchange", recall);
  const labels = Object.entries(selects).map(([name, element]) => make("label", {}, titles[name], element));
  root.replaceChildren(make("div", { class: "choices" }, ...labels), summary, forest, reading, numbers);
  recall();
})();
