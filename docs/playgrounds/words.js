// The words of the pages, in the reader's language: `?lang=` decides, else the browser's first language.
//
//   import { words, fill } from "./words.js";
//   const say = await fill("loss");          // fills every data-word="key" of the page, and data-word-ATTRIBUTE="key"
//   say("lost", { lost: 6, sent: 8 });       // "{lost} of {sent} are lost" of words.json, section "loss"

const asked = new URLSearchParams(location.search).get("lang") ?? navigator.language;
export const language = asked.toLowerCase().startsWith("zh") ? "zh" : "en";

// A page of the site has its words in itself, so that it stands complete when it is first seen.
const inside = document.getElementById("words");
const file = inside
  ? Promise.resolve(JSON.parse(inside.textContent))
  : fetch(new URL("./words.json", import.meta.url), { cache: "no-cache" }).then((answer) => answer.json());

export async function words(section) {
  const all = (await file)[language];
  const known = { ...all.page, ...all[section] };
  return (key, values = {}) => {
    if (!(key in known)) throw new Error(`words.json has no ${language} text for ${section}.${key}`);
    return known[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? `{${name}}`);
  };
}

export async function fill(section, root = document) {
  const say = await words(section);
  for (const element of root.querySelectorAll("*")) {
    for (const [name, key] of Object.entries(element.dataset)) {
      if (name === "word") element.innerHTML = say(key);
      else if (name.startsWith("word")) {
        element.setAttribute(name.slice(4).replace(/[A-Z]/g, (big, at) => (at ? "-" : "") + big.toLowerCase()), say(key));
      }
    }
  }
  for (const link of root.querySelectorAll("a[data-page]")) link.href += `?lang=${language}`;
  for (const place of root.querySelectorAll("[data-site]")) {
    place.setAttribute(place.localName === "form" ? "action" : "href", `../${language}/${place.dataset.site}`);
  }
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  document.title = say("title");
  // The other language: the same page and the same state.
  for (const link of root.querySelectorAll("[data-language]")) {
    const wanted = link.dataset.language;
    if (wanted === language) link.setAttribute("aria-current", "true");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const there = new URL(location.href);
      there.searchParams.set("lang", wanted);
      location.assign(there.href);
    });
  }
  document.documentElement.classList.remove("filling");
  return say;
}

// What the reader sees first is drawn: from here on the page is shown. `ready` is Python's; after it every answer is quick.
export async function drawn(ready) {
  document.documentElement.classList.remove("drawing");
  document.body.dataset.drawn = "true";
  await ready?.catch(() => {}); // whoever calls Python is told
  document.body.dataset.ready = "true";
}
