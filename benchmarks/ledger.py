#!/usr/bin/env python3
"""Requests of commands to GitHub, and their costs, with many published wheels.

The host is the one of the tests, in a process of its own: releases with all their assets, and manifests with
certificates and provenance. Each command runs as a person runs it, in a process of its own.

With --live, the steps of ``index.yml`` after ten wheels were released, from an empty cache, with the index from before
as the deployed site. What GitHub does itself is not measured: to start the job, take the artifact and deploy it; nor is
verifying attestations, which these wheels do not have.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.index import BASE_URL, SCRIPTS, measure, run_parts  # noqa: E402 - found by the line above
from benchmarks.releases import PER_RELEASE, releases_of, wheels, write_release  # noqa: E402
from benchmarks.releases import Release as ManyWheels  # noqa: E402
from tests.github_server import REPOSITORY, Answer, Asset, Call, GitHub, Release, serving  # noqa: E402
from tests.unit.release.conftest import certified_wheel  # noqa: E402
from wheelmill.errors import FindingsError  # noqa: E402
from wheelmill.index.serve import serve_folder  # noqa: E402
from wheelmill.smoke.verdict import certificate_path  # noqa: E402
from wheelmill.system.records import write_record  # noqa: E402

STORE: Final = f"github:{REPOSITORY}"
HURRIED: Final = """
import runpy, time
real, skipped = time.time, []
time.time, time.sleep = (lambda: real() + sum(skipped)), skipped.append
runpy.run_module("wheelmill", run_name="__main__", alter_sys=True)
"""
"""A command of ours that does not wait: 240 wheels are more changes than GitHub takes in an hour."""
ONE: Final = ("torch-spline-conv", "--python", "3.12", "--cuda", "13.0", "--torch", "2.11")


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Costs of one command."""

    calls: int
    """Calls of the API."""
    changes: int
    """Those of them that create, change or remove something."""
    downloads: int
    seconds: float
    """Wall time."""
    cpu_seconds: float
    peak_mb: float


def hosted(count: int, releases: int) -> Iterator[Release]:
    """Releases of that many wheels, each with a manifest and the assets that it names."""
    for number, release in enumerate(_releases(count, releases)):
        files = [f"{entry['filename']}{end}" for entry in release.entries for end in ("", ".metadata", ".cdx.json")]
        first = (number + 1000) * 10_000  # the host's own numbers begin with 1
        assets = [Asset(first + place, name, b"") for place, name in enumerate(files)]
        assets.append(Asset(first + 9_999, "manifest.json", release.manifest))
        yield Release(first, release.tag, release.tag, "", draft=False, assets=assets)


def _releases(count: int, releases: int) -> Iterator[ManyWheels]:
    made = wheels(count)
    return releases_of(made, per_release=-(-len(made) // releases))


def serve(count: int, releases: int, site: str | None) -> None:
    """Serve until the standard input ends; after each line of it tell what was asked since the last one.

    `site` is the address of the deployed site; None if Pages is off.
    """

    def answer_pages(call: Call) -> Answer | None:
        return (200, {}, {"public": True, "html_url": site}) if call.path.endswith("/pages") and site else None

    github = GitHub(now=itertools.count(1_800_000_000, 60).__next__)  # who asks does not wait, so a call takes a minute
    github.always = answer_pages
    github.releases.extend(hosted(count, releases))
    github.refs |= {f"refs/tags/{release.tag}": "5" * 40 for release in github.releases}
    taken: list[str] = []
    download = github.download

    def counted(path: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], object]:
        taken.append(path)
        return download(path, headers)

    github.download = counted  # type: ignore[method-assign]
    with serving(github):
        print(json.dumps(github.environment), flush=True)
        for _ in sys.stdin:
            counts = {"calls": len(github.calls), "changes": len(github.writes), "downloads": len(taken)}
            print(json.dumps(counts), flush=True)
            github.calls.clear()
            github.writes.clear()
            github.asked.clear()
            taken.clear()


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host in a process of its own."""

    questions: IO[str]
    answers: IO[str]

    def ask(self) -> dict[str, int]:
        """Requests since the last call."""
        print(file=self.questions, flush=True)
        counts: dict[str, int] = json.loads(self.answers.readline())
        return counts

    def measure(self, environment: Mapping[str, str], argv: list[str]) -> Figures:
        """Run a command of ours."""
        self.ask()
        with tempfile.TemporaryFile() as said:
            start = time.perf_counter()
            command = [sys.executable, "-c", HURRIED, *argv]
            process = subprocess.Popen(
                command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=said
            )
            _, status, usage = os.wait4(process.pid, 0)
            seconds = round(time.perf_counter() - start, 1)
            said.seek(0)
            if status:
                raise SystemExit(f"{argv}: {said.read().decode()}")
        cpu_seconds = round(usage.ru_utime + usage.ru_stime, 2)
        return Figures(**self.ask(), seconds=seconds, cpu_seconds=cpu_seconds, peak_mb=round(usage.ru_maxrss / 1024, 1))


@contextmanager
def host(count: int, releases: int, *options: str) -> Iterator[Host]:
    """Run the host; its first line is the environment of commands."""
    argv = [sys.executable, __file__, "--serve", "--wheels", str(count), "--releases", str(releases), *options]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdin and process.stdout:  # they are pipes
            yield Host(questions=process.stdin, answers=process.stdout)
            process.stdin.close()


def figures(count: int, releases: int) -> dict[str, Figures]:
    """Measure every command."""
    with host(count, releases) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**json.loads(server.answers.readline()), "XDG_CACHE_HOME": str(folder / "cache")}
        _write_wheels(folder / "wheels", PER_RELEASE)
        _write_wheels(folder / "ten", 10)
        index = ["index", "build", "--store", STORE, "--output", str(folder / "site")]
        of_folder = ["--store", f"dir:{folder / 'releases'}"]
        for release in _releases(count, releases):
            write_release(folder / "releases", release)
        server.measure(environment, ["release", "ledger", "--rebuild", *of_folder])
        results = {
            "plan, without a ledger": server.measure(environment, ["plan", "--store", STORE]),
            "release ledger --rebuild": server.measure(
                environment, ["release", "ledger", "--rebuild", "--store", STORE]
            ),
            "plan": server.measure(environment, ["plan", "--store", STORE]),
        }
        plan = subprocess.run(
            [sys.executable, "-m", "wheelmill", "plan", "--matrix", "--store", STORE],
            env={**os.environ, **environment},
            capture_output=True,
            check=True,
        )
        told = {**environment, "WHEELMILL_LEDGER": json.loads(plan.stdout)["shards"][0]["include"][0]["ledger"]}
        return results | {
            "one build job, before it builds": server.measure(told, ["plan", *ONE, "--store", STORE]),
            f"release of {PER_RELEASE} wheels": server.measure(
                environment, ["release", str(folder / "wheels"), "--store", STORE]
            ),
            "index build": server.measure(environment, index),
            "release of 10 wheels": server.measure(environment, ["release", str(folder / "ten"), "--store", STORE]),
            "index build, with what is kept": server.measure(environment, index),
            "index build of a folder with these releases": server.measure(
                environment,
                ["index", "build", *of_folder, "--output", str(folder / "other"), "--base-url", BASE_URL],
            ),
        }


def steps_to_live(count: int) -> dict[str, str]:
    """CPU seconds, peak MB and written MB of each step from ten more wheels in their release to a packed site."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deployed, documents, site, packed = (folder / name for name in ("deployed", "docs", "site", "packed"))
        deployed.mkdir()
        packed.mkdir()
        index = SCRIPTS / "wheelmill", "index", "build", "--store", STORE, "--previous", STORE, "--output"
        tar = "tar", "--dereference", "--hard-dereference", "--directory", site, "-cf", packed / "artifact.tar", "."
        with (
            serve_folder(deployed) as url,
            host(count, -(-count // PER_RELEASE), "--site", url) as server,
        ):
            environment = json.loads(server.answers.readline())
            before = {**environment, "XDG_CACHE_HOME": str(folder / "cache of another machine")}
            environment["XDG_CACHE_HOME"] = str(folder / "cache")
            server.measure(before, ["release", "ledger", "--rebuild", "--store", STORE])
            measure([*index, deployed], deployed, before)
            _write_wheels(folder / "ten", 10)
            server.measure(before, ["release", str(folder / "ten"), "--store", STORE])
            figures = {
                "documents": measure([SCRIPTS / "sphinx-build", "--quiet", ROOT / "docs", documents], documents),
                "index build": measure([*index, site, "--docs", documents], site, environment),
                "index check": measure(
                    [SCRIPTS / "wheelmill", "index", "check", site],
                    site,
                    allowed=FindingsError.exit_code,  # these wheels are empty
                ),
                "tar": measure([*tar], packed),
                "zip of the tar": measure([sys.executable, __file__, "--zip", packed / "artifact.tar"], packed),
            }
            environment["XDG_CACHE_HOME"] = str(folder / "a third cache")
            parts = run_parts(STORE, environment)
        return {
            name: f"{step.cpu_seconds} CPU s of {step.seconds} s, {step.peak_mb} MB memory, {step.bytes / 1e6:.1f} MB"
            for name, step in figures.items()
        } | {"CPU s of parts of index build": str(parts)}


def zip_tar(tar: Path) -> None:
    """Replace the tar by its zip, as ``upload-artifact`` compresses it."""
    with zipfile.ZipFile(tar.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.write(tar, tar.name)
    tar.unlink()


def _write_wheels(folder: Path, count: int) -> None:
    for number in range(count):
        wheel = certified_wheel(folder / f"{folder.name}_{number}-1.0-py3-none-any.whl")
        write_record(certificate_path(wheel.file.path), wheel.certificate)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=420)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--live", type=int, nargs="+", metavar="N", help="time from released to live, for each number")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--site", help=argparse.SUPPRESS)
    parser.add_argument("--zip", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.wheels, options.releases, options.site)
        return
    if options.zip:
        zip_tar(options.zip)
        return
    for count in options.live or ():
        print(f"{count:,} wheels, and ten more:")
        for name, figures_of_step in steps_to_live(count).items():
            print(f"  {name}: {figures_of_step}", flush=True)
    if options.live:
        return
    results = figures(options.wheels, options.releases)
    if options.json:
        print(json.dumps({name: asdict(each) for name, each in results.items()}))
        return
    print("| command | API calls | changes | downloads | seconds | CPU seconds | MB |\n|---|--:|--:|--:|--:|--:|--:|")
    for name, each in results.items():
        asked = f"{each.calls} | {each.changes} | {each.downloads} | {each.seconds:.1f}"
        print(f"| {name} | {asked} | {each.cpu_seconds:.1f} | {each.peak_mb:.0f} |")


if __name__ == "__main__":
    main()
