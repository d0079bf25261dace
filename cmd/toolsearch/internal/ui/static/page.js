// The page. It asks its own server, and builds every view from elements and text nodes: no text of
// a catalog is ever read as HTML.
//
// Order: asking, building, small parts, lists, the views (search, tokens, findings, costs, model, misses),
// dialogs, keys, start.

// --- Asking ------------------------------------------------------------------------------------

// ask returns an answer of the server. An answer that is still being made is asked for again.
async function ask(what, parameters = {}, signal) {
  for (;;) {
    let response;
    try {
      response = await fetch(`api/${what}?${new URLSearchParams(parameters)}`, { signal });
    } catch (error) {
      if (error.name !== "AbortError") warn("No answer. Is toolsearch ui still running?");
      throw error;
    }
    warn("");
    if (response.status === 202) continue;
    const answer = await response.json();
    signal?.throwIfAborted(); // a newer question was asked meanwhile
    if (!response.ok) throw new Error(answer.error);
    return answer;
  }
}

function warn(text) {
  const alert = document.getElementById("alert");
  if (alert.textContent !== text) alert.textContent = text;
  alert.hidden = text === "";
}

// kept returns a function that asks once for each key and keeps the answer.
function kept(load) {
  const answers = new Map();
  return (key) => {
    if (!answers.has(key)) {
      answers.set(key, load(key));
      answers.get(key).catch(() => answers.delete(key));
    }
    return answers.get(key);
  };
}

// latest runs load for a view, whose last question alone counts: an earlier one that is not answered yet is given up.
async function latest(view, load) {
  view.asking?.abort();
  const { signal } = view.asking = new AbortController();
  view.element.setAttribute("aria-busy", "true");
  try {
    await load(signal);
  } finally {
    if (!signal.aborted) view.element.removeAttribute("aria-busy");
  }
}

const toolsOf = kept(() => ask("tools"));
const findingsOf = kept(() => ask("findings"));
const costsOf = kept((provider) => ask("costs", { provider }));
const evalOf = kept((searcher) => ask("eval", { searcher }));

// --- Building ----------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

// fill sets attributes, listeners ("onclick") and children. A string becomes a text node.
function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
const s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

// width sets a share of a bar. The policy of the page forbids style attributes, not this.
function width(element, share, unit = "%") {
  element.style.width = `${share}${unit}`;
  return element;
}

// --- Small parts -------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en");
const count = (n, one, many = `${one}s`) => `${whole.format(n)} ${n === 1 ? one : many}`;
const percent = (share) => (100 * share).toFixed(1);

// decimals returns how many decimals tell the scores of a list apart, so that they align.
function decimals(scores) {
  if (scores.every((score) => Number.isInteger(score))) return 0;
  const top = Math.max(...scores.map(Math.abs));
  return top >= 100 ? 1 : top >= 1 ? 2 : 4;
}

// prefixOf returns the part of a tool's name that says its server, in the letters that names may have.
function prefixOf(tool) {
  const server = tool.server ?? "";
  const plain = server.replace(/[^A-Za-z0-9-]/g, "_");
  return [server, plain].flatMap((of) => [`mcp__${of}__`, `${of}__`]).find((p) => server !== "" && tool.name.startsWith(p) && tool.name.length > p.length) ?? "";
}
const bareName = (tool) => tool.name.slice(prefixOf(tool).length);

// nameOf shows a tool's name, with the part that says its server dimmed, or its server behind it.
function nameOf(tool, tag = "span", properties = {}) {
  const server = tool.server ?? "";
  const prefix = prefixOf(tool);
  const element = h(tag, { ...properties, class: `name ${properties.class ?? ""}` });
  if (prefix !== "") element.append(h("span", { class: "of" }, prefix));
  element.append(tool.name.slice(prefix.length), ...(prefix === "" && server !== "" ? [h("span", { class: "of" }, ` ${server}`)] : []));
  return element;
}

const FIELDS = {
  "name": "name", "alias": "hint", "hint": "hint", "tag": "hint",
  "description": "description", "parameter": "parameter", "parameter name": "parameter", "namespace": "namespace",
};
const fieldOf = (part) => FIELDS[part.field] ?? "whole";
const LEGEND = [["name", "name"], ["description", "description"], ["parameter", "parameters"], ["namespace", "server"], ["hint", "hints"], ["whole", "whole tool"]];

const dot = (field) => h("i", { class: `dot is-${field}`, "aria-hidden": "true" });

// stack is the bar of a score: one piece for each field, as wide as its share of the best score.
function stack(parts, score, best) {
  const sums = new Map();
  for (const part of parts) if (part.score > 0) sums.set(fieldOf(part), (sums.get(fieldOf(part)) ?? 0) + part.score);
  const all = [...sums.values()].reduce((a, b) => a + b, 0);
  const bar = h("span", { class: "stack", "aria-hidden": "true" });
  for (const [field] of LEGEND) {
    if (!sums.has(field) || best <= 0) continue;
    bar.append(width(h("i", { class: `is-${field}` }), (100 * sums.get(field) / all) * (score / best)));
  }
  return bar;
}

// partsTable takes a score apart, by term and field. Terms that were not found stand below it.
function partsTable(parts, score) {
  const counted = parts.filter((part) => part.score !== 0);
  const places = decimals(counted.map((part) => part.score).concat(score));
  const rows = counted.map((part) => h("tr", {},
    h("td", { class: "num" }, part.score.toFixed(places)),
    h("td", { class: "name" }, part.term || "·"),
    h("td", { class: "where" }, dot(fieldOf(part)), part.field || "whole tool"),
    h("td", { class: "because" }, part.detail ?? "")));
  const missing = parts.filter((part) => part.score === 0).map((part) => [part.term, (part.detail ?? "").replace(/^not found(; )?/, "")].filter(Boolean).join(", "));
  return [
    rows.length === 0 ? null : h("table", { class: "parts" },
      h("caption", { class: "unseen" }, "What the score is made of"),
      h("thead", {}, h("tr", {}, h("th", { class: "num", scope: "col" }, "score"), h("th", { scope: "col" }, "term"), h("th", { scope: "col" }, "field"), h("th", { class: "because", scope: "col" }, "because"))),
      h("tbody", {}, rows)),
    missing.length === 0 ? null : h("p", { class: "missing" }, "Not found: ", missing.join("; "), "."),
  ];
}

function segments(label, options, chosen, choose) {
  return h("div", { class: "segments", role: "group", "aria-label": label },
    options.map(([key, text, n]) => h("button", { type: "button", "aria-pressed": String(key === chosen), onclick: () => choose(key) },
      text, n === undefined ? null : h("span", { class: "count" }, whole.format(n)))));
}

// labelOf is what people read of a searcher. One that emulates somebody else's says so.
const labelOf = (name) => state.searchers.find((has) => has.name === name)?.label ?? name;

function searcherPick(chosen, label, choose, none) {
  const pick = h("select", { class: "pick", "aria-label": label, onchange: () => choose(pick.value) },
    none ? h("option", { value: "", selected: chosen === "" }, none) : null,
    state.searchers.map((searcher) => h("option", { value: searcher.name, selected: searcher.name === chosen }, searcher.label)));
  return pick;
}

function say(text) {
  clearTimeout(say.later);
  say.later = setTimeout(() => { document.getElementById("live").textContent = text; }, 400);
}

const waiting = (text) => h("div", { class: "empty", "aria-busy": "true" }, h("p", {}, text));

// --- Lists -------------------------------------------------------------------------------------

// A list keeps only the rows that can be seen in the document, so that 10,000 are as fast as ten.
let lists = 0;
class List {
  constructor({ label, rowHeight, height, row, open, select }) {
    Object.assign(this, { rowHeight, row, open, select, items: [], at: -1, rows: new Map(), id: `list${++lists}` });
    this.all = h("div", { class: "all", role: "presentation" });
    this.element = h("div", {
      class: "list", role: "listbox", tabindex: "0", "aria-label": label,
      onscroll: () => this.paint(), onkeydown: (event) => this.key(event), onfocus: () => { if (this.at < 0 && this.items.length > 0) this.go(0); },
    }, this.all);
    this.most = height;
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  show(items, at = -1) {
    this.items = items;
    this.at = Math.min(at, items.length - 1);
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.all.style.height = `${items.length * this.rowHeight}px`;
    this.element.style.height = `${Math.min(this.most, Math.max(1, items.length) * this.rowHeight + 2)}px`;
    this.element.scrollTop = Math.max(0, this.at * this.rowHeight - this.most / 2);
    this.paint();
  }

  paint() {
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor(scrollTop / this.rowHeight) - 6);
    const to = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.rowHeight) + 6);
    for (const [i, row] of this.rows) {
      if (i < from || i >= to) {
        row.remove();
        this.rows.delete(i);
      }
    }
    for (let i = from; i < to; i++) {
      let row = this.rows.get(i);
      if (!row) {
        row = this.row(this.items[i]);
        row.classList.add("row");
        fill(row, {
          role: "option", id: `${this.id}-${i}`, "aria-setsize": this.items.length, "aria-posinset": i + 1,
          onclick: () => { this.go(i); this.open?.(this.items[i]); },
        }, []);
        row.style.top = `${i * this.rowHeight}px`;
        row.style.height = `${this.rowHeight}px`;
        this.rows.set(i, row);
        this.all.append(row);
      }
      row.setAttribute("aria-selected", String(i === this.at));
    }
    if (this.rows.has(this.at)) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  go(i) {
    this.at = Math.max(0, Math.min(i, this.items.length - 1));
    const top = this.at * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.rowHeight > scrollTop + clientHeight) this.element.scrollTop = top + this.rowHeight - clientHeight;
    this.paint();
    this.select?.(this.items[this.at]);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.rowHeight) - 1);
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: this.items.length - 1 }[event.key];
    if (this.items.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) {
      event.preventDefault();
      this.go(to);
    } else if (event.key === "Enter" && this.at >= 0) {
      event.preventDefault();
      this.open?.(this.items[this.at]);
    }
  }
}

// --- Search ------------------------------------------------------------------------------------

// A Pane is one searcher with its results.
class Pane {
  constructor(view, searcher) {
    this.view = view;
    this.searcher = searcher;
    this.counted = h("span", { class: "count" });
    this.about = h("span", { class: "about" });
    this.results = h("ol");
    this.element = h("section", { class: "pane" },
      h("header", {}, searcherPick(searcher, "Searcher", (name) => { this.searcher = name; view.chosen(); }), this.about, this.counted),
      this.results);
    this.tell();
  }

  tell() {
    this.about.title = this.about.textContent = state.searchers.find((has) => has.name === this.searcher)?.about ?? "";
    this.element.setAttribute("aria-label", labelOf(this.searcher));
    this.results.setAttribute("aria-label", `Results of ${labelOf(this.searcher)}`);
  }

  // search asks for the results of a query. The question before is cancelled.
  async search(query) {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    this.tell();
    if (query.trim() === "") {
      this.answer = null;
      this.results.replaceChildren();
      this.counted.textContent = "";
      return;
    }
    this.results.setAttribute("aria-busy", "true");
    try {
      this.answer = await ask("search", { searcher: this.searcher, q: query }, asking.signal);
      this.query = query;
      this.show();
      this.view.compare();
    } catch (error) {
      if (asking.signal.aborted) return;
      this.answer = null;
      this.counted.textContent = "";
      this.results.replaceChildren(h("li", { class: "empty" }, h("p", {}, error.message)));
    }
    this.results.removeAttribute("aria-busy");
  }

  show() {
    const { hits, total, millis, message, suggestions } = this.answer;
    this.counted.textContent = `${hits.length < total ? `${hits.length} of ` : ""}${count(total, "match", "matches")} · ${millis < 10 ? millis.toFixed(1) : Math.round(millis)} ms`;
    if (hits.length === 0) {
      this.results.replaceChildren(h("li", { class: "empty" }, h("p", {}, "Nothing found."),
        suggestions?.length ? h("p", {}, "Near names: ", suggestions.join(", ")) : message ? h("p", { class: "small" }, message) : null));
      return;
    }
    const best = Math.max(...hits.map((hit) => hit.score));
    const places = decimals(hits.map((hit) => hit.score));
    const focused = this.buttons().indexOf(document.activeElement); // who was quicker than the answer stays there
    this.results.replaceChildren(...hits.map((hit, i) => this.hit(hit, i, best, places)));
    if (focused >= 0) (this.buttons()[focused] ?? this.buttons().at(-1)).focus();
    if (message) this.results.prepend(h("li", { class: "missing" }, message));
    this.results.classList.remove("whole");
    if (hits.length > SHOWN) this.results.append(h("li", { class: "more" }, h("button", { class: "quiet", type: "button", onclick: () => this.results.classList.add("whole") }, `Show all ${hits.length}`)));
  }

  hit(hit, i, best, places) {
    const apart = h("div", { class: "apart", hidden: true });
    const score = hit.parts.length === 0 && hit.score === 0 ? "" : hit.score.toFixed(places);
    const button = h("button", { type: "button", "aria-expanded": "false", onclick: () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      apart.hidden = isOpen;
      if (!isOpen && !apart.hasChildNodes()) {
        fill(apart, {}, [hit.parts.length > 0 ? partsTable(hit.parts, hit.score) : h("p", { class: "dim" }, "A selection by name has no score."),
          h("div", { class: "tail" }, h("button", { class: "quiet", type: "button", onclick: () => openTool(hit.id) }, "Definition"))]);
      }
    } },
    h("span", { class: "rank" }, String(i + 1)),
    nameOf(hit, "span", { class: "cut" }),
    h("span", { class: "side" }, h("span", { class: "moved" }), h("span", { class: "score" }, score)),
    h("span", { class: "text cut" }, hit.description ?? ""),
    stack(hit.parts, hit.score, best));
    return h("li", { class: "hit" }, button, apart);
  }

  buttons() { return [...this.results.querySelectorAll(".hit > button")]; }
}

const search = {
  title: "Search",
  build() {
    this.input = h("input", {
      type: "search", placeholder: "What would an agent ask for?", "aria-label": "Query", maxlength: "4096",
      autocomplete: "off", autocapitalize: "off", spellcheck: "false", enterkeyhint: "search",
      oninput: () => this.typed(), onkeydown: (event) => this.key(event),
    });
    this.panes = [];
    this.held = h("div", { class: "panes", onkeydown: (event) => this.resultKey(event) });
    this.second = h("div", {});
    this.legend = h("div", { class: "legend", "aria-label": "Colors of the fields" });
    this.begin = this.beginning();
    this.under = h("div", { class: "under" }, this.second,
      this.legend);
    this.element = h("div", {},
      h("div", { class: "field" }, this.input,
        s("svg", { viewBox: "0 0 18 18", "aria-hidden": "true" }, s("circle", { cx: 7.75, cy: 7.75, r: 5.75 }), s("path", { d: "M12.2 12.2 17 17", "stroke-linecap": "round" })),
        h("kbd", { "aria-hidden": "true" }, "/")),
      this.under, this.held, this.begin);
  },

  beginning() {
    return h("div", { class: "begin" },
      h("h2", {}, `Search ${count(state.tools, "tool")} as an agent does`),
      h("p", {}, "Results come as you type, each score taken apart by term and field."),
      h("ul", {}, state.examples.map((text) => h("li", {}, h("button", { class: "button cut", type: "button", onclick: () => this.set(text) }, text)))),
      h("ul", { class: "keys" }, [[["/"], "query"], [["↓", "↑"], "results"], [["Enter"], "take a score apart"], [["?"], "all keys"]].map(([keys, text]) =>
        h("li", {}, keys.map((key) => [h("kbd", {}, key), " "]), text))));
  },

  open(parameters) {
    const asked = [parameters.get("a"), parameters.get("b")].filter((name) => state.searchers.some((has) => has.name === name));
    const names = asked.length > 0 ? asked : this.panes.length > 0 ? this.panes.map((pane) => pane.searcher) : state.chosen;
    this.use(names);
    const query = parameters.get("q");
    if (query !== null) this.input.value = query;
    this.go();
  },

  focus() { this.input.focus(); },

  use(names) {
    if (names.join() !== this.panes.map((pane) => pane.searcher).join()) {
      this.panes.forEach((pane) => pane.asking?.abort());
      this.panes = names.map((name) => new Pane(this, name));
      this.held.replaceChildren(...this.panes.map((pane) => pane.element));
    }
    this.held.classList.toggle("two", names.length === 2);
    this.second.replaceChildren(segments("Searchers at a time", [[1, "One searcher"], [2, "Side by side"]], names.length, (n) => {
      const [first] = this.panes;
      const other = state.chosen.concat(state.searchers.map((has) => has.name)).find((name) => name !== first.searcher);
      this.use(n === 1 || other === undefined ? [first.searcher] : [first.searcher, other]);
      this.go();
    }));
  },

  chosen() {
    this.use(this.panes.map((pane) => pane.searcher));
    this.go();
  },

  set(text) {
    this.input.value = text;
    this.input.focus();
    this.go();
  },

  // typed searches at the next frame: once, however many letters came since the last.
  typed() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.go());
  },

  go() {
    const query = this.input.value;
    const isEmpty = query.trim() === "";
    this.begin.hidden = !isEmpty;
    this.held.hidden = this.under.hidden = isEmpty;
    for (const pane of this.panes) pane.search(query);
    const parameters = new URLSearchParams();
    if (!isEmpty) parameters.set("q", query);
    this.panes.forEach((pane, i) => parameters.set("ab"[i], pane.searcher));
    history.replaceState(null, "", `#search?${parameters}`);
  },

  // compare marks where the first searcher ranks what the second one found.
  compare() {
    const [first, second] = this.panes;
    const fields = new Set(this.panes.flatMap((pane) => pane.answer?.hits ?? []).flatMap((hit) => hit.parts.filter((part) => part.score > 0).map(fieldOf)));
    this.legend.replaceChildren(...LEGEND.filter(([field]) => fields.has(field)).map(([field, text]) => h("span", {}, dot(field), text)));
    say(this.panes.filter((pane) => pane.answer).map((pane) => `${labelOf(pane.searcher)}: ${count(pane.answer.total, "tool")}`).join("; "));
    if (!first?.answer || !second?.answer || first.query !== second.query) return;
    const ranks = new Map(first.answer.hits.map((hit, i) => [hit.id, i + 1]));
    second.results.querySelectorAll(".moved").forEach((moved, i) => {
      const before = ranks.get(second.answer.hits[i].id);
      const by = before === undefined ? 0 : before - (i + 1);
      moved.className = `moved ${by > 0 ? "up" : by < 0 ? "down" : ""}`;
      moved.textContent = before === undefined ? "new" : by > 0 ? `▲ ${by}` : by < 0 ? `▼ ${-by}` : "=";
      moved.title = before === undefined ? `not among the first ${first.answer.hits.length} of ${labelOf(first.searcher)}` : `${before} with ${labelOf(first.searcher)}`;
    });
  },

  key(event) {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      const first = this.panes.find((pane) => pane.buttons().length > 0)?.buttons()[0];
      if (!first || event.isComposing) return;
      event.preventDefault();
      first.focus();
      if (event.key === "Enter" && first.getAttribute("aria-expanded") !== "true") first.click();
    } else if (event.key === "Escape" && this.input.value !== "") {
      event.preventDefault();
      this.set("");
    }
  },

  resultKey(event) {
    const button = event.target.closest(".hit > button");
    const item = event.target.closest(".hit");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const opened = item.querySelector("button[aria-expanded=true]");
      event.preventDefault();
      if (opened) { opened.click(); opened.focus(); } else { this.input.focus(); this.input.select(); }
      return;
    }
    if (!button) return;
    const p = this.panes.findIndex((pane) => pane.results.contains(button));
    const buttons = this.panes[p].buttons().filter((each) => each.offsetParent);
    const i = buttons.indexOf(button);
    const across = (pane) => pane?.buttons()[Math.min(i, pane.buttons().length - 1)];
    const to = {
      ArrowDown: buttons[i + 1] ?? button, ArrowUp: i === 0 ? this.input : buttons[i - 1], Home: buttons[0], End: buttons.at(-1),
      ArrowLeft: across(this.panes[p - 1]), ArrowRight: across(this.panes[p + 1]),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    to.focus();
  },
};

// --- Tokens ------------------------------------------------------------------------------------

// squarify lays out items, which fall in size, as rectangles near squares (Bruls, Huizing and
// van Wijk, Squarified Treemaps, 2000).
function squarify(items, x, y, w, hgt) {
  const boxes = [];
  let left = items.reduce((sum, item) => sum + item.size, 0), i = 0;
  while (i < items.length && left > 0 && w > 0 && hgt > 0) {
    const short = Math.min(w, hgt), scale = (w * hgt) / left;
    let sum = 0, end = i, worst = Infinity;
    while (end < items.length) {
      const next = sum + items[end].size;
      const long = (next * scale) / short;
      const ratio = Math.max((short * items[i].size) / (next * long), (next * long) / (short * items[end].size));
      if (ratio > worst) break;
      worst = ratio; sum = next; end++;
    }
    const depth = (sum * scale) / short;
    let at = 0;
    for (; i < end; i++) {
      const length = (items[i].size / sum) * short;
      boxes.push(w >= hgt ? { item: items[i], x, y: y + at, w: depth, h: length } : { item: items[i], x: x + at, y, w: length, h: depth });
      at += length;
    }
    if (w >= hgt) { x += depth; w -= depth; } else { y += depth; hgt -= depth; }
    left -= sum;
  }
  return boxes;
}

// fewest joins the smallest items into one, so that a picture has at most n.
function fewest(items, n, join) {
  if (items.length <= n) return items;
  const rest = items.slice(n - 1);
  return [...items.slice(0, n - 1), join(rest, rest.reduce((sum, item) => sum + item.size, 0))];
}

const tokens = {
  title: "Tokens",
  build() {
    this.figures = h("dl", { class: "figures" });
    this.back = h("button", { class: "quiet", type: "button", hidden: true, onclick: () => this.zoom(null) }, "All servers");
    this.where = h("span", { class: "cut" });
    this.under = h("span", { class: "name cut" });
    this.map = s("svg", { class: "map", role: "group", "aria-label": "Tokens by server and tool", onkeydown: (event) => this.key(event) });
    this.servers = new List({
      label: "Servers", rowHeight: 40, height: 480, open: (server) => this.zoom(server === this.at ? null : server),
      row: (server) => h("div", { class: "server" }, h("span", { class: "cut" }, server.name), h("span", { class: "num dim" }, whole.format(server.tools.length)),
        h("span", { class: "num" }, whole.format(server.size)), h("span", { class: "share" }, width(h("i"), (100 * server.size) / this.list[0].size))),
    });
    this.tools = new List({
      label: "Tools", rowHeight: 40, height: 480, open: (tool) => openTool(tool.id),
      row: (tool) => h("div", { class: "tool" }, nameOf(tool, "span", { class: `cut ${tool.refused ? "flag" : ""}` }), h("span", { class: "num" }, whole.format(tool.size)), h("span", { class: "num dim" }, whole.format(tool.parameters))),
    });
    this.narrow = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter tools by name", oninput: () => this.filter() });
    this.heading = h("h2", { class: "cut" }, "Tools");
    this.element = h("div", {}, this.figures,
      h("figure", {}, h("div", { class: "crumbs" }, this.back, this.where, this.under), this.map),
      h("div", { class: "columns" },
        h("section", { "aria-label": "Servers" }, h("div", { class: "tools-head" }, h("h2", {}, "Servers")), h("div", { class: "heads row server" }, h("span", {}, "server"), h("span", { class: "num" }, "tools"), h("span", { class: "num" }, "tokens"), h("span", {})), this.servers.element),
        h("section", { "aria-label": "Tools" }, h("div", { class: "tools-head" }, this.heading, h("div", { class: "field less" }, this.narrow)),
          h("div", { class: "heads row tool" }, h("span", {}, "tool"), h("span", { class: "num" }, "tokens"), h("span", { class: "num" }, "params")), this.tools.element)));
    new ResizeObserver(() => { if (this.list && this.drawn !== this.map.clientWidth) this.draw(); }).observe(this.map);
  },

  async open() {
    if (this.list) return;
    const answer = await toolsOf("");
    const servers = answer.servers.map((name) => ({ name: name || "(no server)", server: name, tools: [], size: 0 }));
    answer.tools.forEach((tool, id) => {
      const server = servers[tool.server];
      server.tools.push({ id, name: tool.name, server: server.server, size: tool.tokens, parameters: tool.parameters, refused: tool.refused });
      server.size += tool.tokens;
    });
    const falling = (a, b) => b.size - a.size || a.name.localeCompare(b.name);
    servers.sort(falling).forEach((server, i) => { server.tools.sort(falling); server.tint = `t${i % 6}`; });
    this.list = servers;
    this.all = servers.flatMap((server) => server.tools).sort(falling);
    this.total = this.all.reduce((sum, tool) => sum + tool.size, 0);
    const tenth = this.all.slice(0, Math.ceil(this.all.length / 10));
    const figure = (value, unit, text) => h("div", {}, h("dt", {}, text), h("dd", {}, value, h("span", { class: "unit" }, unit)));
    this.figures.replaceChildren(
      figure(whole.format(this.total), "tokens", "in every model call, if all tools are shown"),
      figure(whole.format(Math.round(this.total / this.all.length)), "tokens", "for a tool, on average"),
      figure(percent(tenth.reduce((sum, tool) => sum + tool.size, 0) / this.total), "%", "of them are in the largest tenth of the tools"));
    this.figures.title = "Tokens are an estimate for name, description and parameters as JSON.";
    this.servers.show(servers);
    this.zoom(servers.length === 1 ? servers[0] : null);
  },

  focus() { this.map.querySelector("[tabindex='0']")?.focus(); },

  zoom(server) {
    this.at = server;
    this.back.hidden = !server || this.list.length === 1;
    this.where.textContent = server ? `${server.name}, ${count(server.tools.length, "tool")}, ${count(server.size, "token")}` : `${count(this.list.length, "server")}, ${count(this.all.length, "tool")}`;
    this.filter();
    this.draw();
  },

  filter() {
    const wanted = this.narrow.value.trim().toLowerCase();
    const from = this.at ? this.at.tools : this.all;
    const some = wanted === "" ? from : from.filter((tool) => tool.name.toLowerCase().includes(wanted));
    this.heading.textContent = `${this.at ? `Tools of ${this.at.name}` : "Tools"} · ${whole.format(some.length)}`;
    this.tools.show(some);
  },

  draw() {
    const w = this.drawn = this.map.clientWidth;
    if (w === 0) return;
    const hgt = Math.round(Math.min(420, Math.max(340, w * 0.42)));
    this.map.setAttribute("viewBox", `0 0 ${w} ${hgt}`);
    this.map.style.height = `${hgt}px`;
    const cells = this.at ? this.drawTools(w, hgt) : this.drawServers(w, hgt);
    cells[0]?.setAttribute("tabindex", "0");
    const isFocused = this.map.contains(document.activeElement);
    this.map.replaceChildren(...cells);
    this.under.textContent = "";
    if (isFocused) this.focus();
  },

  cell(box, label, open, children) {
    return s("g", {
      class: `cell ${box.item.tint ?? this.at?.tint ?? ""}`, tabindex: "-1", role: "button", "aria-label": label, onclick: open,
      onpointerenter: () => { this.under.textContent = label; }, onfocus: () => { this.under.textContent = label; },
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } },
    }, children, s("rect", { class: "ring", x: box.x + 1.5, y: box.y + 1.5, width: Math.max(0, box.w - 3), height: Math.max(0, box.h - 3) }));
  },

  leaf(box) { return s("rect", { class: "leaf", x: box.x, y: box.y, width: box.w, height: box.h }); },

  // text writes as much of a text as fits, at about 6.8 px a letter. The inner svg cuts off what is
  // wider.
  text(text, kind, x, y, room) {
    const fits = Math.floor(room / 6.8);
    if (fits < 4) return null;
    return s("svg", { x, y: y - 14, width: room, height: 20 }, s("text", { class: kind, y: 14 }, text.length > fits ? `${text.slice(0, fits - 1)}…` : text));
  },

  drawServers(w, hgt) {
    const most = Math.max(12, Math.round((w * hgt) / 240));
    const servers = fewest(this.list, most, (rest, size) => ({ name: `${whole.format(rest.length)} smaller servers`, size, tools: [], tint: "t5", rest }));
    return squarify(servers, 0, 0, w, hgt).map((box) => {
      const { item } = box;
      const band = box.w < 44 || box.h < 44 ? 0 : box.h < 72 ? 26 : 40; // the place of the server's name
      const n = Math.max(1, Math.round((box.w * (box.h - band)) / 320));
      const inner = item.tools.length > 1 ? squarify(fewest(item.tools, n, (rest, size) => ({ size })), box.x, box.y + band, box.w, box.h - band) : [];
      const label = `${item.name}: ${item.rest ? "" : `${count(item.tools.length, "tool")}, `}${count(item.size, "token")}, ${percent(item.size / this.total)} %`;
      return this.cell(box, label, () => { if (!item.rest) this.zoom(item); }, [
        this.leaf(box), inner.map((each) => [this.leaf(each), each.h > 18 && each.w > 66 && each.item.name ? this.text(bareName(each.item), "less", each.x + 6, each.y + 15, each.w - 10) : null]),
        s("rect", { class: "frame", x: box.x, y: box.y, width: box.w, height: box.h }),
        band > 0 || inner.length === 0 && box.h > 40 ? [
          this.text(item.name, "big", box.x + 9, box.y + 18, box.w - 16),
          band === 26 ? null : this.text(whole.format(item.size), "less", box.x + 9, box.y + 33, box.w - 16),
        ] : null,
      ]);
    });
  },

  drawTools(w, hgt) {
    const items = fewest(this.at.tools, Math.max(12, Math.round((w * hgt) / 1200)), (rest, size) => ({ name: `${whole.format(rest.length)} smaller tools`, size, rest }));
    return squarify(items, 0, 0, w, hgt).map((box) => {
      const { item } = box;
      return this.cell(box, `${item.name}: ${count(item.size, "token")}`, () => { if (!item.rest) openTool(item.id); }, [
        this.leaf(box),
        box.h > 22 ? this.text(bareName(item), "big", box.x + 8, box.y + 18, box.w - 14) : null,
        box.h > 40 ? this.text(whole.format(item.size), "less", box.x + 8, box.y + 33, box.w - 14) : null,
      ]);
    });
  },

  key(event) {
    const cells = [...this.map.querySelectorAll(".cell")];
    const i = cells.indexOf(document.activeElement);
    const to = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: cells.length - 1 }[event.key];
    if (event.key === "Escape" && this.at && this.list.length > 1) {
      event.preventDefault();
      this.zoom(null);
    } else if (to !== undefined && cells[to]) {
      event.preventDefault();
      cells[i]?.setAttribute("tabindex", "-1");
      cells[to].setAttribute("tabindex", "0");
      cells[to].focus();
    }
  },
};

// --- Findings ----------------------------------------------------------------------------------

const findings = {
  title: "Findings",
  build() {
    this.element = h("div", {}, waiting("Reading every definition, and searching for each tool by its own words …"));
  },

  async open() {
    if (this.kinds) return;
    const { kinds } = await findingsOf("");
    this.kinds = kinds;
    if (kinds.length === 0) {
      this.element.replaceChildren(h("div", { class: "begin" }, h("h2", {}, "Nothing to fix"), h("p", {}, "Names, descriptions and schemas are as providers and searchers want them.")));
      return;
    }
    this.nav = h("div", { class: "kinds", role: "group", "aria-label": "Kinds of findings", onkeydown: (event) => {
      const at = [...this.nav.children].indexOf(document.activeElement);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
      if (to === undefined || !this.kinds[to]) return;
      event.preventDefault();
      this.choose(this.kinds[to]);
    } });
    this.heading = h("h2", { class: "section" });
    this.list = new List({
      label: "Findings", rowHeight: 56, height: 616, open: openFinding,
      row: (finding) => h("div", { class: "finding" },
        h("div", { class: "cut" }, finding.tools.map((tool, i) => [i > 0 ? h("span", { class: "dim" }, ", ") : null, nameOf(tool)])),
        h("div", { class: "cut dim small" }, finding.detail ?? "")),
    });
    this.element.replaceChildren(h("div", { class: "split" }, this.nav, h("section", {}, this.heading, this.list.element)));
    this.choose(kinds[0]);
  },

  focus() { this.list?.element.focus(); },

  choose(kind) {
    const isFocused = this.nav.contains(document.activeElement);
    this.nav.replaceChildren(...this.kinds.map((each) => h("button", { type: "button", "aria-pressed": String(each === kind), onclick: () => this.choose(each) },
      h("span", {}, each.heading.split(" (")[0]), h("span", { class: "num dim" }, whole.format(each.count)))));
    const more = kind.count - kind.findings.length;
    this.heading.textContent = `${kind.heading[0].toUpperCase()}${kind.heading.slice(1)} · ${whole.format(kind.count)}${more > 0 ? `, of which ${whole.format(kind.findings.length)} are listed` : ""}`;
    this.list.show(kind.findings);
    if (isFocused) this.nav.querySelector("[aria-pressed=true]").focus();
  },
};

// --- Costs -------------------------------------------------------------------------------------

const costs = {
  title: "Costs",
  build() {
    this.provider = state.providers[0];
    this.element = h("div", {}, waiting("Playing conversations over the catalog …"));
  },

  async open() {
    if (!this.report) await this.load();
  },

  load() {
    return latest(this, async (signal) => {
      const report = await (this.shape ? ask("costs", { provider: this.provider, shape: this.shape }, signal) : costsOf(this.provider));
      if (signal.aborted) return;
      this.report = report;
      this.show();
    });
  },

  play(provider, shape) {
    Object.assign(this, { provider, shape });
    warn(""); // a kept answer is not asked for
    this.load().catch((error) => { if (error.name !== "AbortError") warn(error.message); });
  },

  show() {
    const { provider, tools, tokens: size, runs, advice } = this.report;
    const focused = [...this.element.querySelectorAll("select, input, button")].indexOf(document.activeElement);
    const pick = h("select", { class: "pick", "aria-label": "Provider", onchange: () => this.play(pick.value, this.shape) }, state.providers.map((name) => h("option", { value: name, selected: name === this.provider }, name)));
    const numbers = [["history", 20000], ["calls", 10], ["loads", 3]].map(([label, n], i) => h("label", { class: "dim small" }, label, " ",
      h("input", { type: "number", class: "number", required: true, min: String(Math.min(i, 1)), value: this.shape?.split(",")[i] ?? String(n) })));
    const own = h("form", { class: "against", onsubmit: (event) => {
      event.preventDefault();
      this.play(this.provider, numbers.map((label) => label.lastChild.value).join(","));
    } }, numbers, h("button", { class: "quiet", type: "submit" }, "Play your own shape"),
    this.shape && h("button", { class: "quiet", type: "button", onclick: () => this.play(this.provider) }, "Play the usual shapes"));
    this.element.replaceChildren(
      h("div", { class: "against" }, pick, h("span", { class: "dim" }, `${provider.model}, prices of ${provider.date}`)), own,
      h("h2", { class: "advice" }, advice),
      h("p", { class: "dim small" }, `What a conversation costs if all ${whole.format(tools)} tools (about ${whole.format(size)} tokens) are shown, and how much more or less in every other way to show them.`),
      h("div", { class: "runs" }, runs.map((run) => this.run(run))));
    if (focused >= 0) [...this.element.querySelectorAll("select, input, button")].slice(0, focused + 1).pop()?.focus();
  },

  run(run) {
    const most = Math.max(...run.ways.map((way) => way.dollars)) || 1;
    const title = [`${whole.format(run.history)} tokens of history`, count(run.calls, "call"), count(run.loads, "load"), run.cache === "none" ? "no cache" : `${run.cache} cache`].join(", ");
    return h("section", {}, h("h3", {}, title), h("ul", {}, run.ways.map((way, i) => h("li", { class: way.way === run.take[0] ? "best" : undefined },
      h("span", { class: "cut" }, way.way), h("span", { class: "share" }, width(h("i"), (100 * way.dollars) / most)),
      h("span", { class: `num ${i === 0 ? "" : way.percent <= -0.5 ? "up" : way.percent >= 0.5 ? "down" : ""}` },
        i === 0 ? `$${way.dollars.toFixed(4)}` : `${way.percent < 0 ? "−" : "+"}${Math.abs(way.percent).toFixed(0)} %`)))));
  },
};

// --- What the model sees -----------------------------------------------------------------------

// hidden are characters that one does not see, or that reorder their neighbours.
const hidden = /(?!\n)[\p{C}\p{DI}\p{Zl}\p{Zp}]/gu;

// readable shows JSON lines with the lines of their texts. Reading JSON undoes the server's escapes, so they are made anew.
const readable = (lines) => lines.split("\n").map((line) => {
  try { return JSON.stringify(JSON.parse(line), null, 1).replaceAll("\\n", "\n").replaceAll('\\"', '"').replace(hidden, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`); } catch { return line; }
}).join("\n");

const model = {
  title: "Model",
  build() {
    this.protocol = h("select", { class: "pick", "aria-label": "Protocol", onchange: () => this.load() }, state.protocols.map((name) => h("option", { value: name }, name)));
    this.query = h("input", { type: "search", "aria-label": "What the model searches for", value: state.examples[0], onchange: () => this.load() });
    this.may = h("input", { type: "search", "aria-label": "What a Filter lets the user have", placeholder: "all tools, or those of github:*, tag:read-only", onchange: () => this.load() });
    this.requests = h("div", {});
    this.element = h("div", {}, h("div", { class: "against" }, this.protocol, [this.query, this.may].map((input) => h("div", { class: "field less wide" }, input))), this.requests);
  },

  async open() { if (!this.requests.firstChild) await this.load(); },

  async load() {
    await latest(this, async (signal) => {
      const { requests } = await ask("model", { protocol: this.protocol.value, q: this.query.value, may: this.may.value }, signal);
      this.requests.replaceChildren(...requests.map((request, i) => h("section", { class: "seen" },
        h("h2", {}, i === 0 ? "Before the search" : i === requests.length - 1 ? "After it" : "In between"),
        request.parts.map((part) => h("details", { open: i > 0 && part.name === "messages" },
          h("summary", {}, part.name, h("span", { class: "dim" }, ` · ${count(part.bytes, "byte")} · ${count(part.tokens, "token")}`)),
          h("pre", {}, [part.again ? "as before" : "", readable(part.text)].filter(Boolean).join("\n") || "none"))))));
    }).catch((error) => { if (error.name !== "AbortError") warn(error.message); });
  },
};

// --- Misses ------------------------------------------------------------------------------------

const SHOWN = 5; // results that tool_search shows by default

const MOST = 1000; // letters of a query that go into an address
// worst returns the rank of the query's last group, and Infinity if a group was not found.
const worst = (query) => Math.max(...query.wanted.map((group) => group.rank || Infinity));
const rankText = (rank) => (Number.isFinite(rank) && rank > 0 ? String(rank) : "–");
const isMissed = (query) => worst(query) > (query.max_rank || Math.max(SHOWN, query.wanted.length));
const isFirst = (query) => worst(query) <= query.wanted.length;

const misses = {
  title: "Misses",
  build() {
    this.names = state.chosen.slice();
    this.which = "missed";
    this.kind = null; // null means all kinds
    this.element = h("div", {}, waiting(`Searching for ${count(state.queries, "query", "queries")} …`));
  },

  async open() {
    if (!this.results) await this.load();
  },

  focus() { this.list?.element.focus({ preventScroll: true }); },

  async load() {
    const names = this.names.filter((name) => name !== "");
    this.element.setAttribute("aria-busy", "true");
    this.results = await Promise.all(names.map((name) => evalOf(name)));
    this.element.removeAttribute("aria-busy");
    this.shownNames = names;
    this.show();
  },

  change(i, name) {
    this.names[i] = name;
    this.load().catch((error) => warn(error.message));
  },

  show() {
    const [a, b] = this.results;
    const two = b !== undefined;
    this.queries = a.queries.map((query, i) => ({ ...query, number: i, sides: this.results.map((result) => result.queries[i]) }));
    this.list = new List({
      label: "Queries", rowHeight: 44, height: 616, select: (query) => this.detail(query),
      open: (query) => { this.detail(query); if (window.innerWidth <= 860) this.side.scrollIntoView(); },
      row: (query) => h("div", { class: two ? "query" : "query one" },
        query.sides.map((side) => h("span", { class: `num ${isMissed(side) ? "missed" : isFirst(side) ? "first" : ""}` }, rankText(worst(side)))),
        h("span", { class: "cut" }, query.text), h("span", { class: "tag cut" }, query.kind ?? "")),
    });
    this.side = h("section", { class: "detail", "aria-label": "The query" });
    this.filters = h("div", { class: "filters" });
    this.element.replaceChildren(
      h("div", { class: "against" }, searcherPick(this.names[0], "First searcher", (name) => this.change(0, name)), h("span", { class: "dim" }, "against"),
        searcherPick(this.names[1] ?? "", "Second searcher", (name) => this.change(1, name), "nothing")),
      h("div", { class: "summary" }, this.metrics(), this.byKind()),
      this.filters,
      h("div", { class: "misses" },
        h("section", {}, h("div", { class: `heads row ${two ? "query" : "query one"}` }, this.shownNames.map((name) => h("span", { class: "num cut", title: labelOf(name) }, labelOf(name))), h("span", {}, "query")), this.list.element),
        this.side));
    this.filter();
  },

  metrics() {
    const [a, b] = this.results;
    const cell = (m) => h("td", { class: "num" }, percent(m.value), h("span", { class: "range" }, `${percent(m.low)} to ${percent(m.high)}`));
    const wanted = a.metrics.map((metric, i) => i).filter((i) => /^(R@|MRR|nDCG)/.test(a.metrics[i].name));
    return h("table", {},
      h("caption", { class: "unseen" }, "Metrics in percent, with 95 % intervals"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, `${count(this.queries.length, "query", "queries")}, percent`),
        this.shownNames.map((name) => h("th", { class: "num", scope: "col" }, labelOf(name))), b ? h("th", { class: "num", scope: "col" }, "change") : null)),
      h("tbody", {}, wanted.map((i) => {
        const by = b ? 100 * (b.metrics[i].value - a.metrics[i].value) : 0;
        return h("tr", {}, h("td", {}, a.metrics[i].name), cell(a.metrics[i]), b ? cell(b.metrics[i]) : null,
          b ? h("td", { class: `num moved ${by > 0.05 ? "up" : by < -0.05 ? "down" : ""}` }, `${by >= 0 ? "+" : "−"}${Math.abs(by).toFixed(1)}`) : null);
      })));
  },

  byKind() {
    const groups = new Map();
    for (const query of this.queries) groups.set(query.kind ?? "", [...(groups.get(query.kind ?? "") ?? []), query]);
    const kinds = [...groups];
    if (kinds.length < 2) return null;
    const share = (queries, side) => percent(queries.reduce((sum, query) => {
      const { wanted } = query.sides[side];
      return sum + wanted.filter((group) => group.rank > 0 && group.rank <= SHOWN).length / wanted.length;
    }, 0) / queries.length);
    return h("section", { "aria-label": "Kinds of queries" },
      h("div", { class: "kind-heads" }, h("span", {}, `R@${SHOWN} by kind, percent: ${this.shownNames.map(labelOf).join(", ")}`)),
      h("ul", { class: "kind-list" }, kinds.map(([kind, queries]) => h("li", {}, h("button", {
        type: "button", "aria-pressed": String(this.kind === kind), onclick: () => { this.kind = this.kind === kind ? null : kind; this.show(); },
      }, h("span", { class: "cut" }, kind || "(none)", h("span", { class: "tag" }, ` ${whole.format(queries.length)}`)), this.shownNames.map((_, i) => h("span", { class: "num" }, share(queries, i))))))));
  },

  filter() {
    const ofKind = this.queries.filter((query) => this.kind === null || (query.kind ?? "") === this.kind);
    const sets = {
      missed: ofKind.filter((query) => query.sides.some(isMissed)),
      late: ofKind.filter((query) => !query.sides.every(isFirst)),
      all: ofKind,
    };
    if (sets[this.which].length === 0) this.which = sets.missed.length > 0 ? "missed" : sets.late.length > 0 ? "late" : "all";
    this.filters.replaceChildren(
      segments("Queries", [["missed", `Not in the first ${SHOWN}`, sets.missed.length], ["late", "Not first", sets.late.length], ["all", "All", sets.all.length]], this.which, (which) => { this.which = which; this.filter(); }),
      this.kind === null ? "" : h("button", { class: "button cut", type: "button", onclick: () => { this.kind = null; this.show(); } }, `${this.kind || "(none)"} ×`));
    this.list.show(sets[this.which], 0);
    if (sets[this.which].length > 0) this.detail(sets[this.which][0]);
  },

  // detail tells of one query what was wanted, what came first instead, and which terms made the
  // difference.
  async detail(query) {
    if (this.current === query && this.side.hasChildNodes()) return;
    this.current = query;
    const worse = query.sides.findIndex(isMissed);
    await this.explain(query, Math.max(0, worse));
  },

  async explain(query, at) {
    const side = query.sides[at], searcher = this.shownNames[at];
    const body = h("div", {});
    this.side.replaceChildren(
      h("h2", {}, query.text),
      h("p", { class: "dim small" }, [query.id, query.kind, query.max_rank ? `wanted at rank ${query.max_rank} or better` : ""].filter(Boolean).join(" · ")),
      h("div", { class: "actions" },
        this.shownNames.length > 1 ? segments("Searcher", this.shownNames.map((name, i) => [i, labelOf(name)]), at, (i) => this.explain(query, i)) : null,
        h("a", { class: "button", href: `#search?${new URLSearchParams({ q: query.text.slice(0, MOST), ...Object.fromEntries(this.shownNames.map((name, i) => ["ab"[i], name])) })}` }, "Open in search")),
      body);
    const wanted = side.wanted.reduce((last, group) => ((group.rank || Infinity) > (last.rank || Infinity) ? group : last));
    const entries = side.wanted.map((group) => ({ role: "wanted", rank: group.rank, tool: group.tools[0], more: group.tools.length - 1, isWorst: group === wanted }));
    if (side.first) entries.push({ role: !isFirst(side) ? "came first" : "best other", rank: side.first.rank, tool: side.first, more: 0 });
    let scores;
    try {
      scores = await Promise.all(entries.map((entry) => ask("explain", { searcher, query: query.number, id: entry.tool.id })));
    } catch (error) {
      scores = [];
      body.append(h("p", { class: "dim small" }, error.message));
    }
    if (this.current !== query || !body.isConnected) return;
    const best = Math.max(0, ...scores.map((each) => each.score));
    const places = decimals(scores.map((each) => each.score).concat(best));
    body.append(h("ul", { class: "versus" }, entries.map((entry, i) => h("li", {},
      h("span", { class: "role" }, entry.role),
      h("span", { class: `num ${entry.role === "wanted" && !entry.rank ? "missed" : "dim"}` }, rankText(entry.rank)),
      h("span", {}, nameOf(entry.tool, "button", { class: "quiet", type: "button", onclick: () => openTool(entry.tool.id) }), entry.more > 0 ? h("span", { class: "dim small" }, ` or ${whole.format(entry.more)} more`) : null),
      h("span", { class: "num" }, scores[i] ? scores[i].score.toFixed(places) : ""),
      scores[i] ? stack(scores[i].parts, scores[i].score, best) : null))));
    const w = entries.findIndex((entry) => entry.isWorst);
    if (side.first && scores.length > 0) body.append(this.difference(scores[w], scores.at(-1)));
  },

  // difference compares two scores term by term.
  difference(wanted, first) {
    const terms = new Map();
    [wanted, first].forEach((score, i) => {
      for (const part of score.parts) {
        if (part.score === 0) continue;
        const term = part.term || (part.detail || part.field || "").replace(/[0-9.]+/g, "…");
        if (!terms.has(term)) terms.set(term, [0, 0, part.term]);
        terms.get(term)[i] += part.score;
      }
    });
    const rows = [...terms].map(([term, [a, b, isTerm]]) => ({ term, isTerm, a, b, by: a - b })).sort((x, y) => x.by - y.by);
    const most = Math.max(...rows.map((row) => Math.abs(row.by)), 0) || 1;
    const places = decimals(rows.flatMap((row) => [row.a, row.b]).concat(0));
    const value = (n) => (n === 0 ? "–" : n.toFixed(places));
    return h("table", { class: "parts" },
      h("caption", { class: "unseen" }, "The two scores, term by term"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "term"), h("th", { class: "num", scope: "col" }, "wanted"), h("th", { class: "num", scope: "col" }, "came first"), h("th", { class: "num", scope: "col" }, "difference"), h("th", { class: "bars" }))),
      h("tbody", {}, rows.map(({ term, isTerm, a, b, by }) => {
        const bar = width(h("i", { class: by < 0 ? "less" : "" }), (50 * Math.abs(by)) / most);
        bar.style.left = `${by < 0 ? 50 - (50 * Math.abs(by)) / most : 50}%`;
        return h("tr", {}, h("td", { class: isTerm ? "name" : "dim" }, term), h("td", { class: "num" }, value(a)), h("td", { class: "num" }, value(b)),
          h("td", { class: "num" }, by === 0 ? "0" : `${by > 0 ? "+" : "−"}${Math.abs(by).toFixed(places)}`), h("td", { class: "bars" }, h("div", { class: "delta-bar", "aria-hidden": "true" }, bar)));
      })));
  },
};

// --- Dialogs -----------------------------------------------------------------------------------

const sheet = document.getElementById("sheet");

function openSheet(title, children) {
  sheet.replaceChildren(
    h("header", {}, fill(title, { id: "sheet-title" }, []), h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => sheet.close() }, "×")),
    h("div", { class: "body", tabindex: "0" }, children));
  if (!sheet.open) sheet.showModal();
}

async function openTool(id) {
  if (id < 0) return;
  const tool = await ask("tool", { id });
  openSheet(nameOf(tool, "h2"), [
    h("dl", { class: "pairs" },
      h("dt", {}, "server"), h("dd", {}, tool.server || "–"),
      h("dt", {}, "tokens"), h("dd", {}, whole.format(tool.tokens)),
      h("dt", {}, "parameters"), h("dd", {}, whole.format(tool.parameters)),
      tool.refused ? [h("dt", {}, "providers"), h("dd", { class: "flag" }, "large providers refuse it; see Findings")] : null),
    h("h3", {}, "Description"), h("p", { class: "prose" }, tool.description || "–"),
    tool.schema ? [h("h3", {}, "Parameters"), h("pre", {}, tool.schema)] : null,
  ]);
}

function openFinding(finding) {
  openSheet(h("h2", {}, finding.detail || "The tools"), h("ul", { class: "kinds" }, finding.tools.map((tool) => h("li", {},
    tool.id < 0 ? nameOf(tool) : h("button", { type: "button", onclick: () => openTool(tool.id) }, nameOf(tool), h("span", { class: "dim small" }, "Definition"))))));
}

const help = document.getElementById("help");

function buildHelp() {
  const keys = [
    [["/"], "go to the query"], [["1", "…", String(Object.keys(views).length)], "go to a view"],
    [["↓", "↑"], "move among results and rows"], [["←", "→"], "move between two searchers, and between views"],
    [["Enter"], "take a score apart, open a row"], [["Esc"], "close, or go back"], [["?"], "this help"],
  ];
  help.append(
    h("header", {}, h("h2", { id: "help-title" }, "Keys"), h("button", { class: "icon", type: "button", "aria-label": "Close", onclick: () => help.close() }, "×")),
    h("dl", { class: "pairs" }, keys.map(([list, text]) => [h("dt", {}, list.map((key) => [key === "…" ? key : h("kbd", {}, key), " "])), h("dd", {}, text)])));
}

document.getElementById("help-button").addEventListener("click", () => help.showModal());
for (const dialog of [sheet, help]) dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// --- Views and keys ----------------------------------------------------------------------------

let state, views, current;

async function show() {
  const [name, query] = location.hash.slice(1).split("?");
  current = views[name] ? name : "search";
  const view = views[current];
  if (!view.element) {
    view.build();
    fill(view.element, { id: `view-${current}`, role: "tabpanel", "aria-labelledby": `tab-${current}` }, []);
    document.getElementById("main").append(view.element);
  }
  for (const [key, other] of Object.entries(views)) {
    if (other.element) other.element.hidden = key !== current;
    const tab = document.getElementById(`tab-${key}`);
    tab.setAttribute("aria-selected", String(key === current));
    tab.tabIndex = key === current ? 0 : -1;
  }
  document.title = `${view.title} · ${state.title} · toolsearch`;
  try {
    await view.open(new URLSearchParams(query));
  } catch (error) {
    if (error.name === "AbortError" || view === search) return;
    view.element.replaceChildren(h("div", { class: "empty" }, h("p", {}, error.message)));
  }
  // The focus goes into the view, but not while arrows move among the tabs, and not on a touch
  // screen, where it would bring up the keyboard.
  const isChoosing = document.activeElement?.matches("[role=tab]:focus-visible");
  if (views[current] === view && !isChoosing && !matchMedia("(pointer: coarse)").matches) view.focus?.();
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || sheet.open || help.open) return;
  const isTyping = event.target.matches("input, select, textarea");
  const names = Object.keys(views ?? {});
  if (event.target.getAttribute("role") === "tab" && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
    const at = names.indexOf(event.target.id.replace("tab-", ""));
    const to = names[(at + (event.key === "ArrowRight" ? 1 : names.length - 1)) % names.length];
    event.preventDefault();
    location.hash = to;
    document.getElementById(`tab-${to}`).focus();
  } else if (isTyping) {
    if (event.key === "Escape") event.target.blur();
  } else if (event.key === "/") {
    event.preventDefault();
    if (current !== "search") location.hash = "search";
    else { search.input.focus(); search.input.select(); }
  } else if (event.key === "?") {
    event.preventDefault();
    help.showModal();
  } else if (names[Number(event.key) - 1]) {
    event.target.blur(); // the focus goes into the view
    location.hash = names[Number(event.key) - 1];
  }
});

async function start() {
  state = await ask("state");
  views = { search, tokens };
  if (state.findings) views.findings = findings;
  if (state.providers?.length > 0) views.costs = costs;
  if (state.queries > 0) views.misses = misses;
  views.model = model;
  document.getElementById("title").textContent = state.title;
  document.getElementById("facts").textContent = `${count(state.tools, "tool")} · ${count(state.servers, "server")} · ${count(state.tokens, "token")}`;
  document.getElementById("tabs").append(...Object.entries(views).map(([name, view]) =>
    h("a", { id: `tab-${name}`, role: "tab", href: `#${name}`, "aria-controls": `view-${name}` }, view.title)));
  buildHelp();
  addEventListener("hashchange", show);
  await show();
}

start().catch((error) => warn(error.message));
