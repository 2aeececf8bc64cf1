"""The model card: what a lexicon is, for people."""

from __future__ import annotations

from typing import Any

from polysema.meanings.meanings import Meanings


def card(lexicon: Meanings[Any], name: str) -> str:
    """A lexicon's card in Markdown."""
    what = (
        f"density matrices (n = {lexicon.n}, m = {lexicon.m})"
        if lexicon.kind == "matrices"
        else f"vectors (n = {lexicon.n})"
    )
    lines = [
        f"# {name}",
        "",
        f"A polysema lexicon: {len(lexicon):,} words, {what}.",
        "",
        "```python",
        "import polysema",
        "",
        f'lexicon = polysema.load("{name}")',
        "```",
    ]
    for heading, content in lexicon.metadata.items():
        lines += ["", f"## {str(heading).replace('_', ' ').capitalize()}", ""]
        lines += _section(content)
    return "\n".join(lines) + "\n"


def _section(content: Any) -> list[str]:
    """A table for a dictionary, a table for a list of dictionaries, a line for anything else."""
    if isinstance(content, dict):
        rows = ["| | |", "|---|---|"]
        return rows + [f"| {str(key).replace('_', ' ')} | {_cell(value)} |" for key, value in content.items()]
    if isinstance(content, list) and content and all(isinstance(item, dict) for item in content):
        keys = list(content[0])
        rows = ["| " + " | ".join(str(key).replace("_", " ") for key in keys) + " |", "|" + "---|" * len(keys)]
        return rows + ["| " + " | ".join(_cell(item.get(key)) for key in keys) + " |" for item in content]
    return [_cell(content)]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_cell(item) for item in value)
    return str(value).replace("|", "\\|").replace("\n", " ")
