// The page "will it match?": the form is the state, `match.py` answers, this draws the answer.

import { boot } from "./boot.js";
import { copied, el, follow, fragment, keep, loading, marked, noProblems, picture, problem, versions } from "./parts.js";
import { drawn, fill } from "./words.js";

const say = await fill("match");
const $ = (id) => document.getElementById(id);

const EXAMPLES = [
  ["missing", { type: "SQL92", expression: "a > 3", tag: "", properties: [["b", "5"]] }],
  ["five", { type: "SQL92", expression: "a > 3", tag: "", properties: [["a", "five"]] }],
  ["double", { type: "SQL92", expression: 'region = "EU"', tag: "", properties: [["region", "EU"]] }],
  ["not_missing", { type: "SQL92", expression: "NOT (a > 3)", tag: "", properties: [] }],
  ["or", { type: "SQL92", expression: "a > 3 OR b = 'x'", tag: "", properties: [["b", "x"]] }],
  ["tags_sql", { type: "SQL92", expression: "tagA || tagB", tag: "tagA", properties: [] }],
  ["two_tags", { type: "TAG", expression: "tagA || tagB", tag: "tagB", properties: [] }],
  ["one_bar", { type: "TAG", expression: "tagA | tagB", tag: "tagB", properties: [] }],
  ["collision", { type: "TAG", expression: "Aa", tag: "BB", properties: [] }],
];

// The form.

const kind = () => document.querySelector("input[name=type]:checked").value;

function state() {
  const properties = [...$("properties").children]
    .filter((row) => row.classList.contains("row"))
    .map((row) => [...row.querySelectorAll("input")].map((field) => field.value));
  return { type: kind(), expression: $("expression").value, tag: $("tag").value, properties, ...($("version").value && { version: $("version").value }) };
}

function enter({ type, expression, tag, properties, version }) {
  document.querySelector(`input[name=type][value=${type}]`).checked = true;
  $("expression").value = expression;
  $("tag").value = tag;
  if (version) $("version").value = version;
  $("properties").replaceChildren();
  for (const [name, value] of properties) addRow(name, value);
  arrange();
}

function arrange() {
  $("properties-part").hidden = kind() === "TAG";
}

function addRow(name = "", value = "") {
  const remove = () => {
    row.nextElementSibling?.classList.contains("problem") && row.nextElementSibling.remove();
    (row.previousElementSibling ?? row.nextElementSibling)?.querySelector("input")?.focus();
    if (!$("properties").contains(document.activeElement) || row.contains(document.activeElement)) $("add").focus();
    row.remove();
    changed();
  };
  const row = el("div", { class: "row" },
    el("input", { class: "code", "aria-label": say("name"), placeholder: say("name"), maxlength: 4000 }),
    el("input", { class: "code", "aria-label": say("value"), placeholder: say("value"), maxlength: 4000 }),
    el("button", { type: "button", class: "remove", "aria-label": say("remove"), title: say("remove"), click: remove }, "×"));
  [row.children[0].value, row.children[1].value] = [name, value];
  $("properties").append(row);
  return row;
}

// The answer.

const python = boot({ modules: ["match"], first: "match", onProgress: loading });
const asked = follow(() => python.call("match.answer", [state()]), show, failed);

function changed() {
  $("result").classList.add("busy");
  asked.soon();
}

function failed(error) {
  verdict("bad", error.message);
  $("result").replaceChildren();
}

function verdict(look, text) {
  $("said").className = `verdict ${look}`;
  $("said").hidden = false;
  if ($("said").textContent !== text) $("said").textContent = text;
}

function show(answer) {
  $("result").classList.remove("busy");
  noProblems($("form"));
  if (answer.problems.length) {
    const rows = [...$("properties").querySelectorAll(".row")];
    rows.forEach((row, number) => (row.dataset.row = number));
    for (const one of answer.problems) problem(rows[one.row], say(one.word, one.values));
    verdict("bad", say("mend"));
    $("result").replaceChildren();
    return;
  }
  keep(answer.link);
  verdict(answer.verdict.word === "arrives" ? "good" : "bad", say(answer.verdict.word));
  markText(answer);
  const parts = [];
  if (answer.refused) parts.push(...refusal(answer.refused));
  if (answer.steps.length) parts.push(el("ol", { class: "steps" }, answer.steps.map(step)));
  if (answer.findings.length) parts.push(el("h3", {}, say("findings")), el("ul", { class: "findings" }, answer.findings.map(finding)));
  if (answer.picture) {
    const name = say(kind() === "TAG" ? "checks_picture" : "tree_picture");
    parts.push(el("h3", {}, name), picture(answer.picture, name));
  }
  parts.push(el("h3", {}, say("same")));
  for (const lines of Object.values(answer.commands)) parts.push(copied(lines, say));
  $("result").replaceChildren(...parts);
}

function step({ place, word, passes, values }) {
  const look = passes === null ? "never" : passes ? "good" : "bad";
  const outcome = say(passes === null ? "not_asked" : passes ? "passes" : "drops");
  return el("li", { class: look },
    el("span", { class: "where" }, marked(passes), say(place), " · ", outcome), say(word, values));
}

function finding(one) {
  if (one.severity === "ignored") return el("li", {}, el("span", { class: "severity warning" }, say("warning")), " ", say("ignored", { text: one.message.trim() }));
  const text = one.word ? say(one.word, one.values) : one.message;
  return el("li", {}, el("span", { class: `severity ${one.severity}` }, say(one.severity)), " ", text,
    one.advice ? el("span", { class: "soft" }, ` ${say("advice", { text: one.advice })}`) : null);
}

const refusal = ({ text, meant }) => [
  el("p", {}, text),
  ...(meant ? [el("p", {}, el("strong", {}, `${say("meant")} `), meant)] : []),
];

// The expression again, with the places that the answer is about. JavaScript counts letters as Java does.
function markText({ refused, findings }) {
  const text = $("expression").value;
  const places = refused
    ? refused.offset === null ? [] : [{ start: refused.offset, end: text.length, look: "" }]
    : findings.filter((one) => one.end > one.start && one.severity !== "note")
      .map(({ start, end, severity }) => ({ start, end, look: severity === "warning" ? "" : severity }));
  $("marked").hidden = places.length === 0;
  const shown = [];
  let done = 0;
  for (const { start, end, look } of places.sort((one, other) => one.start - other.start)) {
    if (start < done) continue;
    shown.push(text.slice(done, start), el("mark", { class: look }, text.slice(start, end) || "␣"));
    done = end;
  }
  $("marked").replaceChildren(el("span", { class: "names" }, `${say(refused ? "stopped" : "about")} `), ...shown, text.slice(done));
}

// Start.

for (const [name, example] of EXAMPLES) {
  const press = () => { enter(example); changed(); };
  $("examples").append(el("button", { type: "button", click: press }, el("code", {}, say(`example_${name}`))));
}
$("add").addEventListener("click", () => { addRow().querySelector("input").focus(); changed(); });
$("form").addEventListener("input", () => { arrange(); changed(); });
$("form").addEventListener("submit", (event) => event.preventDefault());
enter({ type: "SQL92", expression: "a > 3", tag: "", properties: [["a", "5"]] });

async function open() {
  if (!fragment()) return asked.now();
  try {
    enter(await python.call("match.opened", [fragment()]));
  } catch (error) {
    return failed(error);
  }
  return asked.now();
}
addEventListener("hashchange", open);
python.ready.catch(failed);
await versions($("version"), python.call("match.versions", [])).catch(failed);
await open();
drawn(python.ready);
