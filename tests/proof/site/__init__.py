<<<<<<< HEAD
"""The site: pages, lessons and playgrounds as files that any web server can hand out."""
=======
"""The site: its sources are laid out, Sphinx builds them once a language, the links of what came out are followed."""
>>>>>>> 77527da (A site of pages and lessons: ./lab site builds it with Sphinx and follows its links)
