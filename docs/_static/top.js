// The header of every page: day or night, the drawers of a narrow page, and buttons that copy lines.

const themeOf = (body) => body.dataset.theme === "dark" || body.dataset.theme === "light"
  ? body.dataset.theme
  : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

// Furo's pages read the same name when they open.
document.querySelector(".top-theme").addEventListener("click", () => {
  const theme = themeOf(document.body) === "dark" ? "light" : "dark";
  document.body.dataset.theme = theme;
  localStorage.setItem("theme", theme);
});

// The lists of pages and of headings lie behind buttons where there is no room for them.
const drawers = [...document.querySelectorAll(".top-drawer")];
for (const button of drawers) {
  const box = document.getElementById(button.dataset.opens);
  if (!box) continue;
  const drawer = document.querySelector(button.dataset.drawer);
  const shown = () => button.setAttribute("aria-expanded", String(box.checked));
  button.addEventListener("click", () => {
    box.checked = !box.checked;
    shown();
    if (box.checked) drawer.querySelector("a[href]")?.focus();
  });
  box.addEventListener("change", shown);
  drawer.addEventListener("click", (event) => {
    if (!event.target.closest("a") || !box.checked) return;
    box.checked = false;
    shown();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.checked) return;
    box.checked = false;
    shown();
    button.focus();
  });
}
const menu = document.querySelector(".top-menu");
addEventListener("click", (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; });
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// A block of code gets a button; of a session in a shell the prompts and the answers are left out.
const commands = (block) => {
  const text = block.querySelector("pre").innerText.trimEnd();
  const typed = text.split("\n").filter((line) => /^[$>] /.test(line));
  return typed.length ? typed.map((line) => line.slice(2)).join("\n") : text;
};
const { copy, copied, chosen } = document.querySelector(".top").dataset;
for (const block of document.querySelectorAll("article .highlight, .home-command")) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy-button", textContent: copy });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(commands(block));
      button.textContent = copied;
    } catch {
      getSelection().selectAllChildren(block.querySelector("pre")); // no clipboard here: the reader copies what is marked
      button.textContent = chosen;
    }
    setTimeout(() => (button.textContent = copy), 3_000);
  });
  block.append(button);
}
