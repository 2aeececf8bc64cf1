"""Pages in Markdown keep what they say: Python blocks run, commands and their options exist, links lead somewhere."""

from __future__ import annotations

import ast
import lzma
import re
from itertools import product
from pathlib import Path

import click
import numpy as np
import pytest

from polysema.cli import main, polysema
from tests.docs.pages import PAGES, ROOT, Found, blocks, commands, words

SENTENCES = [
    "The local family runs a small hotel.", "The bank raised its interest rate.", "The boat reached the river bank.",
    "The old man likes old cars.", "The young woman buys a cheap house.",
]  # fmt: skip
CONCORDANCE = [
    "The crane lifted a container from the ship.", "They charge a small fee for delivery.", "He was found guilty of the charge.",
    "The lamp gives a warm light.", "They won the match in extra time.",
]  # fmt: skip
MANUAL = [page for page in PAGES if "measurements" not in page.parts]


@pytest.fixture(scope="session")
def toy_text() -> str:
    """Text in which every word is seen more than 50 times."""
    rng = np.random.default_rng(1)
    return "\n".join(SENTENCES[i] for i in rng.integers(len(SENTENCES), size=1500))


@pytest.fixture(scope="session")
def packed_text(toy_text) -> bytes:
    return lzma.compress(toy_text.encode())


@pytest.fixture
def folder(tmp_path, monkeypatch, toy_text, packed_text) -> Path:
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYSEMA_LEXICON", raising=False)
    Path("my-text.txt").write_text(toy_text, encoding="utf-8")
    Path("sentences.txt").write_text("The bank raised its interest rate.\nThe boat reached the river bank.\n")
    Path("concordance.txt").write_text("\n".join(10 * CONCORDANCE), encoding="utf-8")
    for name in ("wiki.txt.xz", "my-text.txt.xz"):
        Path(name).write_bytes(packed_text)
    return tmp_path


@pytest.fixture
def encoder_folders(folder) -> None:
    """Small encoders under the names that the pages use."""
    pytest.importorskip("transformers", reason="the extra encoders is not installed")
    from tests.encoders.tiny import make_encoder

    for name in ("all-mpnet-base-v2", "bert-base-uncased"):
        make_encoder(folder / name)


@pytest.fixture
def spacy_model(monkeypatch) -> None:
    """``en_core_web_sm`` under whatever name it is installed."""
    spacy = pytest.importorskip("spacy", reason="the extra parse is not installed")
    load, (found, *_) = spacy.load, sorted(spacy.util.get_installed_models()) or pytest.skip("no pipeline of spaCy")
    monkeypatch.setattr(
        spacy, "load", lambda name, **options: load(found if name == "en_core_web_sm" else name, **options)
    )


@pytest.fixture
def local_hub(folder, monkeypatch) -> None:
    """A folder as the Hugging Face hub."""
    hub = pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")

    class Api:
        def __init__(self, **_):
            pass

        def create_repo(self, name, **_):
            (folder / name).mkdir(parents=True)

        def upload_folder(self, repo_id, folder_path, **_):
            for path in Path(folder_path).iterdir():
                (folder / repo_id / path.name).write_bytes(path.read_bytes())

    monkeypatch.setattr(hub, "HfApi", Api)
    monkeypatch.setattr(hub, "snapshot_download", lambda name, **_: str(folder / name))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(page, folder, request):
    """The blocks of a page run one after the other, each with what the ones before it defined."""
    if page.name == "encoders.md":
        request.getfixturevalue("encoder_folders")
    if page.name == "spacy.md":
        request.getfixturevalue("spacy_model")
    if page.name == "hub.md":
        request.getfixturevalue("local_hub")
    if page.parent.name == "tools":
        pytest.importorskip(
            {"frames": "polars", "hub": "huggingface_hub", "notebook": "matplotlib"}.get(page.stem, page.stem),
            reason=f"docs/tools/{page.name} needs what it is about",
        )
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        tree = ast.parse(block.text, filename=str(block))
        ast.increment_lineno(tree, block.line - 1)
        exec(compile(tree, str(page), "exec"), names)


def checked(command: Found) -> None:
    """Every command, option and choice of a command line exists."""
    arguments = words(command.text)[1:]
    for chosen in product(
        *(argument.split("|") if re.fullmatch(r"[\w|-]+", argument) else [argument] for argument in arguments)
    ):
        here: click.Command = polysema
        rest = list(chosen)
        while isinstance(here, click.Group) and rest and not rest[0].startswith("-"):
            name = rest.pop(0)
            assert name in here.commands, f"{command}: there is no command {name!r}"
            here = here.commands[name]
        context = click.Context(here, info_name=here.name, ignore_unknown_options=False)
        try:
            values, _, _ = here.make_parser(context).parse_args(rest)
        except click.NoSuchOption as error:
            pytest.fail(f"{command}: {error.format_message()}")
        except click.BadOptionUsage:  # an option that is only named
            continue
        for parameter in here.params:
            value = values.get(parameter.name or "")
            if isinstance(parameter.type, click.Choice):
                for one in value if isinstance(value, (list, tuple)) else [value]:
                    assert one is None or not isinstance(one, str) or one.isupper() or one in parameter.type.choices, (
                        f"{command}: {one!r} is none of {parameter.type.choices}"
                    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page):
    for command in commands(page):
        if command.text.startswith("polysema"):
            checked(command)
        else:
            script = ROOT / command.text.split()[1]
            assert script.is_file(), f"{command}: there is no {script.name}"
            for option in re.findall(r"(?<=\s)--[a-z-]+", command.text):
                assert f'"{option}"' in script.read_text(encoding="utf-8"), f"{command}: {script.name} has no {option}"


FOREIGN = re.compile(
    r"[A-Z]{3,}|…|\[|\||--device cuda|--infersent|glove|reproduce|evaluate|data |\.parsed|-l slots|polysema explore|hf:|--file -|jsonl"
)
"""What says that a command line needs more than the toy folder holds, or more than a few seconds."""


def runnable(page: Path) -> list[Found]:
    """The command lines of a page's blocks that need no more than the toy folder has."""
    lines = (command for command in commands(page) if command.kind == "block")
    return [line for line in lines if line.text.startswith("polysema ") and not FOREIGN.search(line.text)]


@pytest.mark.parametrize("page", list(filter(runnable, MANUAL)), ids=lambda page: page.name)
def test_commands_run(page, folder, capsys, request):
    """The command lines of a manual page's blocks run one after the other, where the toy folder has what they need."""
    if page.name == "encoders.md":
        request.getfixturevalue("encoder_folders")
    assert main(["corpus", "build", "wiki.txt.xz", "-o", "wiki.corpus"]) == 0
    for command in runnable(page):
        code = main(words(command.text)[1:])
        assert code == 0, f"{command}: {command.text}: {capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_exist(page):
    """Links to files, and names of files of this repository in the text."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name}: no {target}"
    for name in re.findall(r"`((?:docs|tests|tools|benchmarks|polysema)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), f"{page.name}: no {name}"


def test_extras_named_in_pages_exist():
    import tomllib

    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = {extra for listed in re.findall(r"(?:polysema|'\.)\[([a-z,]+)\]", text) for extra in listed.split(",")}
        named |= set(re.findall(r"extras? `(\w+)`", text))
        assert named <= extras, f"{page.name}: {named - extras}"
