// How far the reader is: a lesson keeps the furthest cell that was on the screen, the cards of the lessons show it. It is
// kept in this browser alone.
const KEY = "rmqlab-read";
const known = () => {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // what another page of this host wrote there
  }
};

const lesson = location.pathname.match(/notebooks\/(\d\w*)\.html$/)?.[1];
const cells = [...document.querySelectorAll("article div.cell, article h2")];
if (lesson && cells.length) {
  const keep = (share) => {
    const all = known();
    if ((all[lesson] ?? 0) < share) localStorage.setItem(KEY, JSON.stringify({ ...all, [lesson]: share }));
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) keep((cells.indexOf(target) + 1) / cells.length);
  });
  for (const cell of cells) seen.observe(cell);
}

const read = known();
for (const card of document.querySelectorAll("[data-lesson]")) {
  const share = Math.min(1, Number(read[card.dataset.lesson]) || 0);
  const place = card.querySelector(".lesson-progress");
  card.classList.toggle("lesson-read", share === 1);
  place.querySelector("progress").value = share;
  place.querySelector("output").textContent = share === 1 ? `✓ ${place.dataset.read}` : share ? `${Math.floor(100 * share)} %` : place.dataset.new;
}
