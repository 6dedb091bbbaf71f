"""One source compiled by several jobs: who compiles what, and what the last one finds."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import coded
from tests.unit.build.conftest import TARGET, target_of
from tests.unit.build.test_compiler_cache import PLACE, Heard, write_program
from wheelmill.build import parts
from wheelmill.build.builder import build_part
from wheelmill.build.compiler_cache import CompilerCache, cache_of, caches
from wheelmill.build.identity import identity_of, inputs_of
from wheelmill.build.local import LocalBuilder
from wheelmill.build.parts import BuildPart, CompiledPart, part_in, take_up
from wheelmill.build.provenance import CacheCounts
from wheelmill.errors import IntegrityError

LISTED = ("a.cpp", "b.cpp", "c.cpp", "kernels/a.cu", "kernels/b.cu", "kernels/c.cu", "kernels/d.cu", "kernels/e.cu")
GENERATED = ("build/one.cpp", "build/two.cpp", "build/three.cpp", "build/four.cpp")

NAME = "f0228ff339e12d1755843ec5e6dcb19a6f4217"

OpenCache = Callable[[str], CompilerCache]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Units of two kinds."""
    source = tmp_path / "source"
    for unit in LISTED:
        write_unit(source / unit)
    return source


def write_unit(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"int {name_in(path)}() {{ return 1; }}\n")


def name_in(unit: Path) -> str:
    """The function that a unit defines."""
    return f"{unit.parent.name.replace('-', '_')}_{unit.stem}"


@pytest.fixture
def open_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenCache:
    """Have the cache of the target's group on some machine, where its workspace has the path it has everywhere."""

    def open_on(machine: str) -> CompilerCache:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
        shutil.rmtree(tmp_path / "workspace", ignore_errors=True)
        return cache_of(TARGET, "13.0.2", PLACE, tmp_path / "workspace", Path("/usr/include/python3.99"))

    return open_on


STAND_IN = '#!/bin/sh\nfor output; do :; done\necho code > "$output"\n'
"""A compiler whose last word is where to write."""


def compile_units(
    cache: CompilerCache, source: Path, *units: str, part: BuildPart | None = None, really: bool = True
) -> list[str]:
    """Compile each unit and link all objects; returns the units in whose objects there is code.

    Args:
        cache: the compilers.
        source: the folder to compile in.
        units: paths.
        part: which part of them; None for all.
        really: whether by a compiler, through ccache, and not by a program that writes a word.
    """
    own = part.divide(source, source, cache) if part else {}
    objects = cache.compilers.parent / "objects"
    objects.mkdir()
    path = [str(cache.compilers / "bin"), os.environ["PATH"]]
    if not really:
        write_program(objects / "bin" / "g++", STAND_IN)
        write_program(cache.compilers / "ccache", '#!/bin/sh\nexec "$@"\n')
        path.insert(1, str(objects / "bin"))
    lines = [f"g++ -x c++ -fPIC -c '{unit}' -o {objects / str(number)}.o" for number, unit in enumerate(units)]
    link = [f"g++ -shared {objects}/*.o -o {objects / 'all.so'}"]
    environment = {"PATH": ":".join(path), **cache.variables(), **own}
    subprocess.run(["sh", "-ec", "\n".join(lines + link)], cwd=source, env=environment, check=True)
    contents = [(objects / f"{number}.o").read_bytes() for number in range(len(units))]
    names = [name_in(Path(unit)).encode() if really else b"code" for unit in units]
    return [unit for unit, name, content in zip(units, names, contents, strict=True) if name in content]


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "/4", "1/", "a/b", "1/0", "-1/2", "1/2/3", "\u00b2/3"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a part such as 2/4"):
        BuildPart.parse(text)
    assert str(BuildPart.parse("2/4")) == "2/4"


def test_every_unit_is_compiled_by_one_part_and_each_part_gets_its_share(source: Path, open_cache: OpenCache) -> None:
    """By a hash of the name alone a part had nearly twice as many kernels as another."""
    compiled = []
    for unit in GENERATED:
        write_unit(source / unit)
    for number in (1, 2, 3):
        for unit in GENERATED:  # they are not there when the source is divided
            (source / unit).rename(source / f"{unit}.later")
        cache, part = open_cache(f"machine {number}"), BuildPart(number=number, of=3)
        part.divide(source, source, cache)
        for unit in GENERATED:
            (source / f"{unit}.later").rename(source / unit)
        units = (*LISTED, *(str(source / unit) for unit in GENERATED))
        ours = compile_units(cache, source, *units, part=part, really=False)
        assert part_in(cache) == CompiledPart(ours=len(ours), others=len(units) - len(ours))
        assert sum(unit.endswith(".cu") for unit in ours) in (1, 2)
        compiled += ours
    assert sorted(compiled) == sorted([*LISTED, *(str(source / unit) for unit in GENERATED)])


def test_a_unit_whose_name_is_not_utf_8_is_listed_as_it_is(source: Path, open_cache: OpenCache) -> None:
    cache = open_cache("machine")
    (source / os.fsdecode(b"caf\xe9.cpp")).touch()
    BuildPart(number=1, of=2).divide(source, source, cache)
    assert b"caf\xe9.cpp" in (cache.compilers / "units").read_bytes().splitlines()


def test_what_tries_the_compiler_is_compiled_in_every_part(source: Path, tmp_path: Path, open_cache: OpenCache) -> None:
    tries = ("build/CMakeFiles/CMakeScratch/try/main.cpp", "_configtest.c", "conftest.cpp", "b/meson-private/s.cpp")
    outside = tmp_path / "elsewhere" / "main.cpp"
    for path in (outside, *(source / unit for unit in tries)):
        write_unit(path)
    units = [*tries, str(outside)]
    for number in (1, 2):
        part = BuildPart(number=number, of=2)
        assert compile_units(open_cache("machine"), source, *units, part=part, really=False) == units


def test_the_last_job_finds_what_the_parts_compiled(source: Path, open_cache: OpenCache, tmp_path: Path) -> None:
    units = LISTED[:4]
    for number in (1, 2):
        cache, part = open_cache(f"part {number}"), BuildPart(number=number, of=2)
        cache.forget_counts()
        ours = compile_units(cache, source, *units, part=part)
        assert cache.counts() == CacheCounts(found=0, compiled=len(ours)) == CacheCounts(found=0, compiled=2)
    last = open_cache("last")
    assert take_up(tmp_path / f"part {number}" for number in (1, 2)) > len(units)
    last.forget_counts()
    assert compile_units(last, source, *units) == [*units]
    assert last.counts() == CacheCounts(found=len(units), compiled=0)
    assert take_up([tmp_path / "part 1"]) == 0


def test_nothing_but_objects_is_taken_up(open_cache: OpenCache, tmp_path: Path) -> None:
    """What another job hands on may hold anything, if its sandbox was broken."""
    mine, theirs = open_cache("mine").folder, tmp_path / "theirs" / "group" / "0" / "1"
    theirs.mkdir(parents=True)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (theirs / NAME).write_text("an object")
    (theirs / f"{NAME}a").symlink_to(secret)
    (theirs / f"{NAME} ").touch()
    os.mkfifo(theirs / f"{NAME}b")
    (theirs / "stats").touch()
    (theirs.parent.parent / "ccache.conf").write_text("compiler = /bin/false\n")
    (theirs.parent.parent / NAME).touch()
    (tmp_path / "theirs" / "linked").symlink_to(tmp_path)
    (tmp_path / "theirs" / "0").symlink_to(theirs.parent)
    assert take_up([tmp_path / "theirs"]) == 1
    taken = [path.relative_to(mine.parent) for path in mine.parent.rglob("*") if path.is_file()]
    assert [str(path) for path in taken if path.parts[0] == "group"] == [f"group/0/1/{NAME}"]
    assert caches() == mine.parent


def test_more_than_compiler_caches_may_take_is_refused(
    open_cache: OpenCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_cache("mine")
    theirs = tmp_path / "theirs" / "group" / "0"
    theirs.mkdir(parents=True)
    (theirs / NAME).write_bytes(bytes(2000))
    monkeypatch.setattr(parts, "MAX_SIZE", 1999)
    with pytest.raises(IntegrityError, check=coded("cache-too-large")):
        take_up([tmp_path / "theirs"])
    assert not (caches() / "group").exists()


def test_a_header_that_an_installer_links_once_more_has_not_changed(
    source: Path, open_cache: OpenCache, tmp_path: Path
) -> None:
    """Another installation beside a build gave the file a new time, and the object was not kept."""
    cache = open_cache("machine")
    (source / "a.h").write_text("int a();\n")
    (source / "a.cpp").write_text('#include "a.h"\nint a() { return 1; }\n')
    real = shutil.which("g++")
    # ccache learns of headers from what this prints, after the link was made.
    write_program(
        tmp_path / "bin" / "g++", f'#!/bin/sh\nsleep 0.05\nln -f "{source}/a.h" "{tmp_path}/a.h"\n{real} "$@"\n'
    )
    environment = {"PATH": f"{cache.compilers / 'bin'}:{tmp_path / 'bin'}:{os.environ['PATH']}", **cache.variables()}
    for _ in range(2):
        subprocess.run(["g++", "-c", "a.cpp", "-o", tmp_path / "a.o"], cwd=source, env=environment, check=True)
    assert cache.counts() == CacheCounts(found=1, compiled=1)


def test_how_many_jobs_compile_a_wheel_does_not_change_what_it_is() -> None:
    divided = replace(TARGET, package=replace(TARGET.package, shards_per_wheel=4))
    assert identity_of(inputs_of(divided)) == identity_of(inputs_of(TARGET))


def test_a_part_leaves_a_log_and_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "config" / "demo").mkdir(parents=True)
    (tmp_path / "config" / "demo" / "kernel.cu").touch()
    part, heard, output = BuildPart(number=2, of=4), Heard(), tmp_path / "out"

    class Builder(LocalBuilder):
        def compile_part(self, *_: object, log: Path, **__: object) -> CompiledPart:
            log.write_text("compiling\n")
            return CompiledPart(ours=3, others=9)

    build_part(target_of(tmp_path / "config" / "demo"), Builder(), part, output=output, progress=heard)
    assert heard.steps == [f"{TARGET.cell.id}: part 2/4 compiled: 12 units, 3 of them ours"]
    assert [path.name for path in output.iterdir()] == [f"{TARGET.cell.id}.part-2-of-4.log"]
