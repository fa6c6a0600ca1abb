// Parts that the pages with forms are made of: elements, pictures, command lines to copy, the state in the link.

// An element: el("p", { class: "soft" }, "text", other). A property that is a function is a listener.
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(key, value);
    else if (key === "html") made.innerHTML = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// How far Python is, in a corner of the page: what is there already can be read meanwhile.
export function loading({ text, loaded, total, done }) {
  const [place, said, bar] = ["python", "python-said", "python-bar"].map((id) => document.getElementById(id));
  place.hidden = Boolean(done);
  if (text) said.textContent = text;
  if (total) [bar.max, bar.value] = [total, loaded];
  else bar.removeAttribute("value");
}

const SMALLEST = 0.85; // a picture's text can be read as far as that

// A picture with its words and its table below, about in its own size: where the page is narrow it scrolls. What is
// empty at its right is cut off.
export function picture({ svg, words }, name) {
  const shown = el("div", { class: "picture", html: svg, tabindex: 0, role: "group", "aria-label": name });
  requestAnimationFrame(() => {
    const drawn = shown.querySelector("svg");
    const { width, height } = drawn.viewBox.baseVal;
    const right = [...drawn.querySelectorAll("text, rect, path, line, circle, polygon")].map((part) => part.getBBox())
      .filter((box) => box.width < width - 1).map((box) => box.x + box.width);
    const kept = Math.min(width, Math.ceil(Math.max(...right) + 8));
    const scale = Math.min(1, Math.max(SMALLEST, shown.clientWidth / kept));
    drawn.setAttribute("viewBox", `0 0 ${kept} ${height}`);
    drawn.setAttribute("width", Math.floor(kept * scale));
    drawn.setAttribute("height", Math.ceil(height * scale));
    drawn.style.maxWidth = "none";
  });
  return el("div", {}, shown, el("div", { class: "table", html: words }));
}

// Lines for a terminal or for Python, with a button that copies them.
export function copied(text, say) {
  const told = el("span", { role: "status", class: "soft" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      told.textContent = say("copied");
    } catch {
      getSelection().selectAllChildren(lines); // no clipboard here: the lines are chosen, the reader copies
      told.textContent = say("chosen");
    }
  };
  const lines = el("pre", {}, text);
  return el("div", {}, lines, el("div", { class: "buttons" }, el("button", { type: "button", click: copy, "aria-label": `${say("copy")}: ${text}` }, say("copy")), told));
}

export const marked = (passes) => el("span", { class: "mark", "aria-hidden": "true" }, passes === null ? "–" : passes ? "✓" : "✗");

// The versions of RocketMQ in a select, the usual one first: Python knows them.
export async function versions(select, known) {
  select.replaceChildren(...(await known).map((version) => el("option", {}, version)));
}

// What a row of a form is told to be wrong in: below it, and named by its fields.
export function problem(row, text) {
  const id = `problem-${row.dataset.row}`;
  row.after(el("p", { class: "problem", id }, text));
  for (const field of row.querySelectorAll("input, select")) {
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", id);
  }
}

export function noProblems(root) {
  for (const one of root.querySelectorAll("p.problem")) one.remove();
  for (const field of root.querySelectorAll("[aria-invalid]")) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
  }
}

// Ask again when the form has been left alone for a moment; of several questions under way only the last counts.
export function follow(ask, show, failed, wait = 120) {
  let timer = 0;
  let last = 0;
  const now = async () => {
    const mine = ++last;
    try {
      const answer = await ask();
      if (mine === last) show(answer);
    } catch (error) {
      if (mine === last) failed(error);
    }
  };
  return {
    now,
    soon() {
      clearTimeout(timer);
      timer = setTimeout(now, wait);
    },
  };
}

// The state in the link: what stands behind #, written by Python, so that the same state gives the same link everywhere.
export const fragment = () => location.hash.slice(1);
export const keep = (text) => history.replaceState(null, "", `#${text}`);
