"""The site: pages, lessons and playgrounds as files that any web server can hand out."""
