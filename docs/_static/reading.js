// The reading edition: one button opens all hops, so that the browser's search finds every line; the other closes them.
document.addEventListener("DOMContentLoaded", () => {
  const buttons = document.querySelector(".reading-fold");
  buttons.hidden = false;
  for (const button of buttons.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      for (const hop of document.querySelectorAll("details.reading-hop")) hop.open = "open" in button.dataset;
    });
  }
});
