"""No manifest that the gate lets pass makes `index check`, pip or uv complain; of the others, all faults are told."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.tags import sys_tags

from tests.releases import NOW, store_in
from tests.wheels import write_wheel
from wheelmill.config.load import load_compatibility
from wheelmill.config.model.files import Listing
from wheelmill.conformance.survey import check_folder
from wheelmill.errors import ReleaseError, SiteError
from wheelmill.index.serve import serve_folder
from wheelmill.pipeline.site import Stores, build_index
from wheelmill.release.manifest.record import MANIFEST, ListedWheel
from wheelmill.release.manifest.rules import faults_of_wheel, manifest_from
from wheelmill.system.files import sha256_of, sha256_of_bytes
from wheelmill.wheel.metadata import metadata_bytes
from wheelmill.wheel.name import WheelName

DIGITS = "9" * 20
SOUND: dict[str, Any] = {
    "project": "",
    "version": "1.0",
    "build": "",
    "tags": "py3-none-any",
    "requires_python": ">=3.9",
    "requires_dist": [],
    "published_at": "2026-11-21T12:30:15Z",
    "attestation": None,
    "size": None,
    "policy": "any",
    "seconds": 1.5,
    "cell": {},
}
COMPATIBILITY = load_compatibility(Path("config"))
text = st.text(max_size=12)
ODD: dict[str, st.SearchStrategy[Any]] = {
    "project": st.sampled_from(["_x", ".y", "..", "-", "A", '"><script>', "\u00e9", "\0", "/..", "_"]) | text,
    "version": st.sampled_from(
        [
            *("1.00", "v1.0", "1.0rc1", "1!2.0", "1.0.post1", "1.0.dev3", "1.0-1", "1.0_1", "one", "", "1.0a"),
            *("1.0+cu130", "1.0+CU130", "1.0+cu130torch2.11", "1.0+git1a2b.cu130", "1.0+cu130_torch2.11", "1.0+"),
            *(f"1.{DIGITS}", f"1.0.dev{DIGITS}", f"{DIGITS}!1.0", f"1.0+cu130.{DIGITS}", "2026.11.21", "1.0.0.0.0.1"),
        ]
    )
    | text,
    "build": st.sampled_from(["-1", "-0", "-007", "-1abc", "-1_a", f"-{DIGITS}", "-x", "-1.5", "--"]),
    "tags": st.sampled_from(
        [
            *("cp311-cp311-manylinux_2_28_x86_64", "py2.py3-none-any", "cp39-abi3-linux_x86_64", "PY3-none-any"),
            *("py3-none-any.", "py3.-none-any", "py3-none-ANY", "py3-none-any+x", "py3-none-!", "py3-none-linux__"),
            *("py3-none-win_amd64.any", "py3-none", "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", "--"),
        ]
    )
    | text,
    "requires_python": st.sampled_from(
        [
            *(None, "", "three", "===3.11.7", "===three", "==3.*", "~=3.9", "!=3.10.*", ">=3.9.*", "*", ","),
            *(">=3.9\0", ">=3.9\n", ">=3.9\x1b[2J", ">= 3.9 , <4", ">=3.9,", f"<{DIGITS}", "<4!1", ">=3.9.dev0"),
            *('>=3.9"><script>', "<4; x", ">=v3.9", ">=3.9rc1", "\u202e>=3.9"),
        ]
    )
    | text,
    "requires_dist": st.lists(
        st.sampled_from(
            [
                *(
                    "numpy",
                    "x>=1; python_version < '3'",
                    "x===odd",
                    "x===1.0",
                    "x @ https://e.example/x-1-py3-none-any.whl",
                ),
                *(
                    *("x y", "x; extra == 'a'", "x[a,b]>=1", f"x<{DIGITS}", "x\0", "x; platform_release > '1'"),
                    "numpy<2,>=1",
                ),
                *("x>=1.*", "x~=1", "X_y.z", "x; python_version < 'a'", "x (>=1)", "x>=1;", "-", "x @ file:///etc"),
            ]
        )
        | text,
        max_size=3,
    ),
    "published_at": st.sampled_from(
        [
            *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1999-12-31T23:59:59Z", "2000-01-01T00:00:00Z", "today"),
            *("2026-11-21T12:30:15", "2026-11-21T12:30:15+05:30", "2026-11-21T12:30:15.123456Z", "2026-11-21", 0, None),
            *("2026-11-21T12:30:60Z", "2026-11-21T24:00:00Z", "2026-11-21T00:00:00-00:00"),
        ]
    ),
    "attestation": st.sampled_from(["https://e.example/a", "javascript:alert(1)", "https://", 'https://e/"><b>', ""])
    | text,
    "size": st.sampled_from([0, -1, 10**30, 2**64, 2 << 30, 1.5, "9", True, None, float("nan")]),
    "policy": st.sampled_from(["</script>", "\0", "\u202e", "\ud800", "", "\x7f", "a\tb"]) | text,
    "seconds": st.sampled_from([float("nan"), float("inf"), -1, 10**400, "1", None, 1e300, True, 0]),
    "cell": st.sampled_from(
        [
            {"project": "other"},
            {"version": "9"},
            {"torch": "2.10"},
            {"cuda": "x"},
            {"platform": "\0"},
            {"sha256": "f" * 64},
        ]
    ),
}


@st.composite
def wheels(draw: st.DrawFn) -> dict[str, Any]:
    """What a release says of a wheel: sound, but for a few values."""
    odd = draw(st.sets(st.sampled_from(sorted(ODD)), max_size=2))
    return {**SOUND, **{key: draw(ODD[key]) for key in sorted(odd)}}


@dataclass
class Counts:
    """What happened to the manifests that were drawn."""

    of: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {what}" for what, count in self.of.items())
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.reasons.most_common())
        return f"\n{counts}; refused for {kinds}\n"


def release(folder: Path, number: int, said: dict[str, Any]) -> Path:
    """Write a release of one wheel that is as its manifest says, as far as there can be such a wheel."""
    project = f"p{number}{said['project']}"
    filename = f"{project}-{said['version']}{said['build']}-{said['tags']}.whl"
    lines = [f"Requires-Python: {said['requires_python']}"] if said["requires_python"] is not None else []
    lines += [f"Requires-Dist: {each}" for each in said["requires_dist"]]
    metadata = "\n".join(["Metadata-Version: 2.1", f"Name: {project}", f"Version: {said['version']}", *lines, ""])
    day = folder / f"v2026-11-21.{number + 2}"
    day.mkdir(parents=True)
    sha256, metadata_sha256, size = "0" * 64, "0" * 64, 1
    try:
        path = write_wheel(day / filename, metadata=metadata)
        content = metadata_bytes(path)
        (day / f"{filename}.metadata").write_bytes(content)
        sha256, metadata_sha256, size = sha256_of(path), sha256_of_bytes(content), path.stat().st_size
    except (ValueError, OSError, UnicodeError):  # no file has such a name; then the manifest must not pass
        pass
    label = said["version"].partition("+")[2]
    cell = {
        "project": f"p{number}",
        "version": "1.0",
        "python": "3.11",
        "cuda": "13.0",
        "torch": None,
        "platform": "linux_x86_64",
    }
    provenance = {
        "sha256": sha256,
        "cell": cell,
        "architectures": ["9.0"],
        "source_sha256": "1" * 64,
        "patches": [],
        "pythons": ["3.11"],
        "expectations": {"imports": []},
        "toolkit": "13.0.2",
        "torch_release": None,
        "images": [],
        "seconds": said["seconds"],
    }
    cell.update((key, value) for key, value in said["cell"].items() if key != "sha256")
    provenance["sha256"] = said["cell"].get("sha256", sha256)
    evidence = {
        "policy": said["policy"],
        "needed": [],
        "glibc": None,
        "glibcxx": None,
        "cuda_major": 13,
        "sass": ["sm_90"],
        "ptx": [],
        "undefined_symbols": 0,
    }
    is_built_here = label == "cu130" or said["cell"] or said["seconds"] != SOUND["seconds"]
    entry = {
        "filename": filename,
        "sha256": sha256,
        "size": size if said["size"] is None else said["size"],
        "metadata_sha256": metadata_sha256,
        "name": project,
        "version": said["version"],
        "requires_python": said["requires_python"],
        "requires_dist": said["requires_dist"],
        "attestation": said["attestation"],
        "certificate": {
            "sha256": sha256,
            "evidence": evidence,
            "clean_rooms": [{"python": "3.11.7", "installed": {}, "skipped": []}],
            "provenance": provenance if is_built_here else None,
        },
    }
    manifest = {
        "schema": "wheelmill.manifest/1",
        "tag": day.name,
        "published_at": said["published_at"],
        "wheels": [entry],
    }
    (day / MANIFEST).write_text(json.dumps(manifest))
    return day


def judged(day: Path) -> ListedWheel | list[str]:
    """The wheel of a release that the gate lets pass, or all that is wrong."""
    try:
        (wheel,) = manifest_from((day / MANIFEST).read_bytes(), source="m", tag=day.name, now=NOW).wheels
        return faults_of_wheel(wheel, WheelName.parse(wheel.filename)) or wheel
    except (ReleaseError, ValueError) as error:
        return [line.removeprefix("m: ") for line in str(error).splitlines()]


@contextmanager
def accepted(drawn: Sequence[dict[str, Any]], counts: Counts) -> Iterator[tuple[Path, list[ListedWheel]]]:
    """Make a site of the releases that pass; before, one of all, which must be refused if any of them is."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        passed, refused = [], []
        for number, said in enumerate(drawn):
            day = release(folder / "releases", number, said)
            found = judged(day)
            counts.of["manifests"] += 1
            if not isinstance(found, list):
                passed.append(found)
                counts.of["accepted"] += 1
            else:
                refused.append(day)
                counts.of["refused"] += 1
                assert found
                counts.reasons.update(
                    {each.partition(": ")[0].partition("[0].")[2] or each.partition(": ")[0] for each in found}
                )
        if refused:
            with pytest.raises(SiteError):
                build(folder)
            assert not (folder / "site").exists()
            for day in refused:
                shutil.rmtree(day)
        build(folder)
        yield folder, passed


def build(folder: Path) -> None:
    store = store_in(folder / "releases")
    stores = Stores(store=store, base_url="../releases", listing=Listing(), facts=COMPATIBILITY)
    build_index(stores, folder / "site", warn=pytest.fail)


def test_the_check_of_an_index_finds_nothing_in_what_passes(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counts()

    @given(st.lists(wheels(), min_size=12, max_size=20))
    @settings(max_examples=settings().max_examples // 5)
    def check(drawn: Sequence[dict[str, Any]]) -> None:
        with accepted(drawn, counts) as (folder, _):
            report = check_folder(folder, everything=True)
            assert [f"{each.rule.number}: {each.message}" for each in report.violations] == []

    check()
    with capsys.disabled():
        sys.stdout.write(str(counts))
    assert counts.of["accepted"] > 0
    assert counts.of["refused"] > 0


@pytest.mark.real
@pytest.mark.parametrize("negotiate", [False, True], ids=["HTML", "JSON"])
def test_pip_and_uv_take_what_passes(capsys: pytest.CaptureFixture[str], negotiate: bool) -> None:  # noqa: FBT001 - a parameter of a test
    counts = Counts()
    here = frozenset(sys_tags())

    def is_for_this_python(wheel: ListedWheel) -> bool:
        fits = SpecifierSet(wheel.requires_python or "").contains(".".join(map(str, sys.version_info[:3])))
        return fits and not here.isdisjoint(WheelName.parse(wheel.filename).tags)

    @given(st.lists(wheels(), min_size=8, max_size=30))
    @settings(max_examples=settings().max_examples // 5)
    def check(drawn: Sequence[dict[str, Any]]) -> None:
        with accepted(drawn, counts) as (folder, passed), serve_folder(folder, negotiate=negotiate) as url:
            pins = [f"{wheel.name}=={wheel.version}" for wheel in passed if is_for_this_python(wheel)]
            if not pins:
                return
            index = f"{url}site/simple/"
            expected = {WheelName.parse(wheel.filename).project for wheel in passed if is_for_this_python(wheel)}
            assert resolved_by_uv(index, pins) == expected
            counts.of["taken by uv"] += len(expected)
            assert resolved_by_pip(index, pins) == expected
            counts.of["taken by pip"] += len(expected)

    check()
    with capsys.disabled():
        sys.stdout.write(str(counts))
    assert counts.of["taken by pip"] > 0


def resolved_by_uv(index: str, pins: Sequence[str]) -> set[str]:
    options = ("--quiet", "--no-deps", "--no-cache", "--no-header", "--no-annotate", "--default-index", index)
    said = run("uv", "pip", "compile", *options, "--python", sys.executable, "-", told="\n".join(pins))
    return {line.partition("==")[0].strip() for line in said.stdout.splitlines() if "==" in line}


def resolved_by_pip(index: str, pins: Sequence[str]) -> set[str]:
    options = ("--quiet", "--no-deps", "--dry-run", "--ignore-installed", "--no-cache-dir", "--only-binary=:all:")
    said = run(sys.executable, "-m", "pip", "install", *options, "--report", "-", "--index-url", index, *pins)
    assert said.stderr == ""
    return {
        it["metadata"]["name"].lower().replace("_", "-").replace(".", "-") for it in json.loads(said.stdout)["install"]
    }


def run(*argv: str, told: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run an installer without this machine's own settings."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    env = {**ours, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_NO_CONFIG": "1"}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(argv, env=env, input=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done
