// The search field of the decoder's page: a code, a word, or a pasted line that has all fixed parts of a text.
const find = document.getElementById("decoder-find");
const told = document.getElementById("decoder-count");
const terms = [...document.querySelectorAll("dl dt")].map((dt) => ({
  dt,
  dd: dt.nextElementSibling,
  texts: [dt, ...dt.nextElementSibling.querySelectorAll("code.also")]
    .map((one) => one.textContent.trim().split(/\{\w+\}/).filter((part) => part.trim())),
}));

const holds = (line, parts) => {
  let at = 0;
  return parts.join("").length > 11 && parts.every((part) => {
    const found = line.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
};

const narrow = () => {
  const asked = find.value.trim();
  const lower = asked.toLowerCase();
  let shown = 0;
  for (const { dt, dd, texts } of terms) {
    const number = /^-?\d+$/.test(asked);
    const fits = number
      ? dt.textContent.trim().split(" ")[0] === asked
      : `${dt.textContent} ${dd.firstElementChild.textContent}`.toLowerCase().includes(lower) ||
        texts.some((parts) => holds(asked, parts));
    dt.hidden = dd.hidden = !fits;
    shown += fits;
  }
  for (const section of document.querySelectorAll("section section")) {
    section.hidden = !section.querySelector("dt:not([hidden])");
  }
  told.textContent = asked ? String(shown) : "";
};

find.addEventListener("input", narrow);
// A link to an entry must find it, whatever was typed.
window.addEventListener("hashchange", () => {
  find.value = "";
  narrow();
});
