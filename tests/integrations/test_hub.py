"""The Hugging Face hub: what huggingface_hub is asked to do, with a folder in the place of the hub."""

import inspect
from pathlib import Path

import pytest

import polysema as ps
from polysema.errors import FormatError, InputError, OutputError
from tests.refusals import refused

huggingface_hub = pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Path:
    """A folder with a folder for each repository. Calls must fit the signatures of the library."""
    root, real, download = tmp_path / "hub", huggingface_hub.HfApi, huggingface_hub.snapshot_download

    class Api:
        def __init__(self, **options):
            inspect.signature(real).bind(**options)
            assert options["library_name"] == "polysema"

        def create_repo(self, name, **options):
            inspect.signature(real.create_repo).bind(self, name, **options)
            if name.startswith("other/"):
                raise ValueError("403 Forbidden\nYou may not write there")
            (root / name).mkdir(parents=True, exist_ok=True)

        def upload_folder(self, **options):
            inspect.signature(real.upload_folder).bind(self, **options)
            assert options["commit_message"]
            for path in Path(options["folder_path"]).iterdir():
                assert path.name in options["allow_patterns"]
                (root / options["repo_id"] / path.name).write_bytes(path.read_bytes())

    def snapshot_download(name, **options):
        inspect.signature(download).bind(name, **options)
        if not (root / name).is_dir():
            raise OSError("404 Client Error: repository not found")
        return str(root / name)

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return root


def test_push_and_load(hub, lexicon):
    assert lexicon.push_to_hub("user/words", token="hf_x") == "hf://user/words"
    names = {path.name for path in (hub / "user" / "words").iterdir()}
    assert {"config.json", "vocabulary.txt", "lexicon.safetensors", "README.md"} <= names
    card = (hub / "user" / "words" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: polysema\n")
    assert 'polysema.load("hf://user/words")' in card
    for name in ("hf://user/words", "hf://user/words@main"):
        again = ps.load(name)
        assert len(again) == len(lexicon)
        assert again.similarity("bank", "river") == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-6)
    assert lexicon.push_to_hub("hf://me/words", dtype="float16") == "hf://me/words"
    assert ps.load("hf://me/words").array.dtype == "float16"


def test_what_the_hub_refuses_is_one_line(hub, lexicon):
    (hub / "user" / "empty").mkdir(parents=True)
    refused(FormatError, "^hf://user/nothing: cannot be fetched: 404", ps.load, "hf://user/nothing")
    with pytest.raises(FormatError, match=r"^hf://user/empty: a repository without config\.json, so no lexicon"):
        ps.load("hf://user/empty")
    refused(OutputError, "^hf://other/words: not pushed: 403 Forbidden$", lexicon.push_to_hub, "other/words")


@pytest.mark.parametrize("name", ["hf://words", "hf://a/b/c", "hf:///x"])
def test_names_that_are_none(name):
    refused(InputError, "write hf://user/name", ps.load, name)
