"""The lessons' checks, guesses and quizzes, and the articles' experiments."""
