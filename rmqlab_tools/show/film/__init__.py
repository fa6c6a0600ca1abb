"""The film of a run: its events become frames (`storyboard`), and one component shows them (`film.js`)."""
