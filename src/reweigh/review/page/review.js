"use strict";
// A wall of samples, or one at a time. Text from the data reaches the page as text only (textContent), never as markup.

const $ = (id) => document.getElementById(id);
let facts = null; // what /start said
let queue = []; // indices of the samples to show
let place = 0; // where we are in it
let card = null; // the sample that is shown
let view = "grid"; // or "cards" or "map"
let wall = null;
let plane = null;
let brushed = null; // samples that were chosen on the map; null for all
const past = []; // the wall before each action that took samples from it
let undoable = 0; // samples that one undo takes back
const tiles = new Map(); // index -> what a tile shows
const cards = new Map(); // index -> promise of a card: the next ones are fetched ahead
let busy = false;

async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The server does not answer. Start reweigh review again and open its new address; your decisions are on disk.");
  }
  const answer = await response.json().catch(() => ({ error: "The server refused: " + response.status }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function make(kind, attributes = {}, ...children) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const named = (label) => make("bdi", {}, label === null ? "not sure" : facts.classes[label] ?? "a class that is gone");
const decision = ({ label, exclude }) => exclude ? make("bdi", {}, "left out: " + exclude) : named(label);
const counted = (number, one) => `${number.toLocaleString()} ${one}${number === 1 ? "" : "s"}`;

function say(text, error = false) {
  $("said").textContent = text;
  $("said").classList.toggle("error", error);
}

function get(index) {
  if (!cards.has(index)) {
    cards.set(index, ask("sample/" + index).then((found) => {
      if (facts.images) new Image().src = "picture/" + index;
      return found;
    }));
    cards.get(index).catch(() => cards.delete(index));
    if (cards.size > 60) cards.delete(cards.keys().next().value);
  }
  return cards.get(index);
}

async function show() {
  const index = queue[place];
  card = null;
  $("main").setAttribute("aria-busy", "true");
  if (index === undefined) {
    $("sample").replaceChildren(make("p", { class: "end" }, queue.length
      ? "This was the last sample. Back shows them again" + (facts.audit ? "." : "; change the filters above to see others.")
      : facts.audit ? "All samples that were drawn are decided about." : "No sample matches the filters. Change them above."));
  } else {
    const found = await get(index);
    if (queue[place] !== index) return; // the reader was faster
    card = found;
    draw();
    for (const ahead of queue.slice(place + 1, place + 4)) get(ahead).catch(() => {});
  }
  offer();
  $("main").setAttribute("aria-busy", "false");
  $("main").scrollTop = 0;
}

// Which buttons can be used, and what they would do.
function offer() {
  const chosen = view === "grid" ? wall.targets() : view === "cards" && card ? [card.index] : [];
  for (const id of ["accept", "keep", "other", "exclude", "unsure"]) $(id).disabled = !chosen.length;
  const called = (id, words, label) => $(id).querySelector("span").replaceChildren(words, ...(card && label >= 0 ? [": ", named(label)] : []));
  if (view === "grid") {
    const many = wall.selected.size ? " " + chosen.length.toLocaleString() : "";
    $("accept").querySelector("span").textContent = "Accept" + many;
    $("keep").querySelector("span").textContent = "Keep" + many;
    if (wall.selected.size) say(`${chosen.length.toLocaleString()} selected.`);
    else if ($("said").textContent.endsWith("selected.")) say("");
  } else {
    called("accept", "Accept", card ? card.suggested : -1);
    called("keep", "Keep", card ? card.given : -1);
    $("accept").disabled = view === "map" || card === null || card.suggested < 0;
  }
  for (const id of ["back", "next"]) $(id).hidden = view !== "cards";
  $("back").disabled = place === 0;
  $("next").disabled = place >= queue.length;
  $("undo").disabled = !undoable;
}

// What the tiles on the page show; those that nobody has asked for yet are fetched in one go.
async function fill(shown) {
  const missing = shown.map(([index]) => index).filter((index) => !tiles.has(index)).slice(0, 400);
  if (missing.length) for (const found of await ask("tiles?index=" + missing)) tiles.set(found.index, found);
  for (const [index, element] of shown) {
    const tile = tiles.get(index);
    if (!tile || !element.isConnected || element.childElementCount) continue;
    const suggested = tile.suggested >= 0 ? facts.classes[tile.suggested] : "no other";
    const name = `row ${tile.row}${tile.name ? ", " + tile.name : ""}, given ${facts.classes[tile.given]}, suggested ${suggested}`;
    element.setAttribute("title", name);
    element.setAttribute("aria-label", name);
    const words = make("span", { class: "words" }, tile.mine ? decision(tile.mine) : grouped() ? make("bdi", {}, tile.name || `row ${tile.row}`) : pair(tile.given, tile.suggested));
    if (facts.images) {
      const image = make("img", { src: `picture/${index}?size=small`, alt: name, draggable: "false" });
      image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth < 64));
      image.addEventListener("error", () => image.isConnected && image.getAttribute("src") && image.replaceWith(make("span", { class: "text" }, "cannot be read")));
      element.append(image, words);
    } else {
      element.append(make("span", { class: "text" }, make("bdi", {}, tile.text || tile.name || `row ${tile.row}`)), words);
    }
    element.classList.toggle("done", Boolean(tile.mine));
  }
}

const grouped = () => wall.groups.length > 0 && wall.groups[0].pair !== null;
const pair = (given, suggested) => make("span", {}, named(given), ...(suggested >= 0 ? [" → ", named(suggested)] : []));

function title({ pair: both, differ, index }) {
  const count = make("span", { class: "count" }, index.length.toLocaleString());
  if (!both) return [make("span", {}, differ ? "different labels" : "same label"), " ", count];
  return [both[0] === both[1] ? make("span", {}, named(both[0]), " (no other suggested)") : pair(...both), " ", count];
}

async function turn(to, index) {
  if (to === "cards") {
    queue = [...wall.order];
    place = Math.max(0, queue.indexOf(index ?? wall.focus));
  }
  const before = card ? card.index : null;
  view = to;
  for (const [id, name] of [["grid", "grid"], ["cards", "cards"], ["plane", "map"]]) $(id).setAttribute("aria-pressed", view === name);
  document.body.className = view;
  $("wall").hidden = view !== "grid";
  $("card").hidden = view !== "cards";
  $("map").hidden = view !== "map";
  $("loading").hidden = true;
  say("");
  if (view === "map") { await chart(); return; }
  if (view === "grid") { await load(before); if (before !== null) wall.go(wall.focus); } else await show();
}

async function chart() {
  offer();
  if (!plane) $("map-why").textContent = "Comparing all samples; with tens of thousands of photos, this takes some seconds …";
  const found = await ask("map");
  $("map-why").textContent = found.trouble || `${counted(found.index.length, "sample")} by ${found.how} of their features, similar ones near each other; those that look wrong are larger, on top. Drag a rectangle to see its samples in the grid.`;
  if (found.trouble) { for (const each of $("map").querySelectorAll("canvas, select, #legend")) each.hidden = true; return; }
  $("map").querySelector("[value=family]").hidden = found.family.every((each) => each < 0);
  plane ??= new Plane($("map"), (indices) => act(async () => {
    if (!indices.length) { say("No sample is in the rectangle."); return; }
    brushed = new Set(indices);
    Object.assign($("wanted").show, { value: "all" });
    Object.assign($("wanted").state, { value: "any" });
    await turn("grid");
    $("main").scrollTop = 0;
  }));
  plane.set(found);
}

function draw() {
  const shown = make("div", { class: "shown" });
  if (facts.images) {
    const image = make("img", { src: "picture/" + card.index, alt: "Sample in row " + card.row });
    image.addEventListener("error", () => image.replaceWith(make("p", {}, "The image can no longer be read.")));
    shown.append(image);
  }
  const rows = [];
  for (const [name, value] of card.values) {
    if (value.length > 80 || card.values.length === 1) shown.append(make("div", { class: "long" }, make("b", {}, make("bdi", {}, name)), make("bdi", {}, value)));
    else rows.push(make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name)), make("td", {}, make("bdi", {}, value))));
  }
  if (rows.length) shown.append(make("table", {}, make("tbody", {}, ...rows)));
  if (card.more) shown.append(make("p", { class: "facts" }, `and ${card.more} more columns`));
  const labels = make("dl", { class: "labels" });
  const add = (kind, title, label) => labels.append(make("div", { class: kind }, make("dt", {}, title), make("dd", {}, named(label))));
  add("given", "Given label", card.given);
  if (card.suggested >= 0) add("suggested", "Suggested label", card.suggested);
  if (card.mine) labels.append(make("div", { class: "mine" }, make("dt", {}, "You decided"), make("dd", {}, decision(card.mine))));
  for (const other of card.others) {
    labels.append(make("div", { class: "mine" }, make("dt", {}, make("bdi", {}, other.by), " decided"), make("dd", {}, decision(other))));
  }
  const called = make("p", { class: "called" }, `row ${card.row}`);
  if (card.name) called.append(" · ", make("bdi", {}, card.name));
  const side = make("div", { class: "side" }, called, labels);
  if (card.quality !== null) side.append(make("p", { class: "facts" }, `Label quality ${card.quality.toFixed(3)}: 0 is surely wrong, 1 surely right.`));
  if (card.weight !== null) side.append(make("p", { class: "facts" }, `Mean weight in training ${card.weight.toFixed(2)}.`));
  if (card.held_out) side.append(make("p", { class: "facts" }, "Held out for testing: judged by the final model, which has not seen it."));
  if (card.suggested < 0 && !facts.audit) side.append(make("p", { class: "facts" }, "Training suggests no other label."));
  $("sample").replaceChildren(shown, side);
  beside(card, side).catch(() => {});
}

async function beside({ index, given, suggested }, side) {
  const found = await ask("similar/" + index);
  for (const label of [given, suggested]) {
    const samples = found[label] ?? [];
    if (!samples.length) continue;
    const list = make("ul", {}, ...samples.map((each) => make("li", each.doubtful ? { class: "doubtful" } : {}, facts.images
      ? make("img", { src: `picture/${each.index}?size=small`, alt: "similar sample" })
      : make("bdi", {}, each.text), each.doubtful ? make("span", {}, "label in doubt") : null)));
    side.append(make("section", { class: "similar" }, make("h2", {}, "Most similar with the label ", named(label)), list));
  }
}

function progress(state) {
  const { suspicious, seen, decided: mine, wrong, right, excluded, disputed, remaining, reviewers, audit, undo: last } = state;
  undoable = last;
  if (audit) {
    $("bar").max = Math.max(audit.n, 1);
    $("bar").value = audit.decided;
    $("done").textContent = `${audit.decided.toLocaleString()} of ${audit.n.toLocaleString()} drawn at random, ${mine.toLocaleString()} in all`;
    $("left").textContent = audit.words || "Decide about each label, from the first on; what they say about all labels is shown here.";
    return;
  }
  $("bar").max = Math.max(suspicious, 1);
  $("bar").value = seen;
  $("done").textContent = `${seen.toLocaleString()} of ${suspicious.toLocaleString()} suspicious, ${mine.toLocaleString()} in all`;
  const [count, low, high] = remaining.map((each) => each.toLocaleString());
  $("left").textContent = `${wrong.toLocaleString()} wrong and ${right.toLocaleString()} right so far; about ${count} wrong labels left (between ${low} and ${high})`
    + (excluded ? `; ${excluded.toLocaleString()} left out` : "") + (disputed ? `; ${disputed} disputed` : "") + (reviewers.length > 1 ? `; reviewers: ${reviewers.join(", ")}` : "");
}

// One thing at a time: a key that comes meanwhile would act on what nobody has seen, unless it can wait.
let doing = Promise.resolve();
function act(work, waits = false) {
  if (busy && !waits) return doing;
  busy = true;
  const mine = doing.then(work).catch((error) => say(error.message, true)).then(() => { if (doing === mine) busy = false; });
  doing = mine;
  return mine;
}

// label: a class, "suggested", "given" or null; or why to leave the samples out
const decide = (label, exclude) => act(async () => {
  const chosen = view === "grid" ? wall.targets() : card ? [card.index] : [];
  if (!chosen.length) return;
  const state = await ask("decision", exclude ? { index: chosen, exclude } : { index: chosen, label });
  for (const index of chosen) { cards.delete(index); tiles.delete(index); }
  progress(state);
  const what = exclude ? "left out, " + facts.exclusions[exclude] : label === null ? "not sure" : label === "suggested" ? "accepted"
    : label === "given" ? "kept" : facts.classes[label];
  if (view === "grid") {
    if ($("wanted").state.value === "open") { past.push({ groups: wall.groups, gone: new Set(chosen) }); wall.remove(chosen); }
    else { wall.selected.clear(); wall.set(wall.groups); }
    say(`${counted(chosen.length, "label")}: ${what}. Z undoes it.`);
    if (!wall.order.length) explain();
  } else {
    say(`Row ${card.row}: ${what}.`);
    place += 1;
    await show();
  }
});

const undo = () => act(async () => {
  const state = await ask("decision", { undo: true });
  for (const index of state.index) { cards.delete(index); tiles.delete(index); }
  progress(state);
  if (view === "grid") {
    const last = past.pop(); // what was on the wall need not be asked for again
    if (last && last.gone.size === state.index.length && state.index.every((index) => last.gone.has(index))) { wall.set(last.groups, state.index[0], true); explain(); }
    else await load(state.index[0]);
    wall.selected = new Set(state.index.filter((index) => state.index.length > 1 && wall.at.has(index)));
    wall.focus = wall.at.has(state.index[0]) ? state.index[0] : wall.focus;
    wall.marked();
    wall.go(wall.focus);
  } else if (view === "map") await chart();
  else {
    if (queue.includes(state.index[0])) place = queue.indexOf(state.index[0]);
    await show();
  }
  say(`Undone: ${counted(state.index.length, "label")}.`);
}, true);

const move = (by) => act(async () => {
  place = Math.min(Math.max(place + by, 0), queue.length);
  say("");
  await show();
});

function choose() {
  $("part").value = "";
  find();
  $("choose").showModal();
  $("part").focus();
}

function find() {
  const part = $("part").value.trim().toLowerCase();
  const hits = facts.classes.map((name, label) => [name, label]).filter(([name]) => name.toLowerCase().includes(part));
  hits.sort(([a], [b]) => b.toLowerCase().startsWith(part) - a.toLowerCase().startsWith(part));
  $("found").replaceChildren(...hits.slice(0, 200).map(([name, label]) => {
    const button = make("button", { type: "button" }, make("bdi", {}, name));
    button.addEventListener("click", () => { $("choose").close(); decide(label); });
    return make("li", {}, button);
  }));
}

function reasons() {
  $("reasons").showModal();
  $("why-not").querySelector("button").focus();
}

const actions = {
  accept: () => decide("suggested"),
  keep: () => decide("given"),
  other: choose,
  exclude: reasons,
  unsure: () => decide(null),
  undo,
  back: () => move(-1),
  next: () => move(1),
  grid: () => view === "grid" || act(() => turn("grid")),
  cards: () => view === "cards" || act(() => turn("cards")),
  plane: () => view === "map" || act(() => turn("map")),
  help: () => { $("keys").showModal(); $("keys").scrollTop = 0; },
};
const keys = { ArrowLeft: "back", ArrowRight: "next" };
for (const [id, action] of Object.entries(actions)) {
  keys[$(id).dataset.key] = id;
  $(id).setAttribute("aria-keyshortcuts", $(id).dataset.key);
  $(id).addEventListener("click", action);
}

// Keys of the grid alone; returns whether the key was one.
function onGrid(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "a") { wall.pick(wall.order.filter((index) => !wall.selected.has(index))); return true; }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "Escape") { wall.clear(); return true; }
  if (event.key === "+" || event.key === "=") { wall.zoom(1.25); return true; }
  if (event.key === "-") { wall.zoom(0.8); return true; }
  if (wall.focus === null) return false;
  if (event.key.toLowerCase() === "s") { wall.pick(wall.groupOf(wall.focus).index); return true; }
  if (event.key === "Enter" && event.target.matches(".tile")) { act(() => turn("cards", wall.focus)); return true; }
  if (event.key === " " && !event.target.matches("button, summary")) { wall.anchor = wall.focus; wall.pick([wall.focus]); wall.go(wall.focus); return true; }
  return wall.key(event);
}
document.addEventListener("keydown", (event) => {
  const open = document.querySelector("dialog[open]");
  if (open) {
    const button = open.id === "reasons" && $("why-not").querySelectorAll("button")[Number(event.key) - 1];
    if (button) button.click();
    return;
  }
  if (!wall || event.target.matches("input, select")) return;
  if (view === "grid" && !facts.audit && onGrid(event)) { event.preventDefault(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const id = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (id && !$(id).disabled && !$(id).hidden) { event.preventDefault(); actions[id](); }
});
$("part").addEventListener("input", find);
$("part").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); $("found").querySelector("button")?.click(); }
});
for (const button of document.querySelectorAll(".cancel")) button.addEventListener("click", () => button.closest("dialog").close());

// Say what is shown, and why.
function explain() {
  const { show: which, order } = $("wanted");
  const count = wall.order.length;
  const what = which.value === "duplicates" ? `${counted(count, "sample")} that ${count === 1 ? "is" : "are"} nearly the same as another, those with different labels first: correct labels that differ, or leave out all but one of each group.`
    : brushed ? `${counted(count, "sample")} chosen on the map; change a filter to see others.`
    : which.value === "outliers" ? `${counted(count, "sample")} far from all others, which may belong to no class: leave out those that do not (X).`
    : which.value === "all" ? `${counted(count, "sample")} of the data.`
    : `${counted(count, "label")} that look${count === 1 ? "s" : ""} wrong, of ${facts.labels.toLocaleString()}: a model that learned from the other samples sees another class in ${count === 1 ? "it" : "them"}.`;
  const how = order.value === "similar" && !["duplicates", "outliers"].includes(which.value) ? " Each group is given → suggested class, similar samples side by side. Select those that the suggestion is right for and accept them (A), keep the others (K)." : "";
  $("why").textContent = count ? what + how : "No sample is left that matches the filters. Change them above.";
}

async function load(keep = null) {
  past.length = 0;
  const wanted = new URLSearchParams();
  for (const [name, value] of new FormData($("wanted"))) {
    if (value === "") continue;
    if (name === "pair") { const [given, suggested] = value.split(" "); wanted.set("given", given); wanted.set("suggested", suggested); }
    else if (!wanted.has(name)) wanted.set(name, value);
  }
  const chosen = [...$("wanted").querySelectorAll("select")].filter((each) => each.value && each.name !== "order");
  const groups = await ask("wall?" + wanted);
  if (brushed) for (const group of groups) group.index = group.index.filter((index) => brushed.has(index));
  wall.set(groups.filter((group) => group.index.length), keep);
  $("filtered").textContent = `${counted(wall.order.length, "sample")}: `
    + [...chosen.map((each) => each.selectedOptions[0].textContent), $("wanted").order.selectedOptions[0].textContent].join(", ");
  explain();
  $("main").setAttribute("aria-busy", "false");
}
// The first wall does not wait until all samples are compared. Once they are, it is sorted anew, if nobody has begun.
async function sorted() {
  let found = { done: false };
  while (!found.done) found = await ask("compared");
  if (found.again && view === "grid" && !wall.selected.size && !past.length && $("wanted").order.value === "similar") await act(() => load(wall.focus));
}
const refill = () => act(async () => {
  if (view === "cards") await load();
  $("main").scrollTop = 0;
  card = null;
  await turn(view, wall.order[0]);
});
$("wanted").addEventListener("change", () => { brushed = null; if (view === "map") view = "grid"; refill(); });
$("wanted").addEventListener("submit", (event) => event.preventDefault());

act(async () => {
  facts = await ask("start");
  document.title = facts.title + " · reweigh " + (facts.audit ? "audit" : "review");
  if (facts.audit) {
    $("kind").textContent = "Audit";
    $("filters").hidden = true;
    for (const id of ["accept", "grid", "cards", "plane"]) $(id).hidden = true;
    view = "cards";
    $("bar").setAttribute("aria-label", "Labels decided");
  }
  $("title").textContent = facts.title;
  $("reviewer").textContent = facts.reviewer;
  $("trouble").hidden = !facts.trouble;
  $("trouble").textContent = "The samples themselves cannot be shown: " + facts.trouble;
  const form = $("wanted");
  for (const [name, words] of Object.entries(facts.orders)) form.order.append(make("option", { value: name }, words.toLowerCase()));
  facts.classes.forEach((name, label) => {
    for (const select of [form.given, form.suggested]) select.append(make("option", { value: label }, name));
  });
  for (const [given, suggested, count] of facts.pairs) {
    form.pair.append(make("option", { value: `${given} ${suggested}` }, `${facts.classes[given]} → ${facts.classes[suggested]} (${count})`));
  }
  if (!facts.copies) form.show.querySelector("[value=duplicates]").remove();
  if (!facts.outliers) form.show.querySelector("[value=outliers]").remove();
  $("why-not").append(...Object.entries(facts.exclusions).map(([name, words], place) => {
    const button = make("button", { type: "button" }, make("kbd", {}, String(place + 1)), " " + words);
    button.addEventListener("click", () => { $("reasons").close(); decide(null, name); });
    return make("li", {}, button);
  }));
  wall = new Wall($("main"), { fill: (shown) => fill(shown).catch((error) => say(error.message, true)), title, open: (index) => act(() => turn("cards", index)), changed: () => view === "grid" && offer() });
  progress(facts.progress);
}).then(refill).then(() => facts.audit || sorted()).catch((error) => say(error.message, true));
