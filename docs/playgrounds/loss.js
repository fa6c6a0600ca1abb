// The page "the loss". The state is what the link holds: a scenario and how it is run. The form changes the scenario's
// steps, `loss.py` runs it and draws, this shows what came back. Every order is searched by a Python of its own.

import { boot } from "./boot.js";
import "./film.js";
import { copied, el, fragment, keep, loading, versions } from "./parts.js";
import { drawn, fill } from "./words.js";

const say = await fill("loss");
const $ = (id) => document.getElementById(id);
const NAMES = ["A", "B", "C", "D", "E", "F"];
const BEAT_MS = 30_000;
const LEAST_AXIS_S = 180;
const lister = new Intl.ListFormat(document.documentElement.lang, { type: "unit" });
const seconds = (ms) => `${Math.round(ms / 100) / 10} s`;

let state = null;
let answer = null;

const python = boot({ modules: ["loss"], first: "loss", onProgress: loading });

function complain(error) {
  $("problem").hidden = false;
  $("lab").classList.add("stale"); // what is shown belongs to the state before
  $("problem").textContent = error.name === "BadInput" ? `${say("cannot")} ${error.message}` : `${say("broken")} ${error.message}`;
}

// Run the state; of several changes while one is under way, only the last is run.

let busy = false;
let again = false;

async function refresh() {
  if (busy) return void (again = true);
  busy = true;
  do {
    again = false;
    try {
      const found = await python.call("loss.show", [state]);
      $("problem").hidden = true;
      $("lab").classList.remove("stale");
      if (!again) await shown(found);
    } catch (error) {
      complain(error);
    }
  } while (again);
  busy = false;
}

async function shown(found) {
  answer = found;
  const { lost, sent, arrived } = found;
  $("verdict").classList.toggle("bad", lost > 0);
  $("verdict").classList.toggle("good", lost === 0);
  $("verdict").textContent = [say(lost ? "verdict_lost" : "verdict_none", { lost, sent, arrived }), ...found.refused].join(" ");
  $("order").hidden = !state.schedule;
  $("grids").replaceChildren(...found.grids.map((html, at) => el("div", { class: "wide", html, tabindex: 0, role: "group", "aria-label": say("grid", { group: found.groups[at] }) })));
  colours(found.colours);
  $("group").hidden = found.groups.length < 2;
  const chosen = found.groups.includes($("group").value) ? $("group").value : found.groups[0];
  $("group").replaceChildren(...found.groups.map((group) => el("option", { selected: group === chosen }, group)));
  linked(found);
  story();
}

function linked(found) {
  keep(found.link);
  $("digest").textContent = found.digest;
  $("address").replaceChildren(copied(location.href, say));
  $("command").replaceChildren(copied(`rmqlab simulate --link '#${found.link}' --out events.jsonl`, say));
}

// The story of a group as a film; the link keeps the step that it stands at.

function story() {
  const { problem, ...told } = answer.films[$("group").value];
  [$("film").hidden, $("no-film").hidden, $("no-film").textContent] = [problem !== undefined, problem === undefined, problem ?? ""];
  if (problem !== undefined) return;
  const wanted = state.step;
  $("film").film = told;
  if (wanted !== undefined) $("film").go(wanted, { moves: false, silent: true });
}

$("film").addEventListener("step", async ({ detail: { now, last } }) => {
  if ((state.step ?? last) === now) return;
  if (now === last) delete state.step;
  else state.step = now;
  answer.link = await python.call("loss.link", [state]);
  linked(answer);
});
$("group").addEventListener("change", () => (delete state.step, story()));

// The form: a row for each start and each sending, on one axis of time.

const steps = () => state.scenario.steps.filter((step) => step.do === "start" || step.do === "send");
const axis = () => Math.max(LEAST_AXIS_S, ...steps().map((step) => Math.ceil(step.at / 60_000) * 60));

// Without a change the same scenario runs again, in another order. After one it ends 30 s after its last step.
function changed(change = null) {
  if (change) {
    change();
    state.scenario.steps = state.scenario.steps.filter((step) => step.do !== "alloc" && step.do !== "offsets");
  }
  delete state.schedule;
  delete state.step;
  refresh();
}

function slider(step, label) {
  const text = el("output", {}, seconds(step.at));
  const input = el("input", { type: "range", min: 0, max: axis(), step: 1, "aria-label": label, "aria-valuetext": seconds(step.at) });
  input.value = step.at / 1_000;
  const track = el("div", { class: "track" }, el("div", { class: "lives" }), step.do === "start" ? el("div", { class: "beats" }) : [], input);
  const put = () => {
    track.style.setProperty("--from", `${(100 * step.at) / 1_000 / axis()}%`);
    track.style.setProperty("--period", `${(100 * BEAT_MS) / 1_000 / axis()}%`);
    text.textContent = seconds(step.at);
    input.setAttribute("aria-valuetext", seconds(step.at));
  };
  input.addEventListener("input", () => changed(() => (step.at = Number(input.value) * 1_000, put())));
  put();
  return [track, text];
}

function field(label, value, change) {
  const input = el("input", { value, maxlength: 200, "aria-label": label, title: label, input: () => changed(() => change(input.value)) });
  return el("label", {}, el("span", {}, label), input);
}

function startRow(step) {
  const topic = Object.keys(step.subscribe)[0];
  const remove = () => {
    changed(() => state.scenario.steps.splice(state.scenario.steps.indexOf(step), 1));
    rows();
    $("add").focus();
  };
  const [track, text] = slider(step, say("starts_at", { who: step.who }));
  const row = el("div", { class: "actor", role: "group", "aria-label": say("member", { who: step.who }) },
    field(say("name"), step.who, (value) => (step.who = value.trim())),
    field(say("group_name"), step.group, (value) => (step.group = value.trim())),
    field(say("asks"), step.subscribe[topic].expr, (value) => (step.subscribe[topic].expr = value)),
    track, text,
    el("button", { type: "button", class: "remove", "aria-label": say("remove", { who: step.who }), title: say("remove", { who: step.who }), click: remove }, "×"));
  row.dataset.who = step.who;
  return row;
}

function sendRow(step) {
  const [track, text] = slider(step, say("sent_at"));
  const written = step.messages.map((message) => message.tag ?? "-").join(" ");
  const change = (value) => {
    const before = state.scenario.steps.filter((one) => one.do === "send").slice(0, state.scenario.steps.filter((one) => one.do === "send").indexOf(step));
    const first = before.reduce((sum, one) => sum + one.messages.length, 0);
    step.messages = value.split(/[\s,]+/).filter(Boolean).map((tag, at) => ({ body: `MsgStr${first + at}`, ...(tag === "-" ? {} : { tag }) }));
  };
  return el("div", { class: "actor sends", role: "group", "aria-label": say("producer") }, field(say("sends"), written, change), track, text, el("span"));
}

function rows() {
  $("rows").replaceChildren(...steps().map((step) => (step.do === "start" ? startRow(step) : sendRow(step))));
  const ticks = [];
  for (let s = 0; s <= axis(); s += BEAT_MS / 1_000) ticks.push(el("span", { style: `left: ${(100 * s) / axis()}%` }, `${s} s`));
  $("ticks").replaceChildren(...ticks);
  $("queues").value = Object.values(state.scenario.topics)[0];
  $("seed").value = state.seed ?? "";
  $("version").value = state.version ?? $("version").options[0].value;
  colours(answer?.colours ?? {});
}

function colours(known) {
  for (const row of $("rows").children) row.style.setProperty("--colour", known[row.dataset.who] ?? "var(--line)");
}

$("add").addEventListener("click", () => {
  const taken = steps().filter((step) => step.do === "start");
  const who = NAMES.find((name) => !taken.some((step) => step.who === name)) ?? `C${taken.length}`;
  const like = taken.at(-1);
  const topic = Object.keys(state.scenario.topics)[0];
  const step = { do: "start", at: like?.at ?? 0, who, group: like?.group ?? "G", subscribe: { [topic]: { expr: like?.subscribe[topic]?.expr ?? "*" } } };
  changed(() => state.scenario.steps.splice(state.scenario.steps.lastIndexOf(like) + 1, 0, step));
  rows();
  [...$("rows").children].find((row) => row.dataset.who === who)?.querySelector("input").focus();
});
$("queues").addEventListener("input", () => $("queues").checkValidity() && changed(() => {
  for (const topic of Object.keys(state.scenario.topics)) state.scenario.topics[topic] = Number($("queues").value);
}));
$("seed").addEventListener("input", () => $("seed").checkValidity() && changed(() => {
  if ($("seed").value === "") delete state.seed;
  else state.seed = Number($("seed").value);
}));
$("version").addEventListener("change", () => changed(() => {
  if ($("version").selectedIndex) state.version = $("version").value;
  else delete state.version;
}));
$("usual").addEventListener("click", () => {
  changed();
  $("verdict").scrollIntoView({ block: "nearest" });
});
$("form").addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("[data-example]")) {
  button.addEventListener("click", async () => opened(await python.call("loss.example", [button.dataset.example])));
}

// Every order, by a second Python, which is stopped when the reader cancels.

let searching = null;

function found({ outcomes, exhausted, runs }) {
  const how = exhausted ? say("exhausted", { runs }) : say("not_exhausted", { runs });
  $("explored").textContent = `${say("outcomes", { count: outcomes.length })} ${how}`;
  $("outcomes").hidden = false;
  $("outcomes").tBodies[0].replaceChildren(...outcomes.map((one, at) => {
    const gets = Object.entries(one.consumed).map(([who, bodies]) => say("gets", { who, bodies: lister.format(bodies) }));
    const replay = () => {
      changed();
      state.schedule = one.schedule;
      delete state.seed;
      $("seed").value = "";
      $("order-said").textContent = say("order", { number: at + 1 });
      $("verdict").scrollIntoView({ block: "center" });
    };
    return el("tr", {}, el("td", { class: "number" }, `${(100 * one.share).toFixed(1)} %`), el("td", {}, lister.format(gets) || say("nobody_gets")),
      el("td", { class: one.lost.length ? "number bad" : "number good" }, `${one.lost.length} / ${one.sent}`),
      el("td", {}, el("button", { type: "button", click: replay, "aria-label": say("replay_number", { number: at + 1 }) }, say("replay"))));
  }));
}

function searched() {
  searching?.stop();
  searching = null;
  [$("explore").disabled, $("cancel").hidden, $("runs").hidden] = [false, true, true];
}

$("explore").addEventListener("click", async () => {
  const budget = Number($("budget").value);
  $("outcomes").hidden = true;
  [$("explore").disabled, $("cancel").hidden, $("runs").hidden] = [true, false, false];
  $("runs").removeAttribute("value");
  $("explored").textContent = say("second");
  searching = boot({ modules: ["loss"] });
  const progress = (runs) => {
    [$("runs").max, $("runs").value] = [Math.max(budget, runs), runs];
    $("explored").textContent = say("running", { runs });
  };
  try {
    found(await searching.call("loss.orders", [state, budget], progress));
  } catch (error) {
    $("explored").textContent = error.name === "Stopped" ? say("cancelled") : error.message;
  }
  searched();
});
$("cancel").addEventListener("click", () => {
  searching?.stop();
  $("explore").disabled = false;
  $("explore").focus();
});

// Open a state: that of the link, or the eight messages.

async function opened(wanted) {
  state = wanted;
  $("order-said").textContent = say("order_of_link");
  rows();
  await refresh();
}

async function openLink() {
  try {
    await opened(fragment() ? await python.call("loss.read", [fragment()]) : await python.call("loss.example", ["loss"]));
  } catch (error) {
    await opened(await python.call("loss.example", ["loss"]));
    complain(error);
  }
}

addEventListener("hashchange", openLink);
try {
  await versions($("version"), python.call("loss.versions", []));
  await openLink();
} catch (error) {
  complain(error);
}
drawn(python.ready);
