// The page "my group": members are the state, `group.py` and `ways.py` answer, this draws the answers. What takes
// long runs in a second Python, which is ended to cancel it.

import { boot } from "./boot.js";
import { copied, el, follow, fragment, keep, loading, noProblems, picture, problem, versions } from "./parts.js";
import { drawn, fill } from "./words.js";

const say = await fill("group");
const $ = (id) => document.getElementById(id);

const member = (client, expression, type = "TAG", topic = "TopicTest") => ({ client, topic, type, expression });
const EXAMPLES = [
  ["two_tags", [member("A", "tagA"), member("B", "tagB")]],
  ["same", [member("A", "tagA || tagB"), member("B", "tagB||tagA")]],
  ["mixed", [member("A", "TAGS = 'tagA'", "SQL92"), member("B", "tagA")]],
  ["narrow", [member("A", "a > 3", "SQL92"), member("B", "a >= 3", "SQL92")]],
  ["topics", [member("A", "*"), member("B", "*", "TAG", "Other")]],
];

// The form.

const rows = () => [...$("members").querySelectorAll(".row")];
const read = (row) => Object.fromEntries([...row.querySelectorAll("[name]")].map((field) => [field.name, field.value]));
const filled = (row) => Object.entries(read(row)).some(([name, value]) => name !== "type" && value !== "");

function state() {
  const number = (id) => Math.min(Number($(id).max) || 1_000, Math.max(1, Math.trunc(Number($(id).value)) || 1));
  const members = rows().filter(filled).map(read);
  const text = (id) => $(id).value;
  return { members, queues: number("queues"), old: text("old"), new: text("new"), restarting: number("restarting"), budget: number("budget"), ...($("version").value && { version: $("version").value }) };
}

function enter(given) {
  $("members").replaceChildren();
  for (const one of given.members) addRow(one);
  for (const id of ["queues", "old", "new", "restarting", "budget"]) if (id in given) $(id).value = given[id];
  if (!$("budget").value) $("budget").value = 10;
  if (given.version) $("version").value = given.version;
}

function addRow({ client = "", topic = "", type = "TAG", expression = "" } = {}) {
  const field = (name, value, word, kind = "") => {
    const made = el("input", { class: `code ${kind}`, name, "aria-label": say(word), placeholder: say(word), maxlength: 2000 });
    made.value = value;
    return made;
  };
  const choice = el("select", { name: "type", "aria-label": say("type") }, el("option", {}, "TAG"), el("option", {}, "SQL92"));
  choice.value = type;
  const remove = () => {
    const near = rows()[rows().indexOf(row) + 1] ?? rows()[rows().indexOf(row) - 1];
    if (row.nextElementSibling?.classList.contains("problem")) row.nextElementSibling.remove();
    row.remove();
    (near?.querySelector("input") ?? $("add")).focus();
    edited();
  };
  const row = el("div", { class: "row member", role: "group" },
    field("client", client, "client"), field("topic", topic, "topic_head"),
    choice, field("expression", expression, "expression", "wide"),
    el("button", { type: "button", class: "remove", "aria-label": say("remove"), title: say("remove"), click: remove }, "×"));
  $("members").append(row);
  rows().forEach((one, number) => one.setAttribute("aria-label", say("member", { number: number + 1 })));
  return row;
}

// Lint and one run, whenever the form changes.

const python = boot({ modules: ["group"], first: "group", onProgress: loading });
const asked = follow(() => python.call("group.judge", [state()]), show, failed, 200);
const ran = follow(() => python.call("group.lost", [state()]), showRun, (error) => {
  $("run-said").textContent = error.message;
  $("run-result").replaceChildren();
}, 0);

function edited() {
  $("result").classList.add("busy");
  $("run-result").classList.add("busy");
  stop();
  asked.soon();
}

function verdict(look, text) {
  $("said").className = `verdict ${look}`;
  $("said").hidden = false;
  if ($("said").textContent !== text) $("said").textContent = text;
}

function failed(error) {
  verdict("bad", error.message);
  for (const id of ["run", "change"]) $(id).hidden = true;
  $("result").replaceChildren();
}

function show(answer) {
  $("result").classList.remove("busy");
  noProblems($("form"));
  keep(answer.link);
  const usable = answer.problems.length === 0 && "verdict" in answer;
  for (const id of ["run", "change"]) $(id).hidden = !usable;
  if (!usable) {
    const shown = rows().filter(filled);
    shown.forEach((row, number) => (row.dataset.row = number));
    for (const [number, row] of shown.entries()) {
      const mine = answer.problems.filter((one) => one.row === number);
      if (mine.length) problem(row, mine.map((one) => say(one.word, one.values)).join(" "));
    }
    verdict(answer.problems.length ? "bad" : "", say(answer.problems.length ? "mend" : "empty"));
    $("result").replaceChildren();
    return;
  }
  const style = answer.refused.length ? "bad" : { consistent: "good", inconsistent: "bad", not_decided: "" }[answer.verdict];
  verdict(style, [...answer.refused, answer.said].join(" "));
  const parts = [el("h2", {}, say("do")), el("p", {}, answer.do), el("h2", {}, say("why")), ...answer.topics.flatMap(topic)];
  if (answer.notes.length) parts.push(el("h2", {}, say("notes")), el("ul", {}, answer.notes.map((note) => el("li", {}, note))));
  if (answer.tool) parts.push(el("p", { class: "soft" }, answer.tool));
  parts.push(el("h3", {}, say("command")), copied(answer.command, say));
  parts.push(el("details", {}, el("summary", {}, say("printed")), el("pre", {}, answer.lines)));
  $("result").replaceChildren(...parts);
  if (document.activeElement !== $("old") && document.activeElement !== $("new")) suggest(answer.wishes);
  $("run-said").textContent = say("running");
  ran.now();
}

// The first two wishes are the likeliest change; what the reader typed stays.
let suggested = ["", ""];
function suggest(wishes) {
  const next = [wishes[0] ?? "", wishes[1] ?? ""];
  ["old", "new"].forEach((id, at) => {
    if ($(id).value === "" || $(id).value === suggested[at]) $(id).value = next[at];
  });
  suggested = next;
}

function topic(found) {
  const parts = [el("h3", {}, say("topic", { topic: found.topic }))];
  if (found.differences.length) parts.push(el("ul", {}, found.differences.map((text) => el("li", {}, text))));
  else parts.push(el("p", {}, say("one_wish", { text: found.wishes[0].text })));
  for (const one of found.witnesses) {
    const cells = ({ said, lost, share, stuck, fates }) => el("tr", {}, el("th", { scope: "row" }, said),
      fates.map(({ said, kind, unasked }) => el("td", { class: kind }, `${said}${unasked ? ` (${say("unasked")})` : ""}`)),
      el("td", { class: lost ? "bad" : "good" }, share + (stuck ? `; ${say("stuck", { stuck })}` : "")));
    parts.push(el("div", { class: "table" }, el("table", {},
      el("caption", {}, el("strong", {}, one.said)),
      el("thead", {}, el("tr", {}, el("td", {}), one.owners.map((owner) => el("th", { scope: "col" }, say("owner", { owner }))), el("th", { scope: "col" }, say("lost_in")))),
      el("tbody", {}, one.losses.map(cells)))));
  }
  return parts;
}

function showRun({ sent, lost, fates, left_out, grid }) {
  $("run-result").classList.remove("busy");
  $("run-said").className = `verdict ${lost ? "bad" : "good"}`;
  const waiting = (fates.no_owner ?? 0) + (fates.waiting ?? 0);
  const texts = [say("lost_run", { sent, lost }), waiting ? say("waiting_run", { waiting }) : "", left_out ? say("left_out", { kinds: left_out }) : ""];
  $("run-said").textContent = texts.filter(Boolean).join(" ");
  $("run-result").replaceChildren(picture(grid, say("grid")));
}

// What takes long.

let second = null;
let running = "";
function worker() {
  second ??= boot({ modules: ["ways"] });
  return second;
}

function stop() {
  if (!running) return;
  second?.stop();
  second = null;
}

function began(what) {
  running = what;
  $("orders").disabled = $("plan").disabled = true;
  $("cancel").hidden = false;
  (what === "orders" ? $("orders") : $("plan")).after($("cancel"));
  $("cancel").focus();
}

function ended(what) {
  if (document.activeElement === $("cancel")) $(what).focus();
  running = "";
  $("orders").disabled = $("plan").disabled = false;
  $("cancel").hidden = true;
  $("plan-bar").hidden = true;
  if (document.activeElement === document.body) $(what).focus();
}

$("cancel").addEventListener("click", stop);

$("orders").addEventListener("click", async () => {
  began("orders");
  $("orders-result").replaceChildren();
  $("orders-said").textContent = say("starting");
  try {
    const told = ({ runs, of }) => ($("orders-said").textContent = say("orders_so_far", { runs, of }));
    const found = await worker().call("group.every_order", [state()], told);
    const { sent, runs, outcomes, exhausted, losses } = found;
    $("orders-said").textContent = say(exhausted ? "orders_all" : "orders_some", { runs, outcomes });
    $("orders-result").replaceChildren(el("div", { class: "table" }, el("table", {},
      el("caption", {}, say("orders_caption")),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, say("lost_messages")), el("th", { scope: "col" }, say("share")))),
      el("tbody", {}, losses.map(({ lost, share }) => el("tr", {}, el("td", { class: lost ? "bad" : "good" }, say("of_messages", { lost, sent })), el("td", { class: "number" }, `${(100 * share).toFixed(0)} %`)))))));
  } catch (error) {
    $("orders-said").textContent = error.name === "Stopped" ? say("stopped") : error.message;
  }
  ended("orders");
});

const loses = ({ lossless, best, median, worst }) => (lossless ? say("loses_nothing") : say("loses", { best, median, worst }));

$("plan").addEventListener("click", async () => {
  began("plan");
  const body = el("tbody");
  const heads = ["way", "producers", "loses_head", "runs", "twice_head", "waits"].map((word) => el("th", { scope: "col" }, say(word)));
  $("plan-result").replaceChildren(el("div", { class: "table" }, el("table", {}, el("caption", {}, say("ways")), el("thead", {}, el("tr", {}, heads)), body)));
  $("plan-said").className = "";
  $("plan-said").textContent = say("starting");
  $("plan-bar").hidden = false;
  $("plan-bar").removeAttribute("value");
  const told = ({ row, done, of, now }) => {
    [$("plan-bar").max, $("plan-bar").value] = [of, done];
    if (now) $("plan-said").textContent = say("plan_so_far", { way: say(`way_${now}`), done: done + 1, of });
    if (row) body.append(el("tr", {},
      el("th", { scope: "row" }, say(`way_${row.name}`)), el("td", {}, say(`producers_${row.producers}`)),
      el("td", { class: row.lossless ? "good" : "bad" }, `${row.lossless ? "✓" : "✗"} ${loses(row)}`),
      el("td", { class: "number" }, `${row.runs}${row.exhausted ? ` (${say("all_orders")})` : ""}`),
      el("td", { class: "number" }, String(row.twice)), el("td", { class: "number" }, `${(row.waits_ms / 1000).toFixed(1)} s`)));
  };
  try {
    const found = await worker().call("ways.compare", [state()], told);
    const named = (names) => names.map((name) => say(`way_${name}`)).join(say("and"));
    const texts = [
      found.same ? say("same_messages") : "",
      found.safe.length ? say("safe", { ways: named(found.safe) }) : found.best ? say("safe_none") : say("nothing_safe"),
      found.conditional.length ? say("conditional", { ways: named(found.conditional) }) : "",
      found.best && !found.exhausted ? say("not_all") : "",
    ];
    $("plan-said").className = `verdict ${found.safe.length ? "good" : found.best ? "" : "bad"}`;
    $("plan-said").textContent = texts.filter(Boolean).join(" ");
    const parts = [];
    if (found.best) parts.push(el("h3", {}, say("steps", { way: say(`way_${found.best}`) })), el("ol", {}, found.steps.map((step) => el("li", {}, step))));
    parts.push(el("h3", {}, say("command")), copied(found.command, say));
    $("plan-result").append(...parts);
  } catch (error) {
    $("plan-said").textContent = error.name === "Stopped" ? say("stopped") : error.message;
  }
  ended("plan");
});

// Start.

for (const [name, members] of EXAMPLES) {
  const press = () => { enter({ members, old: "", new: "" }); edited(); };
  $("examples").append(el("button", { type: "button", click: press }, say(`example_${name}`)));
}
$("add").addEventListener("click", () => {
  const last = rows().at(-1);
  addRow({ topic: last ? read(last).topic : "" }).querySelector("input").focus();
});
$("take").addEventListener("click", async () => {
  const { rows: found, wrong } = await python.call("group.read_lines", [$("lines").value]);
  if (found.length) {
    enter({ members: found.slice(0, 12) });
    edited();
  }
  $("taken").textContent = [say("taken", { count: found.length }), wrong.length ? say("lines_wrong", { lines: wrong.join(", ") }) : ""].join(" ");
});
$("form").addEventListener("input", (event) => { if (event.target !== $("lines")) edited(); });
$("change").addEventListener("input", edited);
$("form").addEventListener("submit", (event) => event.preventDefault());
enter({ members: EXAMPLES[0][1] });

async function open() {
  if (!fragment()) return asked.now();
  try {
    enter(await python.call("group.opened", [fragment()]));
  } catch (error) {
    return failed(error);
  }
  return asked.now();
}
addEventListener("hashchange", open);
python.ready.catch(failed);
await versions($("version"), python.call("group.versions", [])).catch(failed);
await open();
drawn(python.ready);
