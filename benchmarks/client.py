#!/usr/bin/env python3
"""Resolving four packages over six pages of wheels, beside gpkg 0.4.3: CPU seconds, seconds and peak memory.

Run with the interpreter of .venv. gpkg is installed into a virtual environment of its own, from the package index that
this machine is set to. Both are given the same pages by the same server, once with an empty cache and once with what
that run left; each is measured several times, in turns, and the best counts. A page has one of `FORMS`, and its wheels
in no order. There are no wheels behind the links, so ours is told not to look into any, which gpkg never does. gpkg
reads relative links without hashes, and releases; where ours reads another form, gpkg's pages are relative links to the
same wheels.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROJECTS = ("flash-attn", "causal-conv1d", "mamba-ssm", "natten", "flash-attn", "mamba-ssm")
"""Contents of each of the six pages."""
TARGET = {"--torch": "2.8", "--cuda": "128", "--python": "3.12", "--platform": "linux_x86_64"}
LINKS = {
    "relative": '<a href="{url}">{name}</a><br>',
    "hashes": '<a href="{url}#sha256={hash}">{name}</a><br>',
    "absolute": '<a href="http://127.0.0.1:8000/files/{url}#sha256={hash}">{name}</a><br>',
    "attribute": '<a data-requires-python="&gt;=3.9" href="{url}#sha256={hash}">{name}</a><br>',
    "class": '<a class="wheel" href="{url}#sha256={hash}" rel="internal">{name}</a><br>',
    "quotes": "<a href='{url}#sha256={hash}'>{name}</a><br>",
    "capitals": '<A HREF="{url}#sha256={hash}">{name}</A><BR>',
    "table": '<tr><td><a href="{url}">{name}</a></td><td class="size">12 MB</td><td>2026-05-01</td></tr>',
}
"""Forms of a link in HTML."""
FORMS = (*LINKS, "json", "huggingface", "github")
OF_GPKG = ("relative", "github")
SIZES = (5_000, 30_000)
CUDAS = ("cu118", "cu121", "cu124", "cu126", "cu128", "cu129", "cu130")
TORCHES = ("2.4", "2.5", "2.6", "2.7", "2.8", "2.9", "2.10", "2.11")
PEER = """
import os, httpx
get, here = httpx.Client.get, os.environ["GITHUB"]
httpx.Client.get = lambda self, url, **more: get(self, url.replace("https://api.github.com", here), **more)
from gpkg.cli import main
main()
"""
"""gpkg, which asks GitHub in the place that this machine plays it."""


@dataclass(frozen=True)
class Cost:
    """Costs of one run."""

    seconds: float
    cpu: float
    peak_mb: float
    chosen: dict[str, str]


def seeded(project: str) -> random.Random:
    """Numbers that are the same in every run."""
    return random.Random(project)  # noqa: S311 - keeps no secret


def names(project: str, count: int) -> list[str]:
    """File names of wheels of one project, over versions, CUDAs, torches, Pythons and platforms, in no order."""
    cells = itertools.product(
        (f"{major}.{minor}.{patch}" for major in range(1, 20) for minor in range(10) for patch in range(10)),
        CUDAS,
        TORCHES,
        ("310", "311", "312", "313"),
        ("manylinux_2_28_x86_64", "win_amd64"),
    )
    found = [
        f"{project.replace('-', '_')}-{version}+{cuda}torch{torch}-cp{python}-cp{python}-{platform}.whl"
        for version, cuda, torch, python, platform in itertools.islice(cells, count)
    ]
    seeded(project).shuffle(found)
    return found


def hashed(project: str, count: int) -> list[tuple[str, str, str]]:
    """Names, URLs and hashes of wheels."""
    numbers = seeded(project)
    return [(name, name.replace("+", "%2B"), numbers.randbytes(32).hex()) for name in names(project, count)]


def html_page(project: str, count: int, form: str) -> bytes:
    """A page of links."""
    anchors = (LINKS[form].format(name=name, url=url, hash=digest) for name, url, digest in hashed(project, count))
    return "\n".join(("<!DOCTYPE html><html><body>", *anchors, "</body></html>")).encode()


def json_page(project: str, count: int) -> bytes:
    """A project's page as PEP 691 has it."""
    files = [
        {"filename": name, "url": url, "hashes": {"sha256": digest}, "size": 12, "requires-python": ">=3.9"}
        for name, url, digest in hashed(project, count)
    ]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": files, "versions": []}).encode()


def tree_page(project: str, count: int) -> bytes:
    """A repository's files as Hugging Face lists them."""
    files = [
        {"type": "file", "oid": digest[:40], "size": 12, "path": name}
        | {"lfs": {"oid": digest, "size": 12, "pointerSize": 134}, "xetHash": digest}
        for name, _, digest in hashed(project, count)
    ]
    return json.dumps(files, separators=(",", ":")).encode()


def github_page(project: str, count: int) -> bytes:
    """Releases of a thousand assets each, with everything that GitHub says of one."""
    repository, numbers, time = f"someone/{project}", seeded(project), "2026-05-01T10:20:30Z"
    api, site = f"https://api.github.com/repos/{repository}", f"https://github.com/{repository}"
    login = "github-actions[bot]"
    user = {"login": login, "id": 41898282, "node_id": "MDM6Qm90NDE4OTgyODI=", "type": "Bot", "site_admin": False}
    user |= {"avatar_url": "https://avatars.githubusercontent.com/in/15368?v=4", "gravatar_id": ""}
    user |= {
        f"{what}_url": f"https://api.github.com/users/{login}/{what}"
        for what in ("followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events")
    }
    assets = [
        {
            "url": f"{api}/releases/assets/{number}",
            "id": number,
            "node_id": f"RA_kwDOJ{number:07}",
            "name": name,
            "label": "",
            "uploader": user,
            "content_type": "application/octet-stream",
            "state": "uploaded",
            "size": numbers.randrange(10**8),
            "digest": f"sha256:{numbers.randbytes(32).hex()}",
            "download_count": numbers.randrange(1000),
            "created_at": time,
            "updated_at": time,
            "browser_download_url": f"{site}/releases/download/v{number // 1000}/{name.replace('+', '%2B')}",
        }
        for number, name in enumerate(names(project, count))
    ]
    releases = [
        {"url": f"{api}/releases/{first}", "tag_name": f"v{first // 1000}", "draft": False, "prerelease": False}
        | {"author": user, "created_at": time, "assets": assets[first : first + 1000], "body": "Wheels.\r\n" * 20}
        for first in range(0, count, 1000)
    ]
    return json.dumps(releases, separators=(",", ":")).encode()


def page(form: str, project: str, count: int) -> bytes:
    """A page of one form."""
    pages = {"json": json_page, "huggingface": tree_page, "github": github_page}
    return pages[form](project, count) if form in pages else html_page(project, count, form)


def place(form: str, number: int) -> str:
    """The path that a page is served at."""
    at = {"github": f"/repos/{form}/{number}/releases", "huggingface": f"/api/models/{form}/{number}/tree/main"}
    return at.get(form, f"/{form}/{number}/")


def content_type(path: str) -> str:
    """The content type of the page at a path."""
    if path.startswith("/json/"):
        return "application/vnd.pypi.simple.v1+json"
    return "application/json" if path.startswith(("/repos/", "/api/")) else "text/html"


class Server(ThreadingHTTPServer):
    """Serves pages from memory."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages


class Handler(BaseHTTPRequestHandler):
    """Answers with a page."""

    server: Server

    def do_GET(self) -> None:
        """Answer with a page."""
        path = self.path.partition("?")[0]
        body = self.server.pages.get(path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", content_type(path))
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def measured(argv: Sequence[str | Path], cache: Path, url: str) -> Cost:
    """Run a command that prints JSON, with GitHub at a URL, and say what it took."""
    report = cache.parent / "report.json"
    script = [sys.executable, __file__, "--measure", str(report), *map(str, argv)]
    env = os.environ | {"XDG_CACHE_HOME": str(cache), "GITHUB": url, "GITHUB_API_URL": url, "GITHUB_TOKEN": ""}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs have bytecode
    subprocess.run(script, env=env, check=True, capture_output=True)
    return Cost(**json.loads(report.read_text()))


def measure(report: Path, argv: Sequence[str]) -> None:
    """Run a command as the only child of this process."""
    import time  # noqa: PLC0415

    start = time.perf_counter()
    done = subprocess.run(argv, check=False, capture_output=True, text=True)  # gpkg exits with 1 where it finds none
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _banner, _, content = f"\n{done.stdout}".partition("\n{")
    printed = json.loads(f"{{{content}") if content else {}
    chosen = {name: each["filename"] for name, each in printed.get("resolved", printed).items()}
    cost = Cost(seconds=seconds, cpu=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss / 1024, chosen=chosen)
    report.write_text(json.dumps(cost.__dict__))


def registry(form: str, url: str) -> str:
    """The six pages as gpkg's registry.toml names them."""
    return "\n".join(
        f'[[sources]]\npackage = "{project}"\n'
        + (
            f'type = "github"\nrepo = "{form}/{number}"\nscan_tags = 30\n'
            if form == "github"
            else f'type = "find-links"\nurl_template = "{url}{place(form, number)}"\n'
        )
        + f'wheel_name = "{project.replace("-", "_")}'
        '-{version}+cu{cuda}torch{torch}-{pytag}-{platform}.whl"\n'
        for number, project in enumerate(PROJECTS)
    )


def commands(form: str, gpkg: Path, folder: Path, url: str) -> dict[str, list[str | Path]]:
    """The command lines of both for pages of one form at a URL."""
    of_gpkg = form if form in OF_GPKG else OF_GPKG[0]
    (folder / "registry.toml").write_text(registry(of_gpkg, url))
    written = [
        f"github:{form}/{number}" if form == "github" else f"find-links:{url}{place(form, number)}"
        for number in range(len(PROJECTS))
    ]
    sources = [word for source in written for word in ("--source", source)]
    asked = [word for pair in TARGET.items() for word in pair] + ["--json", *dict.fromkeys(PROJECTS)]
    return {
        "gpkg": [gpkg, "-c", PEER, "--registry", folder / "registry.toml", *asked],
        "wheelmill": [Path(sys.executable).parent / "wheelmill", "resolve", "--no-look", *sources, *asked],
    }


def compare(form: str, count: int, gpkg: Path, folder: Path, rounds: int) -> dict[str, float]:
    """Measure both with pages of one form and size, and print a line for each state; returns our CPU seconds."""
    pages = {
        place(name, number): page(name, project, count)
        for name in {form, form if form in OF_GPKG else OF_GPKG[0]}
        for number, project in enumerate(PROJECTS)
    }
    costs: dict[tuple[str, str], list[Cost]] = {}
    with Server(pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        for _ in range(rounds):
            for name, argv in commands(form, gpkg, folder, url).items():
                cache = folder / name
                shutil.rmtree(cache, ignore_errors=True)
                for state in ("cold", "warm"):
                    costs.setdefault((state, name), []).append(measured(argv, cache, url))
        server.shutdown()
    ours = {}
    for state in ("cold", "warm"):
        cpu, peak = (
            [pick(getattr(run, field) for run in costs[state, name]) for name in ("gpkg", "wheelmill")]
            for pick, field in ((min, "cpu"), (max, "peak_mb"))
        )
        ours[state] = cpu[1]
        print(
            f"| {form} | {count:,} | {state} | {cpu[0]:.2f} | {cpu[1]:.2f} | {cpu[1] / cpu[0]:.2f} "
            f"| {peak[0]:.0f} | {peak[1]:.0f} |",
            flush=True,
        )
    chosen = {name: costs["cold", name][0].chosen for name in ("gpkg", "wheelmill")}
    if chosen["gpkg"] != chosen["wheelmill"]:
        print(f"       chosen differently: {chosen}")
    return ours


def main() -> None:
    """Compare both with every form and size of page, and print how much dearer the worst form is than the best."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpkg", type=Path, help="a Python with gpkg 0.4.3; by default one is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--form", choices=FORMS, action="append", help="of the pages; by default each")
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help="wheels a page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        gpkg = options.gpkg
        if gpkg is None:
            venv.create(folder / "venv", with_pip=True)
            gpkg = folder / "venv" / "bin" / "python"
            subprocess.run([gpkg, "-m", "pip", "install", "--quiet", "gpkg==0.4.3"], check=True)
        print("| pages | wheels a page | cache | gpkg, CPU seconds | wheelmill | ratio | gpkg, peak MB | wheelmill |")
        print("|---|---|---|---|---|---|---|---|")
        for count in options.sizes:
            costs = {form: compare(form, count, gpkg, folder, options.rounds) for form in options.form or FORMS}
            for state in ("cold", "warm"):
                in_order = sorted(costs, key=lambda form: costs[form][state])
                ratio = costs[in_order[-1]][state] / costs[in_order[0]][state]
                print(f"{count:,} {state}: {in_order[-1]} takes {ratio:.2f} times as long as {in_order[0]}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
