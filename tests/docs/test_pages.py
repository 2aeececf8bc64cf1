"""Pages in Markdown keep what they say: Python blocks run, commands and their options exist, links lead somewhere."""

import ast
import lzma
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest

import polysema as ps
from polysema.cli import main, polysema

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[;&|(]|\bdo )\s*\$?\s*((?:polysema|python (?:benchmarks|tools)/\S+\.py)(?: .*)?)$")


@dataclass(frozen=True)
class Found:
    """A piece of a page and the line it starts on; ``output`` is what the page says a Python block prints."""

    page: Path
    line: int
    text: str
    in_block: bool = True
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def python_blocks(page: Path) -> list[Found]:
    """The Python blocks, each with the block of text that follows it directly."""
    text = page.read_text(encoding="utf-8")
    return [
        Found(page, text[: match.start()].count("\n") + 2, match.group(1), output=match.group(2))
        for match in PYTHON.finditer(text)
    ]


def commands(page: Path) -> Iterator[Found]:
    """The command lines of a page: lines of indented blocks, and code in the text."""
    text = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), page.read_text("utf-8"))
    kept = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    "):
            for part in re.split(r";|&&|\|(?= )", line.strip()):
                if match := COMMAND.search(part):
                    yield Found(page, number, match.group(1))
            line = ""
        kept.append(line)
    for match in re.finditer(r"`([^`]+)`", "\n".join(kept)):
        if found := COMMAND.match(" ".join(match.group(1).split())):
            yield Found(page, "\n".join(kept)[: match.start()].count("\n") + 1, found.group(1), in_block=False)


def words(command: str) -> list[str]:
    """A command line as its arguments, without comments and without where its output goes."""
    given = [word for word in shlex.split(command, comments=True) if word != "…"]
    return given[: given.index(">")] if ">" in given else given


def agree(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, but for white space and the last digits of numbers."""
    pieces = [re.split(r"(\d+\.\d+)", " ".join(text.split())) for text in (shown, printed)]
    return len(pieces[0]) == len(pieces[1]) and all(
        abs(float(a) - float(b)) <= 0.02 if at % 2 else a == b for at, (a, b) in enumerate(zip(*pieces, strict=True))
    )


SENTENCES = [
    "The local family runs a small hotel.", "The bank raised its interest rate.", "The boat reached the river bank.",
    "The old man likes old cars.", "The young woman buys a cheap house.", "They charge a small fee for delivery.",
    "The crane lifted a light container.", "They won the match in extra time.",
]  # fmt: skip
NAMES = {page: str(page.relative_to(ROOT)) for page in PAGES}
MODULES = {
    "encoders": ["transformers"],
    "exchange": ["gensim", "huggingface_hub"],
    "frames": ["pandas", "polars", "sklearn", "matplotlib"],
    "pennylane": ["lambeq", "pennylane", "pytket", "qutip"],
}
"""What a page about other tools needs, where that is not its name."""
FOREIGN = re.compile(
    r"[A-Z]{3,}|…|\[|\||--device cuda|--infersent|glove|reproduce|evaluate|data |\.parsed|-l slots|polysema explore|hf:|--file -|jsonl"
)
"""Marks command lines that need more than the folder of the tests holds, or more than a few seconds."""


def each_page(pages):
    return pytest.mark.parametrize("page", list(pages), ids=NAMES.__getitem__)


@pytest.fixture
def prepared(page, tmp_path, monkeypatch):
    """A folder with what a page needs: text, small encoders, spaCy's model under its usual name, a folder as the hub."""
    if page.name == "encoders.md" or (page.parent.name == "tools" and python_blocks(page)):
        for module in MODULES.get(page.stem, [page.stem]):
            pytest.importorskip(module, reason=f"{NAMES[page]} needs {module}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYSEMA_LEXICON", raising=False)
    text = "\n".join(SENTENCES[i] for i in np.random.default_rng(1).integers(len(SENTENCES), size=1500))
    for name in ("my-text.txt", "concordance.txt"):
        Path(name).write_text(text, encoding="utf-8")
    Path("sentences.txt").write_text("\n".join(SENTENCES[1:3]))
    Path("terms.csv").write_text(
        "run,a series of frames played by a bowler without a break\nmatchmake,to pair players,verb\n"
    )
    Path("wiki.txt.xz").write_bytes(lzma.compress(text.encode(), preset=0))
    if page.name == "encoders.md":
        from tests.encoders.tiny import make_encoder

        for name in ("all-mpnet-base-v2", "bert-base-uncased"):
            make_encoder(tmp_path / name)
    if page.name == "spacy.md":
        import spacy

        load, (found, *_) = spacy.load, sorted(spacy.util.get_installed_models()) or pytest.skip("no pipeline of spaCy")
        monkeypatch.setattr(spacy, "load", lambda name, **o: load(found if name == "en_core_web_sm" else name, **o))
    if page.name == "exchange.md":
        hub = SimpleNamespace(
            create_repo=lambda name, **_: None,
            upload_folder=lambda repo_id, folder_path, **_: shutil.copytree(folder_path, tmp_path / repo_id),
        )
        monkeypatch.setattr("huggingface_hub.HfApi", lambda **_: hub)
        monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(tmp_path / name))


@each_page(page for page in PAGES if python_blocks(page))
def test_python_blocks_run(page, prepared, capsys):
    """The blocks of a page run one after the other, and print what the page shows."""
    names: dict[str, object] = {}
    for block in python_blocks(page):
        capsys.readouterr()
        tree = ast.parse(block.text, filename=str(block))
        ast.increment_lineno(tree, block.line - 1)
        exec(compile(tree, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert block.output is None or agree(block.output, printed), f"{block} prints\n{printed}"


def test_the_readme_shows_what_commands_print(capsys, monkeypatch):
    monkeypatch.delenv("POLYSEMA_LEXICON", raising=False)
    readme = ROOT / "README.md"
    for command in [
        found.text for found in commands(readme) if found.text.startswith(("polysema amb", "polysema read"))
    ]:
        assert main(words(command)[1:]) == 0
    printed = capsys.readouterr().out.splitlines()
    shown = [text for kind, text in FENCE.findall(readme.read_text("utf-8")) if kind == "text"][1].splitlines()
    for line, own in zip(shown, printed, strict=True):  # long lines are cut
        cut = line.removesuffix("…").rstrip() if line.endswith("…") else line
        assert agree(cut, own[: len(cut)] if line.endswith("…") else own), own


def checked(command: Found) -> None:
    """Every command, option and choice of a command line exists."""
    arguments = words(command.text)[1:]
    for chosen in product(*(a.split("|") if re.fullmatch(r"[\w|-]+", a) else [a] for a in arguments)):
        here: click.Command = polysema
        rest = list(chosen)
        while isinstance(here, click.Group) and rest and not rest[0].startswith("-"):
            name = rest.pop(0)
            assert name in here.commands, f"{command}: there is no command {name!r}"
            here = here.commands[name]
        try:
            values, _, _ = here.make_parser(click.Context(here, info_name=here.name)).parse_args(rest)
        except click.NoSuchOption as error:
            pytest.fail(f"{command}: {error.format_message()}")
        except click.BadOptionUsage:  # an option that is only named
            continue
        for parameter in here.params:
            if isinstance(parameter.type, click.Choice):
                value = values.get(parameter.name or "")
                for one in value if isinstance(value, (list, tuple)) else [value]:
                    assert not isinstance(one, str) or one.isupper() or one in parameter.type.choices, (
                        f"{command}: {one!r}"
                    )


@each_page(PAGES)
def test_commands_links_and_files_exist(page):
    for command in commands(page):
        if command.text.startswith("polysema"):
            checked(command)
            continue
        script = ROOT / command.text.split()[1]
        assert script.is_file(), f"{command}: there is no {script.name}"
        source = script.read_text(encoding="utf-8")
        for option in re.findall(r"(?<=\s)--[a-z-]+", command.text):
            name = option[2:].replace("-", "_")  # as benchmarks/measure.py takes them
            declared = re.search(rf"options\(\s*__doc__(?:[^()]|\(\w*\))*\b{name}=", source)
            assert declared or f'"{option}"' in source, f"{command}: {script.name} has no {option}"
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name}: no {target}"
    for name in re.findall(r"`((?:docs|tests|tools|benchmarks|polysema)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), f"{page.name}: no {name}"
    assert set(re.findall(r"\bps\.([a-zA-Z]\w*)", text)) <= {*ps.__all__}, page.name
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra for listed in re.findall(r"(?:polysema|'\.)\[([a-z,]+)\]", text) for extra in listed.split(",")}
    assert named | set(re.findall(r"extras? `(\w+)`", text)) <= extras.keys(), page.name


def runnable(page: Path) -> list[Found]:
    """The command lines of a page's blocks that need no more than the folder of the tests has."""
    return [c for c in commands(page) if c.in_block and c.text.startswith("polysema ") and not FOREIGN.search(c.text)]


@each_page(page for page in PAGES if "measurements" not in page.parts and runnable(page))
def test_commands_run(page, prepared, capsys):
    """The command lines of a manual page run one after the other."""
    assert main(["corpus", "build", "wiki.txt.xz", "-o", "wiki.corpus"]) == 0
    for command in runnable(page):
        assert main(words(command.text)[1:]) == 0, f"{command}: {command.text}: {capsys.readouterr().err}"
