"""The report: built once, written as HTML, Markdown, LaTeX, CSV and JSON."""
