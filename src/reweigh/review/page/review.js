"use strict";
// One sample at a time. Text from the data reaches the page as text only (textContent), never as markup.

const $ = (id) => document.getElementById(id);
let facts = null; // what /start said
let queue = []; // indices of the samples to show
let place = 0; // where we are in it
let card = null; // the sample that is shown
const decided = []; // indices in the order of decisions, for undo
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
  $("card").setAttribute("aria-busy", "true");
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
  for (const id of ["accept", "keep", "other", "unsure"]) $(id).disabled = card === null;
  const called = (id, words, label) => $(id).querySelector("span").replaceChildren(words, ...(card && label >= 0 ? [": ", named(label)] : []));
  called("accept", "Accept", card ? card.suggested : -1);
  called("keep", "Keep", card ? card.given : -1);
  $("accept").disabled = card === null || card.suggested < 0;
  $("back").disabled = place === 0;
  $("next").disabled = place >= queue.length;
  $("undo").disabled = !decided.length && !(card && card.mine);
  $("card").setAttribute("aria-busy", "false");
  $("card").scrollTop = 0;
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
    if (value.length > 80) shown.append(make("div", { class: "long" }, make("b", {}, make("bdi", {}, name)), make("bdi", {}, value)));
    else rows.push(make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, name)), make("td", {}, make("bdi", {}, value))));
  }
  if (rows.length) shown.append(make("table", {}, make("tbody", {}, ...rows)));
  if (card.more) shown.append(make("p", { class: "facts" }, `and ${card.more} more columns`));
  const labels = make("dl", { class: "labels" });
  const add = (kind, title, label) => labels.append(make("div", { class: kind }, make("dt", {}, title), make("dd", {}, named(label))));
  add("given", "Given label", card.given);
  if (card.suggested >= 0) add("suggested", "Suggested label", card.suggested);
  if (card.mine) add("mine", "You decided", card.mine.label);
  for (const other of card.others) {
    labels.append(make("div", { class: "mine" }, make("dt", {}, make("bdi", {}, other.by), " decided"), make("dd", {}, named(other.label))));
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
    const list = make("ul", {}, ...samples.map((each) => make("li", {}, facts.images
      ? make("img", { src: `picture/${each.index}?size=small`, alt: "similar sample" })
      : make("bdi", {}, each.text))));
    side.append(make("section", { class: "similar" }, make("h2", {}, "Most similar with the label ", named(label)), list));
  }
}

function progress(state) {
  const { suspicious, seen, decided: mine, wrong, right, disputed, remaining, reviewers, audit } = state;
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
  $("left").textContent = `${wrong.toLocaleString()} wrong and ${right.toLocaleString()} right so far; about ${count} wrong labels left (90 %: ${low} to ${high})`
    + (disputed ? `; ${disputed} disputed` : "") + (reviewers.length > 1 ? `; reviewers: ${reviewers.join(", ")}` : "");
}

async function act(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
  busy = false;
}

const decide = (label) => act(async () => {
  if (!card) return;
  const { index, row } = card;
  const state = await ask("decision", { index, label });
  cards.delete(index);
  decided.push(index);
  progress(state);
  say(label === null ? `Row ${row}: not sure.` : `Row ${row}: ${facts.classes[label]}.`);
  place += 1;
  await show();
});

const undo = () => act(async () => {
  const index = decided.length ? decided[decided.length - 1] : card && card.mine ? card.index : undefined;
  if (index === undefined) return;
  progress(await ask("decision", { index, undo: true }));
  decided.pop();
  cards.delete(index);
  if (queue.includes(index)) place = queue.indexOf(index);
  await show();
  say(`Undone: row ${card ? card.row : ""}.`);
});

const move = (by) => act(async () => {
  place = Math.min(Math.max(place + by, 0), queue.length);
  say("");
  await show();
});

function choose() {
  if (!card) return;
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

const actions = {
  accept: () => card && card.suggested >= 0 && decide(card.suggested),
  keep: () => card && decide(card.given),
  other: choose,
  unsure: () => decide(null),
  undo,
  back: () => move(-1),
  next: () => move(1),
};
const keys = { ArrowLeft: "back", ArrowRight: "next" };
for (const [id, action] of Object.entries(actions)) {
  keys[$(id).dataset.key] = id;
  $(id).setAttribute("aria-keyshortcuts", $(id).dataset.key);
  $(id).addEventListener("click", action);
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("choose").open) return;
  if (event.target.matches("input, select")) return;
  const id = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (id && !$(id).disabled) { event.preventDefault(); actions[id](); }
});
$("part").addEventListener("input", find);
$("part").addEventListener("keydown", (event) => {
  if (event.key === "Enter") { event.preventDefault(); $("found").querySelector("button")?.click(); }
});
$("cancel").addEventListener("click", () => $("choose").close());

const refill = () => act(async () => {
  const wanted = new URLSearchParams();
  for (const [name, value] of new FormData($("wanted"))) {
    if (value === "") continue;
    if (name === "pair") { const [given, suggested] = value.split(" "); wanted.set("given", given); wanted.set("suggested", suggested); }
    else if (!wanted.has(name)) wanted.set(name, value);
  }
  const chosen = [...$("wanted").querySelectorAll("select")].filter((each) => each.value && each.name !== "order");
  queue = await ask("queue?" + wanted);
  place = 0;
  $("filtered").textContent = `${queue.length.toLocaleString()} samples: `
    + [...chosen.map((each) => each.selectedOptions[0].textContent), $("wanted").order.selectedOptions[0].textContent].join(", ");
  await show();
});
$("wanted").addEventListener("change", refill);
$("wanted").addEventListener("submit", (event) => event.preventDefault());

act(async () => {
  facts = await ask("start");
  document.title = facts.title + " · reweigh " + (facts.audit ? "audit" : "review");
  if (facts.audit) {
    $("kind").textContent = "Audit";
    $("filters").hidden = true;
    $("accept").hidden = true;
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
  progress(facts.progress);
}).then(refill);
