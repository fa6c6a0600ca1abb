"""Catalogues of words: which texts of lessons and package a learner reads, and what they are in another language."""
