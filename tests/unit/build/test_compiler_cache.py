"""Compilers that go through the cache: what they are called with, and what they find again."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.progress import RecordedProgress
from tests.refusals import coded
from tests.unit.build.conftest import TARGET, target_of
from wheelmill.build import compiler_cache
from wheelmill.build.builder import BuildTask, build_part
from wheelmill.build.compiler_cache import (
    BuildPart,
    CompiledPart,
    CompilerCache,
    cache_of,
    caches,
    import_caches,
    link_toolkit,
    part_in,
    report_hits,
)
from wheelmill.build.environment import complete_toolkit, provide_toolkit
from wheelmill.build.local import LocalBuilder
from wheelmill.build.provenance import BuildPlace, CacheCounts, identity_of, inputs_of
from wheelmill.config.model.files import LockedCommit, LockedSdist
from wheelmill.errors import IntegrityError
from wheelmill.installers.environments import PackageFolder
from wheelmill.names import PythonVersion, Sha256
from wheelmill.plan.targets import BuildTarget, Source
from wheelmill.system import own_installation
from wheelmill.system.sandbox import Sandbox
from wheelmill.wheel.gpu_code import read_device_code

PLACE = BuildPlace(sandbox="local", compilers=("g++ 14.2",))
ARGUMENTS = '#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n'
KERNEL = """
#ifdef __CUDA_ARCH__
#define VALUE {device}
#else
#define VALUE {host}
#endif
int host_value() {{ return VALUE; }}
__global__ void kernel(int *out) {{ *out = VALUE; }}
"""


def write_program(path: Path, text: str = ARGUMENTS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | 0o755)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CompilerCache:
    """An empty cache, with the real ccache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache_of(TARGET, "13.0.2", PLACE, tmp_path / "workspace", Path("/usr/include/python3.99"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CUDA home of links to a toolkit whose compiler prints what it is called with."""
    folder = tmp_path_factory.mktemp("home")
    write_program(folder / "toolkit" / "bin" / "nvcc")
    write_program(folder / "toolkit" / "bin" / "ptxas")
    (folder / "toolkit" / "include").mkdir()
    sandbox = Sandbox(writable={folder: folder}, readable=[own_installation.DOCKER])
    link_toolkit(folder / "toolkit", folder / "cuda", sandbox)
    return folder / "cuda"


def called(compiler: Path, *arguments: str, **variables: str) -> list[str]:
    """What the real compiler is called with; in the place of ccache a program that starts what it is given."""
    done = subprocess.run(
        [compiler, *arguments], env={"PATH": os.environ["PATH"]} | variables, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()[1:]


def test_a_cuda_home_of_links_has_all_of_the_toolkit(home: Path) -> None:
    assert (home / "include").resolve() == (home.parent / "toolkit" / "include").resolve()
    assert called(home / "bin" / "ptxas", "--version") == ["--version"]


BASELINE = {"x86_64": "x86-64", "aarch64": "armv8-a"}[platform.machine()]
PLAN = "-gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90"
RAISED, REPLACED = {"WHEELMILL_CXX_STANDARD": "20"}, {"WHEELMILL_GENCODE": PLAN}
CACHED, HOST = {"WHEELMILL_COMPILERS": "/compilers"}, {"NVCC_CCBIN": "/opt/g++"}
ALL_FLAGS = {"NVCC_PREPEND_FLAGS": "-O1", "NVCC_APPEND_FLAGS": "--threads=2 -O3", **HOST}


@pytest.mark.parametrize(
    ("given", "variables", "words"),
    [
        # Without variables it is called as it is.
        ("-c a.cu -o a.o -I/usr/include/python3.12", {}, "-c a.cu -o a.o -I/usr/include/python3.12"),
        ("-std=c++17 -gencode arch=compute_75,code=[sm_75]", {}, "-std=c++17 -gencode arch=compute_75,code=[sm_75]"),
        # What links does not go through the cache.
        ("a.o -o a.so", CACHED, "a.o -o a.so"),
        # Flags that the cache would not see stand on the command line; a host compiler that is named has the last word.
        ("a.cu", ALL_FLAGS, "-O1 a.cu --threads=2 -O3 -ccbin=/opt/g++"),
        ("a.cu -ccbin=/usr/bin/g++", HOST, "a.cu -ccbin=/usr/bin/g++"),
        ("a.cu -ccbin /usr/bin/g++", HOST, "a.cu -ccbin /usr/bin/g++"),
        # An older standard is raised.
        ("-std=c++17 -O2", RAISED, "-std=c++20 -O2"),
        ("--std=gnu++1z", RAISED, "--std=gnu++20"),
        ("-std c++14", RAISED, "-std c++20"),
        ("-Xcompiler=-fPIC,-std=c++0x,-O2", RAISED, "-Xcompiler=-fPIC,-std=c++20,-O2"),
        ("-Xcompiler -std=c++11 -std=c++17", RAISED, "-Xcompiler -std=c++20 -std=c++20"),
        ("-std=c++20", RAISED, "-std=c++20"),
        ("-std=c++23", RAISED, "-std=c++23"),
        ("-std=c++2b", RAISED, "-std=c++2b"),
        ("-std=c++", RAISED, "-std=c++"),
        ("-std=c11 a.c", RAISED, "-std=c11 a.c"),
        ("a.cpp", RAISED, "-std=c++20 a.cpp"),
        ("-std=gnu++14 a.cu", RAISED, "-std=gnu++20 a.cu"),
        ("a.c", RAISED, "a.c"),
        # A compiling machine's own processor and GPU are nobody else's.
        ("-O3 -march=native a.cu", {}, f"-O3 -march={BASELINE} a.cu"),
        ("-mtune=native -mcpu=native", {}, "-mtune=generic -mcpu=generic"),
        ("-Xcompiler=-fPIC,-march=native,-O3", {}, f"-Xcompiler=-fPIC,-march={BASELINE},-O3"),
        ("-Xcompiler -march=native", {}, f"-Xcompiler -march={BASELINE}"),
        ("-march=x86-64-v3 -mavx2", {}, "-march=x86-64-v3 -mavx2"),
        ("-arch=native a.cu", {}, "-arch=all-major a.cu"),
        ("--gpu-architecture native a.cu", {}, "--gpu-architecture all-major a.cu"),
        ("-o native", {}, "-o native"),
        # The plan's architectures take the place of the source's, also of those in variables of nvcc.
        (
            "-c -gencode arch=compute_75,code=sm_75 -gencode arch=compute_121,code=sm_121 -O2 a.cu",
            REPLACED,
            f"-c -O2 a.cu {PLAN}",
        ),
        ("-c -gencode=arch=compute_75,code=[sm_75,compute_75] -O2 a.cu", REPLACED, f"-c -O2 a.cu {PLAN}"),
        (
            '-c --generate-code arch=compute_120a,code=sm_120a --generate-code=arch=compute_75,code="sm_75,compute_75"',
            REPLACED,
            f"-c {PLAN}",
        ),
        ("-c -arch sm_75 a.cu", REPLACED, f"-c a.cu {PLAN}"),
        ("-c -arch=native a.cu", REPLACED, f"-c a.cu {PLAN}"),
        ("-c --gpu-architecture=compute_75 --gpu-code sm_75,compute_75 a.cu", REPLACED, f"-c a.cu {PLAN}"),
        ("-c -arch compute_75 -code=sm_75 a.cu", REPLACED, f"-c a.cu {PLAN}"),
        ("-c -arch=all-major a.cu", REPLACED, f"-c a.cu {PLAN}"),
        ("-c -O2 a.cu", REPLACED, f"-c -O2 a.cu {PLAN}"),
        ("-dlink -gencode arch=compute_75,code=sm_75 a.o b.o", REPLACED, f"-dlink a.o b.o {PLAN}"),
        ("-dlink a.o b.o", REPLACED, f"-dlink a.o b.o {PLAN}"),
        ("a.cu", REPLACED | {"NVCC_APPEND_FLAGS": "-gencode=arch=compute_75,code=sm_75 -O3"}, f"a.cu -O3 {PLAN}"),
        # A file for one kind of GPU alone keeps its targets.
        ("-c -gencode arch=compute_90a,code=sm_90a a.cu", REPLACED, "-c a.cu -gencode arch=compute_90a,code=sm_90a"),
        ("-c -arch=sm_90a a.cu", REPLACED, "-c a.cu -arch=sm_90a"),
        (
            "--generate-code=arch=compute_100f,code=[sm_100f,sm_103a] -c a.cu",
            REPLACED,
            "-c a.cu --generate-code=arch=compute_100f,code=[sm_100f,sm_103a]",
        ),
        # nvcc refuses to write these for several targets.
        ("-ptx -arch=sm_75 a.cu", REPLACED, "-ptx a.cu -arch=sm_75"),
        ("--cubin -arch=sm_75 a.cu", REPLACED, "--cubin a.cu -arch=sm_75"),
        ("-optix-ir a.cu", REPLACED, "-optix-ir a.cu"),
        # The headers of every Python have one path.
        ("-I /py/include/python3.12 a.o", CACHED, "-I /compilers/python-include a.o"),
        ("-isystem /py/include/python3.12 a.o", CACHED, "-isystem /compilers/python-include a.o"),
        ("-isystem/py/include/python3.12t a.o", CACHED, "-isystem/compilers/python-include a.o"),
        ("--include-path /py/include/python3.12 a.o", CACHED, "--include-path /compilers/python-include a.o"),
        ("-I/py/include/python3.12 a.o", CACHED, "-I/compilers/python-include a.o"),
    ],
)
def test_nvcc_gets_what_plan_and_cache_need(given: str, variables: dict[str, str], words: str, home: Path) -> None:
    assert called(home / "bin" / "nvcc", *given.split(), **variables) == words.split()


def test_a_compilation_is_keyed_on_every_header_and_on_one_path_for_python(home: Path, tmp_path: Path) -> None:
    compilers = tmp_path / "compilers"
    write_program(compilers / "ccache", '#!/bin/sh\ntest "$CCACHE_DEPEND" = 1\nexec "$@"\n')
    words = ("-I/opt/python/include/python3.12", "--compile", "a b.cu", "--output-file", "a.o")
    assert called(home / "bin" / "nvcc", *words, WHEELMILL_COMPILERS=str(compilers)) == [
        *(f"-I{compilers}/python-include", "--compile", "a b.cu", "--output-file", "a.o"),
        *("-MD", "-MF", "a.o.d"),
    ]


@pytest.mark.parametrize("flag", ["-fwrapv", "-fno-strict-overflow"])
def test_host_compilers_share_objects_between_pythons(flag: str, cache: CompilerCache, tmp_path: Path) -> None:
    write_program(tmp_path / "bin" / "g++")
    path = f"{cache.compilers / 'bin'}:{tmp_path / 'bin'}:{os.environ['PATH']}"
    words = ["a.o", flag, "-arch", "x86_64"]
    assert called(cache.compilers / "bin" / "g++", *words, PATH=path, WHEELMILL_GENCODE="-arch=sm_90") == [
        *("-fno-strict-overflow", "a.o", "-arch", "x86_64")
    ]


def compile_with(compiler: Path, source: Path, cache: CompilerCache, *arguments: str) -> bytes:
    output = source.with_suffix(".o")
    output.unlink(missing_ok=True)
    path = f"{cache.compilers / 'bin'}:{os.environ['PATH']}"
    variables = {"PATH": path, "NVCC_CCBIN": shutil.which("g++") or ""} | dict(cache.variables())
    subprocess.run([compiler, *arguments, "-c", source, "-o", output], env=variables, check=True)
    return output.read_bytes()


def test_an_object_does_not_depend_on_the_processor_that_compiles(cache: CompilerCache, tmp_path: Path) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("void twice(float *x) { for (int i = 0; i < 1024; ++i) x[i] *= 2; }\n")
    compiler = cache.compilers / "bin" / "g++"
    native = compile_with(compiler, source, cache, "-O3", "-march=native")
    assert native == compile_with(compiler, source, cache, "-O3")
    if platform.machine() == "x86_64":
        assert native != compile_with(compiler, source, cache, "-O3", "-march=x86-64-v3")


def test_objects_are_found_again_and_counted(cache: CompilerCache, tmp_path: Path) -> None:
    source, header, heard = tmp_path / "a.cpp", tmp_path / "a.h", RecordedProgress()
    source.write_text('#include "a.h"\nint value() { return VALUE; }\n')
    objects = []
    for value in (1, 1, 2):
        header.write_text(f"#define VALUE {value}\n")
        with report_hits(TARGET, cache, heard):
            objects.append(compile_with(cache.compilers / "bin" / "g++", source, cache))
    assert objects[0] == objects[1] != objects[2]
    assert [step.partition(": ")[2] for step in heard.steps] == [
        "0 objects from the compiler cache, 1 compiled",
        "1 object from the compiler cache, 0 compiled",
        "0 objects from the compiler cache, 1 compiled",
    ]


def test_measuring_compiles_despite_hits(cache: CompilerCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, heard = tmp_path / "a.cpp", RecordedProgress()
    source.write_text("int value() { return 1; }\n")
    compile_with(cache.compilers / "bin" / "g++", source, cache)
    monkeypatch.setenv("CCACHE_RECACHE", "1")
    with report_hits(TARGET, cache, heard):
        compile_with(cache.compilers / "bin" / "g++", source, cache)
    assert heard.steps[0].endswith("0 objects from the compiler cache, 1 compiled")


def test_another_toolkit_has_another_cache(cache: CompilerCache, tmp_path: Path) -> None:
    """ccache sees the bytes of nvcc, and not those of the programs that nvcc calls."""
    assert cache_of(TARGET, "13.0.3", PLACE, tmp_path / "other", Path("/usr/include")).folder != cache.folder
    other_python = replace(TARGET, cell=replace(TARGET.cell, python=PythonVersion(3, 12)))
    assert cache_of(other_python, "13.0.2", PLACE, tmp_path / "third", Path("/usr/include")).folder == cache.folder
    newer = replace(PLACE, compilers=("g++ 15.1",))
    assert cache_of(TARGET, "13.0.2", newer, tmp_path / "fourth", Path("/usr/include")).folder != cache.folder


def folder_of(target: BuildTarget, workspace: Path) -> Path:
    return cache_of(target, "13.0.2", PLACE, workspace, Path("/usr/include")).folder


def test_another_source_of_the_same_name_has_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile setup.py leaves an object where the build of the trusted source would look for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sources: dict[str, Source] = {
        "sdist": LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("1" * 64)),
        "other sdist": LockedSdist(sdist="demo-1.0.tar.gz", sha256=Sha256("2" * 64)),
        "commit": LockedCommit(git="https://host.example/demo", ref="v1.0", commit="1" * 40),
        "other commit": LockedCommit(git="https://host.example/demo", ref="v1.0", commit="2" * 40),
        "fork": LockedCommit(git="https://host.example/fork", ref="v1.0", commit="1" * 40),
        "folder": tmp_path / "folder",
        "other folder": tmp_path / "hostile",
    }
    for name, text in (("folder", "trusted"), ("hostile", "hostile")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "setup.py").write_text(text)
    targets = {name: replace(TARGET, source=source) for name, source in sources.items()}
    for text in ("a", "b"):
        (tmp_path / f"{text}.patch").write_text(text)
        package = replace(TARGET.package, directory=tmp_path, patches=(tmp_path / f"{text}.patch",))
        targets[f"patched with {text}"] = replace(targets["sdist"], package=package)
    folders = {name: folder_of(target, tmp_path / "work" / name) for name, target in targets.items()}
    assert len(set(folders.values())) == len(targets)
    assert folder_of(targets["sdist"], tmp_path / "again") == folders["sdist"]
    copy = replace(TARGET, source=Path(shutil.copytree(tmp_path / "folder", tmp_path / "copy")))
    assert folder_of(copy, tmp_path / "of the copy") == folders["folder"]


def test_a_cache_with_settings_for_the_machine_outside(cache: CompilerCache, tmp_path: Path) -> None:
    """Foreign code writes them, and the counts are read without a sandbox."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (cache.folder / "ccache.conf").write_text(f"log_file = {victim}\ntemporary_dir = {tmp_path / 'theirs'}\n")
    cache.reset_counts()
    assert cache.counts() == CacheCounts(found=0, compiled=0)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "theirs").exists()


def test_a_cache_whose_lists_of_units_are_something_else(cache: CompilerCache) -> None:
    (cache.folder / "ours").symlink_to("/dev/zero")
    os.mkfifo(cache.folder / "others")
    assert part_in(cache) == CompiledPart(ours=0, others=0)
    (cache.folder / "ours").write_text("a.cu\nb.cu\n")
    assert part_in(cache) == CompiledPart(ours=2, others=0)


def compile_at_rest(cache: CompilerCache, unit: str) -> subprocess.Popen[str]:
    """A compilation that goes on until its input ends."""
    write_program(cache.compilers / "ccache", "#!/bin/sh\necho begun\ncat\nexit 3\n")
    words = [str(cache.compilers / "bin" / "g++"), "-c", unit, "-o", "unit.o"]
    variables = {"PATH": os.environ["PATH"], **cache.variables()}
    pipe = subprocess.PIPE
    compiler = subprocess.Popen(words, env=variables, stdin=pipe, stdout=pipe, text=True)
    assert compiler.stdout is not None
    assert compiler.stdout.readline() == "begun\n"
    return compiler


def test_a_unit_is_marked_until_it_is_compiled_and_its_exit_code_is_the_compilers(cache: CompilerCache) -> None:
    assert cache.units() == ([], 0)
    first = compile_at_rest(cache, "csrc/a.b.cu")
    compilers = [first, compile_at_rest(cache, "/csrc/b.cpp")]
    compiling, done = cache.units()
    assert ([unit for _, unit in compiling], done) == (["a.b.cu", "b.cpp"], 0)
    assert 0 <= time.time() - compiling[0][0] < 60
    first.communicate()
    assert ([unit for _, unit in cache.units()[0]], cache.units()[1]) == (["b.cpp"], 1)
    for compiler in compilers:
        compiler.communicate()
    assert [compiler.returncode for compiler in compilers] == [3, 3]
    assert cache.units() == ([], 2)


def test_no_build_counts_the_units_of_one_that_was_killed(cache: CompilerCache) -> None:
    compiler = compile_at_rest(cache, "a.cu")
    compiler.kill()
    compiler.communicate()
    (cache.folder / "unit.foreign" / "folder").mkdir(parents=True)
    (cache.folder / "unit.1.link").symlink_to("/dev/zero")
    assert len(cache.units()[0]) == 3
    with report_hits(TARGET, cache, RecordedProgress()):
        assert [unit for _, unit in cache.units()[0]] == ["foreign"]
        (cache.folder / "unit.2.b.cu").touch()
    assert [path.name for path in cache.folder.glob("unit.*")] == ["unit.foreign"]


def test_many_marks_are_read_in_part_and_removed_whole(cache: CompilerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_cache, "_MAX_MARKS", 3)
    for number in range(200):
        (cache.folder / f"unit.{number}.a.cu").touch()
    assert cache.units() == ([], 3)
    cache.remove_marks()
    assert list(cache.folder.glob("unit.*")) == []


def test_units_are_compiled_though_no_mark_can_be_made(cache: CompilerCache, tmp_path: Path) -> None:
    source = tmp_path / f"{'a' * 246}.cpp"
    source.write_text("int value;\n")
    assert compile_with(cache.compilers / "bin" / "g++", source, cache)
    assert cache.units() == ([], 0)


def test_a_cache_that_no_build_opened_for_a_month_is_removed(cache: CompilerCache, tmp_path: Path) -> None:
    old, recent = (cache.folder.with_name(name) for name in ("old", "recent"))
    for folder, days in ((old, 31), (recent, 29), (cache.folder, 365)):
        folder.mkdir(exist_ok=True)
        (folder / "object").touch()
        os.utime(folder, (time.time() - days * 24 * 3600,) * 2)
    assert folder_of(TARGET, tmp_path / "later") == cache.folder
    assert [(folder / "object").exists() for folder in (old, recent, cache.folder)] == [False, True, True]


@pytest.fixture
def real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CUDA home of links to NVIDIA's own toolkit, from its wheels or of this machine."""
    monkeypatch.setenv("UV_CACHE_DIR", os.environ.get("UV_CACHE_DIR") or str(Path("~/.cache/uv").expanduser()))
    folder = tmp_path / "packages"
    packages = PackageFolder(directory=folder, python=PythonVersion(3, 12), platform=TARGET.cell.platform)
    toolkit = provide_toolkit(TARGET.cell.cuda, TARGET.toolkit, packages, log=tmp_path / "log")
    complete_toolkit(toolkit)
    sandbox = Sandbox(writable={tmp_path: tmp_path}, readable=[own_installation.DOCKER])
    link_toolkit(toolkit, tmp_path / "cuda", sandbox)
    return tmp_path / "cuda"


def home_named_by(nvcc: Path, **variables: str) -> Path:
    """The toolkit that FindCUDA of CMake derives from what nvcc says of itself."""
    done = subprocess.run(
        [nvcc, "-v", "__cmake_determine_cuda"],
        env={"PATH": os.environ["PATH"]} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    (top,) = (line.removeprefix("#$ TOP=") for line in done.stderr.splitlines() if line.startswith("#$ TOP="))
    return Path(os.path.normpath(top))


def test_the_toolkit_that_nvcc_names_has_the_nvcc_of_the_plan(tmp_path: Path) -> None:
    says = '#!/bin/sh\n[ "$1" = -v ] && echo "#\\$ TOP=${0%/*}/.." >&2\nprintf "%s\\n" "$0" "$@"\n'
    write_program(tmp_path / "toolkit" / "bin" / "nvcc", says)
    sandbox = Sandbox(writable={tmp_path: tmp_path}, readable=[own_installation.DOCKER])
    link_toolkit(tmp_path / "toolkit", tmp_path / "cuda", sandbox)
    home = home_named_by(tmp_path / "cuda" / "bin" / "nvcc")
    assert home == tmp_path / "cuda"
    assert called(home / "bin" / "nvcc", "a.cu", **REPLACED) == ["a.cu", *PLAN.split()]


@pytest.mark.real
@pytest.mark.parametrize("words", ["-fatbin", "-fatbin -rdc=true"])
def test_a_source_that_names_no_target_has_the_code_of_the_plan(words: str, real_home: Path, tmp_path: Path) -> None:
    nvcc = home_named_by(real_home / "bin" / "nvcc") / "bin" / "nvcc"
    (tmp_path / "kernel.cu").write_text("__global__ void kernel(int *out) { *out = 1; }")
    made = tmp_path / "made"

    def code_with(**variables: str) -> tuple[str, ...]:
        command: list[str | Path] = [nvcc, *words.split(), tmp_path / "kernel.cu", "-o", made]
        subprocess.run(command, env={"PATH": os.environ["PATH"]} | variables, check=True)
        return read_device_code(made.read_bytes()).sass

    assert code_with() == ("sm_75",)  # the oldest GPU of this nvcc
    assert code_with(WHEELMILL_GENCODE="-gencode=arch=compute_120,code=sm_120") == ("sm_120",)


@pytest.mark.real
def test_a_change_that_one_pass_of_nvcc_sees_is_a_miss(cache: CompilerCache, real_home: Path, tmp_path: Path) -> None:
    """ccache's usual modes key on the pass of one architecture and give back an object of other code."""
    architectures = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in (80, 90, 100)]
    source, objects = tmp_path / "kernel.cu", []
    for host, device in (("1", "2"), ("1", "2"), ("3", "2"), ("1", "(__CUDA_ARCH__ == 1000 ? 4 : 2)")):
        source.write_text(KERNEL.format(host=host, device=device))
        objects.append(compile_with(real_home / "bin" / "nvcc", source, cache, *architectures))
    first, again, other_host, other_device = objects
    assert first == again
    assert len({first, other_host, other_device}) == 3
    cache.reset_counts()
    compile_with(real_home / "bin" / "nvcc", source, cache, *architectures)
    assert cache.counts() == CacheCounts(found=1, compiled=0)


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
    """Compile units (by a stand-in unless ``really``) and link them; returns those in whose objects there is code."""
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
        cache.reset_counts()
        ours = compile_units(cache, source, *units, part=part)
        assert cache.counts() == CacheCounts(found=0, compiled=len(ours)) == CacheCounts(found=0, compiled=2)
    last = open_cache("last")
    assert import_caches(tmp_path / f"part {number}" for number in (1, 2)) > len(units)
    last.reset_counts()
    assert compile_units(last, source, *units) == [*units]
    assert last.counts() == CacheCounts(found=len(units), compiled=0)
    assert import_caches([tmp_path / "part 1"]) == 0


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
    assert import_caches([tmp_path / "theirs"]) == 1
    taken = [path.relative_to(mine.parent) for path in mine.parent.rglob("*") if path.is_file()]
    assert [str(path) for path in taken if path.parts[0] == "group"] == [f"group/0/1/{NAME}"]
    assert caches() == mine.parent


def test_a_too_large_cache_is_refused(open_cache: OpenCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_cache("mine")
    theirs = tmp_path / "theirs" / "group" / "0"
    theirs.mkdir(parents=True)
    (theirs / NAME).write_bytes(bytes(2000))
    monkeypatch.setattr(compiler_cache, "MAX_SIZE", 1999)
    with pytest.raises(IntegrityError, check=coded("cache-too-large")):
        import_caches([tmp_path / "theirs"])
    assert not (caches() / "group").exists()


def test_a_header_that_is_linked_again_has_not_changed(source: Path, open_cache: OpenCache, tmp_path: Path) -> None:
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


def test_a_ccache_or_settings_that_a_build_left_have_no_effect(open_cache: OpenCache, tmp_path: Path) -> None:
    """Both lie in folders that foreign code may write to."""
    cache = open_cache("machine")
    write_program(cache.compilers / "ccache", f"#!/bin/sh\ntouch {tmp_path}/outside\n")
    (cache.folder / "ccache.conf").write_text(f"log_file = {tmp_path}/outside\n")
    cache.reset_counts()
    assert cache.counts() == CacheCounts(found=0, compiled=0)
    assert not (tmp_path / "outside").exists()


def test_how_many_jobs_compile_a_wheel_does_not_change_what_it_is() -> None:
    divided = replace(TARGET, package=replace(TARGET.package, shards_per_wheel=4))
    assert identity_of(inputs_of(divided)) == identity_of(inputs_of(TARGET))


def test_a_part_leaves_a_log_and_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "config" / "demo").mkdir(parents=True)
    (tmp_path / "config" / "demo" / "kernel.cu").touch()
    part, heard, output = BuildPart(number=2, of=4), RecordedProgress(), tmp_path / "out"

    class Builder(LocalBuilder):
        def compile_part(self, task: BuildTask, _part: BuildPart) -> CompiledPart:
            task.log.write_text("compiling\n")
            return CompiledPart(ours=3, others=9)

    build_part(target_of(tmp_path / "config" / "demo"), Builder(), part, output=output, progress=heard)
    assert heard.steps == [f"{TARGET.cell.id}: part 2/4 compiled: 12 units, 3 of them ours"]
    assert [path.name for path in output.iterdir()] == [f"{TARGET.cell.id}.part-2-of-4.log"]
