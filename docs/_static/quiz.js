// The page of the quizzes: the first choice of a question counts, and then the page says what is right and why.
const score = document.getElementById("quiz-score");
const questions = [...document.querySelectorAll(".quiz")];

const count = () => {
  const answered = questions.filter((one) => one.dataset.chosen);
  const right = answered.filter((one) => one.dataset.chosen === one.dataset.right);
  score.textContent = answered.length ? `${score.dataset.label}: ${right.length} / ${answered.length}` : "";
};

for (const question of questions) {
  question.addEventListener("click", ({ target }) => {
    const chosen = target.closest("button");
    if (!chosen || question.dataset.chosen) return;
    question.dataset.chosen = chosen.dataset.choice;
    for (const button of question.querySelectorAll("button")) {
      button.setAttribute("aria-disabled", "true"); // it keeps the focus, so that Tab goes on from here
      button.setAttribute("aria-pressed", String(button === chosen));
      const mark = button.dataset.choice === question.dataset.right ? "✓ " : button === chosen ? "✗ " : "";
      button.prepend(mark);
    }
    question.querySelector("[role=status]").innerHTML = chosen.nextElementSibling.innerHTML;
    count();
  });
}
