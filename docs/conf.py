"""Configuration of the site: ``python -m sphinx -W docs site``. No network is needed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import polysema as ps  # noqa: E402
from polysema.cli import polysema  # noqa: E402
from polysema.version import __version__  # noqa: E402

project, author, release = "polysema", "The polysema authors", __version__
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "polysema"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "monokai"

_PAGE = re.compile(r"`docs/([\w/-]+\.md)`")


def link_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Turn names of pages, `docs/senses.md`, into links."""
    source[0] = _PAGE.sub(
        lambda found: f"[](/{found[1]})" if (ROOT / "docs" / found[1]).is_file() else found[0], source[0]
    )


def list_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace each pattern in the contents by the pages that match it and are not listed by name."""
    if name != "index":
        return
    folder = ROOT / "docs"
    lines = source[0].splitlines()
    named = {"index", *lines}

    def pages(pattern: str) -> list[str]:
        matching = sorted(folder.glob(f"{pattern}.md"))
        return [page for path in matching if (page := str(path.relative_to(folder).with_suffix(""))) not in named]

    listed = [pages(line) if re.fullmatch(r"[\w/-]*\*", line) else [line] for line in lines]
    source[0] = "\n".join(line for some in listed for line in some)


def list_names(app: Sphinx, name: str, source: list[str]) -> None:
    """Write the reference of Python: every public name, by kind."""
    if name != "reference/python":
        return
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Tables of names": [], "Errors": []}
    for public in (public for public in ps.__all__ if not public.startswith("_")):
        thing, target = getattr(ps, public), f"polysema.{public}"
        if isinstance(thing, type) and issubclass(thing, Exception):
            kinds["Errors"].append(f".. autoexception:: {target}\n")
        elif isinstance(thing, type):
            kinds["Classes"].append(f".. autoclass:: {target}\n")
        elif callable(thing):
            kinds["Functions"].append(f".. autofunction:: {target}\n")
        else:
            kinds["Tables of names"].append(f".. py:data:: {target}\n\n   {', '.join(f'``{key}``' for key in thing)}\n")
    sections = (f"## {kind}\n\n```{{eval-rst}}\n{''.join(lines)}```\n" for kind, lines in kinds.items())
    source[0] = source[0].replace("PUBLIC NAMES", "\n".join(sections))


def escape_bars(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape bars in docstrings: |x| is an absolute value, not a substitution of reStructuredText."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[at] = line.replace("|", "\\|")


class Commands(Directive):
    """The help of every command, as ``--help`` prints it."""

    def run(self) -> list[nodes.Node]:
        """A section for each command."""
        return list(self._sections(polysema, click.Context(polysema, info_name="polysema", max_content_width=88)))

    def _sections(self, command: click.Command, context: click.Context) -> Any:
        name = context.command_path
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title(text=name)
        text = command.get_help(context)
        section += nodes.literal_block(text, text, language="text")
        yield section
        if isinstance(command, click.Group):
            for part in command.list_commands(context):
                child = command.commands[part]
                yield from self._sections(
                    child, click.Context(child, info_name=part, parent=context, max_content_width=88)
                )


def setup(app: Sphinx) -> None:
    """Connect the hooks and the directive."""
    app.connect("source-read", link_pages)
    app.connect("source-read", list_pages)
    app.connect("source-read", list_names)
    app.connect("env-get-outdated", lambda *_: ["index"])  # pages may have been added
    app.connect("autodoc-process-docstring", escape_bars)
    app.add_directive("commands", Commands)
