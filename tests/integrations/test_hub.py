"""The Hugging Face hub: huggingface_hub itself, against a hub on this machine that keeps repositories in a folder."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

import polysema as ps
from polysema.errors import InputError
from polysema.integrations import hub

pytest.importorskip("huggingface_hub", reason="the extra hub is not installed")

SHA = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's interface as pushing and fetching take."""

    protocol_version = "HTTP/1.1"
    root: ClassVar[Path]
    asked: ClassVar[list[str]] = []

    def answer(self, value=None, body=b"", status=200, **headers):
        body = json.dumps(value).encode() if value is not None else body
        self.send_response(status)
        for name, text in {"Content-Length": str(len(body)), "X-Repo-Commit": SHA, **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        self.asked.append(f"{self.command} {self.path}")
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            folder = self.root / parts[2] / parts[3]
            if not folder.is_dir():
                return self.answer({"error": "Repository not found"}, status=404, X_Error_Code="RepoNotFound")
            names = sorted(path.name for path in folder.iterdir())
            if "tree" in parts:
                return self.answer(
                    [{"type": "file", "path": n, "size": (folder / n).stat().st_size, "oid": SHA} for n in names]
                )
            info = {"id": "/".join(parts[2:4]), "sha": SHA, "siblings": [{"rfilename": name} for name in names]}
            return self.answer({**info, "private": False, "tags": [], "downloads": 0, "likes": 0})
        file = self.root / parts[0] / parts[1] / parts[-1]
        if "resolve" not in parts or not file.is_file():
            return self.answer({"error": "no entry"}, status=404, X_Error_Code="EntryNotFound")
        content = file.read_bytes()
        return self.answer(body=content, ETag=f'"{hashlib.sha1(content).hexdigest()}"')

    do_HEAD = do_GET

    def do_POST(self):
        self.asked.append(f"{self.command} {self.path}")
        content = self.body()
        if self.path == "/api/repos/create":
            asked = json.loads(content)
            (self.root / (asked.get("organization") or "user") / asked["name"]).mkdir(parents=True, exist_ok=True)
            return self.answer({"url": f"http://{self.headers['Host']}/user/{asked['name']}"})
        if self.path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        parts = self.path.split("/")
        if "preupload" in parts:
            files = json.loads(content)["files"]
            return self.answer({"files": [{**f, "uploadMode": "regular", "shouldIgnore": False} for f in files]})
        if "commit" in parts:
            folder = self.root / parts[3] / parts[4]
            for line in map(json.loads, content.splitlines()):
                if line["key"] == "file":
                    (folder / line["value"]["path"]).write_bytes(base64.b64decode(line["value"]["content"]))
            return self.answer(
                {
                    "commitUrl": f"http://{self.headers['Host']}/user/words/commit/{SHA}",
                    "commitOid": SHA,
                    "success": True,
                }
            )
        return self.answer({"error": self.path}, status=404)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    Hub.root = tmp_path_factory.mktemp("hub")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


RUN = """
import sys
import polysema as ps
lexicon = ps.load(sys.argv[1])
print(lexicon.push_to_hub("user/words", token="hf_x"))
again = ps.load("hf://user/words")
print(len(again), again.similarity("bank", "river"))
print(len(ps.load("hf://user/words@main")))
for name in ("hf://user/nothing", "hf://user/empty"):
    try:
        ps.load(name)
    except ps.FormatError as error:
        print(error)
"""


def test_push_and_load(server, lexicon, tmp_path):
    """In a process of its own: the library reads where the hub is when it is imported."""
    lexicon.save(tmp_path / "own")
    (Hub.root / "user" / "empty").mkdir(parents=True)
    environment = {**os.environ, "HF_ENDPOINT": server, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(ps.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "own")],
        capture_output=True, text=True, env={**environment, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n{Hub.asked}"
    where, size, other, missing, empty = done.stdout.splitlines()
    assert where == "hf://user/words"
    assert float(size.split()[1]) == pytest.approx(lexicon.similarity("bank", "river"), abs=1e-6)
    assert (size.split()[0], other) == ("12", "12")
    assert missing.startswith("hf://user/nothing: cannot be fetched:")
    assert empty == "hf://user/empty: a repository without config.json, so no lexicon of polysema"
    pushed = Hub.root / "user" / "words"
    assert {"config.json", "vocabulary.txt", "lexicon.safetensors", "README.md"} <= {p.name for p in pushed.iterdir()}
    text = (pushed / "README.md").read_text(encoding="utf-8")
    assert text.startswith("---\nlibrary_name: polysema\n")
    assert 'polysema.load("hf://user/words")' in text


def test_a_local_folder_as_the_hub(lexicon, tmp_path, monkeypatch):
    """Without any server: what the library is asked to do."""
    import huggingface_hub

    class Api:
        def __init__(self, **options):
            assert options["library_name"] == "polysema"

        def create_repo(self, name, **options):
            (tmp_path / name).mkdir(parents=True, exist_ok=True)

        def upload_folder(self, repo_id, folder_path, **options):
            for path in Path(folder_path).iterdir():
                (tmp_path / repo_id / path.name).write_bytes(path.read_bytes())

    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **options: str(tmp_path / name))
    assert lexicon.push_to_hub("hf://me/words", dtype="float16") == "hf://me/words"
    assert ps.load("hf://me/words").array.dtype == "float16"


@pytest.mark.parametrize("name", ["hf://words", "hf://a/b/c", "hf:///x"])
def test_names_that_are_none(name):
    with pytest.raises(InputError, match="write hf://user/name"):
        ps.load(name)
    assert hub.SCHEME == "hf://"
