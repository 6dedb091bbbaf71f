#!/usr/bin/env python3
"""Resolving four packages over six pages of links, beside gpkg 0.4.3: seconds, CPU seconds and peak memory.

Run with the interpreter of .venv. gpkg is installed into a virtual environment of its own, from the package index that
this machine is set to. Both are given the same pages by the same server, once with an empty cache and once with what
that run left; each is measured several times, in turns, and the best counts. gpkg finds no wheel on pages with hashes,
so its pages have none, while ours do. There are no wheels behind the links, so ours is told not to look into any, which
gpkg never does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROJECTS = ("flash-attn", "causal-conv1d", "mamba-ssm", "natten", "flash-attn", "mamba-ssm")
"""What each of the six pages has."""
TARGET = {"--torch": "2.8", "--cuda": "128", "--python": "3.12", "--platform": "linux_x86_64"}
SIZES = (5_000, 30_000)
ROUNDS = 3


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    cpu: float
    peak_mb: float
    chosen: dict[str, str]


def names(project: str, count: int) -> Iterator[str]:
    """File names of wheels of one project, over every version, CUDA, torch, Python and platform."""
    cells = itertools.product(
        (f"{major}.{minor}.{patch}" for major in range(1, 20) for minor in range(10) for patch in range(10)),
        ("cu126", "cu128", "cu129", "cu130"),
        ("2.7", "2.8", "2.9", "2.10", "2.11"),
        ("310", "311", "312", "313"),
        ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64"),
    )
    for version, cuda, torch, python, platform in itertools.islice(cells, count):
        written = project.replace("-", "_")
        yield f"{written}-{version}+{cuda}torch{torch}-cp{python}-cp{python}-{platform}.whl"


def page(project: str, count: int, *, hashed: bool) -> bytes:
    """A page of links to them."""
    fragment = f"#sha256={'0' * 64}" if hashed else ""
    anchors = (f'<a href="{name.replace("+", "%2B")}{fragment}">{name}</a><br>' for name in names(project, count))
    return "\n".join(("<!DOCTYPE html><html><body>", *anchors, "</body></html>")).encode()


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
        body = self.server.pages.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def measured(argv: Sequence[str | Path], cache: Path) -> Cost:
    """Run a command that prints JSON, and say what it took."""
    report = cache.parent / "report.json"
    script = [sys.executable, __file__, "--measure", str(report), *map(str, argv)]
    env = os.environ | {"XDG_CACHE_HOME": str(cache)}
    subprocess.run(script, env=env, check=True, capture_output=True)
    return Cost(**json.loads(report.read_text()))


def measure(report: Path, argv: Sequence[str]) -> None:
    """Run a command as the only child of this process."""
    import time  # noqa: PLC0415

    start = time.perf_counter()
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = json.loads(done.stdout[done.stdout.index("\n{") if not done.stdout.startswith("{") else 0 :])
    chosen = {name: each["filename"] for name, each in printed.get("resolved", printed).items()}
    cost = Cost(seconds=seconds, cpu=used.ru_utime + used.ru_stime, peak_mb=used.ru_maxrss / 1024, chosen=chosen)
    report.write_text(json.dumps(cost.__dict__))


def registry(url: str) -> str:
    """The six pages as gpkg's registry.toml names them."""
    return "\n".join(
        f'[[sources]]\npackage = "{project}"\ntype = "find-links"\nurl_template = "{url}/plain/{number}/"\n'
        f'wheel_name = "{project.replace("-", "_")}-{{version}}+cu{{cuda}}torch{{torch}}-{{pytag}}-{{platform}}.whl"\n'
        for number, project in enumerate(PROJECTS)
    )


def compare(count: int, gpkg: Path, folder: Path) -> None:
    """Measure both at one size and print a line for each."""
    pages = {
        f"/{kind}/{number}/": page(project, count, hashed=kind == "hashed")
        for kind in ("plain", "hashed")
        for number, project in enumerate(PROJECTS)
    }
    with Server(pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        (folder / "registry.toml").write_text(registry(url))
        sources = [word for number in range(len(PROJECTS)) for word in ("--source", f"{url}/hashed/{number}/")]
        asked = [word for pair in TARGET.items() for word in pair] + ["--json", *dict.fromkeys(PROJECTS)]
        commands: dict[str, list[str | Path]] = {
            "gpkg": [gpkg, "--registry", folder / "registry.toml", *asked],
            "wheelmill": [Path(sys.executable).parent / "wheelmill", "resolve", "--no-look", *sources, *asked],
        }
        costs: dict[tuple[str, str], list[Cost]] = {}
        for _ in range(ROUNDS):
            for name, argv in commands.items():
                cache = folder / name
                shutil.rmtree(cache, ignore_errors=True)
                for state in ("cold", "warm"):
                    costs.setdefault((state, name), []).append(measured(argv, cache))
        server.shutdown()
    for (state, name), runs in sorted(costs.items()):
        seconds, cpu = min(run.seconds for run in runs), min(run.cpu for run in runs)
        peak = max(run.peak_mb for run in runs)
        print(f"{count:>6} wheels a page  {state}  {name:<9}  {seconds:5.2f} s  {cpu:5.2f} s CPU  {peak:4.0f} MB")
    chosen = {name: runs[0].chosen for (state, name), runs in costs.items() if state == "cold"}
    if chosen["gpkg"] != chosen["wheelmill"]:
        print(f"       chosen differently: {chosen}")


def main() -> None:
    """Compare both at every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpkg", type=Path, help="an installed gpkg 0.4.3; by default one is installed")
    parser.add_argument("sizes", type=int, nargs="*", default=SIZES, help="wheels a page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        gpkg = options.gpkg
        if gpkg is None:
            venv.create(folder / "venv", with_pip=True)
            pip: list[str | Path] = [
                folder / "venv" / "bin" / "python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "gpkg==0.4.3",
            ]
            subprocess.run(pip, check=True)
            gpkg = folder / "venv" / "bin" / "gpkg"
        for count in options.sizes:
            compare(count, gpkg, folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
