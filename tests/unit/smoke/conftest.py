"""Wheels whose machine code does, and does not, keep what their names promise."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

import pytest

from tests.gpu_code import PTX, SASS, cubin, entry, fatbin, ptx
from tests.unit.build.conftest import (
    CALLS_THE_FUTURE,
    MACHINE,
    PROVENANCE,
    compile_future_glibc,
    compile_shared_object,
    compile_versioned,
)
from tests.unit.smoke.folders import Folders, Interpreter
from tests.wheels import DEFAULT_MODES, NOTHING, write_wheel
from wheelmill.config.model import Expectations
from wheelmill.names import TorchNeed, TorchVersion
from wheelmill.smoke.environment import CandidateIndex
from wheelmill.smoke.evidence import Contents, open_wheel
from wheelmill.smoke.import_test import try_in_environments
from wheelmill.smoke.rules import findings_of
from wheelmill.smoke.verdict import CleanRoom
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding
from wheelmill.wheel.name import WheelFile

NO_REASONS: Final[Mapping[Code, str]] = MappingProxyType({})
Visit = Callable[..., tuple[CleanRoom | Finding, ...]]

LABELLED: Final = f"demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
METADATA: Final = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0+cu130torch2.11\nRequires-Dist: torch==2.11.*\n"

OF_CUDA: Final = (
    *("libcudart.so.12", "libnppc.so.12", "libnvJitLink.so.12", "libcusolver.so.11", "libcufft.so.11"),
    *("libcusparse.so.12", "libcurand.so.10"),
)
OF_OTHERS: Final = ("ld-linux-x86-64.so.2", "libtorch_cpu.so", "libnppc.so.13", "libm.so.6")
"""Of the system, of torch, and of CUDA: wheels expect them."""
GNU_STACK: Final = struct.pack("<I", 0x6474E551)
UNKNOWN_HEADER: Final = struct.pack("<I", 0x6474E5FF)
"""Types of program headers: the one that says what the stack must be, and one that says nothing to anybody."""

WRITTEN_CODE: Final = 'char data; __asm__(".text\\n.quad data\\n");'
"""Holds an address between its instructions, which the dynamic linker must write there."""

MODULE: Final = """
static void *definition[13] = {(void *)1, 0, 0, 0, 0, "_C"};
void *PyModule_Create2(void *, int);
void *PyInit__C(void) { return PyModule_Create2(definition, 1013); }
"""
"""A PyModuleDef with a name; https://docs.python.org/3/c-api/module.html#c.PyModuleDef"""

ALONE: Final = """
char *getenv(const char *);
int setenv(const char *, const char *, int);
void abort(void);
__attribute__((constructor)) static void start(void) {
    if (getenv("WHEELMILL_TEST_ALONE")) abort();
    setenv("WHEELMILL_TEST_ALONE", "1", 1);
}
"""
"""Ends a process that has loaded another copy of it, as two registrations of one operator of torch do."""

OPEN_SYMBOLS: Final = """
void inside(void) {}
void outside(void);
__attribute__((weak)) void optional(void);
void call(void) { inside(); outside(); if (optional) optional(); }
"""


WITH_AVX: Final = (
    '__attribute__((target("avx2"))) void twice(float *x) { *x *= 2; }'
    if MACHINE == "x86_64"
    else "void twice(void) {}"
)
ASKS: Final = 'void ask(void) { int a = 0, b, c, d; __asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d)); }'


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """Shared objects by what there is to say of them."""
    folder = tmp_path_factory.mktemp("objects")
    libraries = {
        name: compile_shared_object(folder / "libraries" / name, linker=[f"-soname={name}"])
        for name in ("libcudart.so.13", "libcublas.so.13", "libhelper.so.1", "libcuda.so.1", *OF_CUDA, *OF_OTHERS)
    }

    def bare(code: str = "", *, linker: Sequence[str] = (), needs: Sequence[Path] = ()) -> bytes:
        return compile_shared_object(folder / "_C.so", code, linker=[*linker], needs=[*needs]).read_bytes()

    def compiled(code: str, *needs: str) -> bytes:
        code += "\nvoid PyDemo_Nothing(void) {}\n"  # as a module has some names of Python
        return bare(code, needs=[libraries[name] for name in needs])

    every_architecture = device_code(sass=[90, 120], ptx=[120])
    glibc = compile_future_glibc(folder / "future")
    cxx = compile_versioned(folder / "cxx", "libstdc++.so.6", "GLIBCXX_3.4.99")
    stack = bare(linker=["-z,execstack"])
    return {
        **{f"linked to {name}": compiled("", name) for name in OF_CUDA},
        "linked to what others bring": compiled("", *OF_OTHERS),
        "libcudart.so.13": libraries["libcudart.so.13"].read_bytes(),
        "with an executable stack": stack,
        "that says nothing of its stack": stack.replace(GNU_STACK, UNKNOWN_HEADER),
        "with relocations in its code": bare(WRITTEN_CODE, linker=["-z,notext"]),
        "with a path of $ORIGIN": bare(linker=["-rpath,$ORIGIN/../torch/lib"]),
        "with a path of its builder": bare(linker=["-rpath,/tmp/lib"]),
        "with AVX for some": compiled(WITH_AVX + ASKS),
        "with AVX for all": compiled(WITH_AVX),
        "for another processor": on_machine(compiled(""), {"x86_64": 183, "aarch64": 62}[MACHINE]),
        "for a GPU alone": on_machine(compiled(""), 190),
        "for a new libstdc++": bare(CALLS_THE_FUTURE, needs=[cxx]),
        "that calls Python's insides": compiled(
            "void _PyObject_MakeTpCall(); void call(void) { _PyObject_MakeTpCall(); }"
        ),
        "that calls torch's functions of C": compiled(
            every_architecture + "void torch_call_dispatcher(); void aoti_torch_get_device_type();"
            "void call(void) { torch_call_dispatcher(); aoti_torch_get_device_type(); }"
        ),
        "that calls torch's C++": compiled(
            every_architecture + "void _ZN2at4_ops5empty4callEv(); void torch_list_size();"
            "void call(void) { _ZN2at4_ops5empty4callEv(); torch_list_size(); }"
        ),
        "that calls a torch of tomorrow": compiled(
            every_architecture + "void torch_of_tomorrow(); void call(void) { torch_of_tomorrow(); }"
        ),
        "that calls a later Python": compiled("void PyList_GetItemRef(); void call(void) { PyList_GetItemRef(); }"),
        "an extension module": compiled(MODULE),
        "an extension module that ends the process": compiled(
            "void _exit(int); void *PyInit__C(void) { _exit(0); return 0; }"
        ),
        "a module of PEP 793 that fails": compiled("void *PyModExport__C(void) { return 0; }"),
        "a library that is alone in its process": compiled(ALONE),
        "an extension module that fails": compiled("void *PyInit__C(void) { return 0; }"),
        "as promised": compiled(every_architecture, "libcudart.so.13"),
        "linked statically": compiled(every_architecture),
        "linked to CUDA 12": compiled(every_architecture, "libcudart.so.12"),
        "linked to CUDA 12 and 13": compiled(every_architecture, "libcublas.so.13", "libcudart.so.12"),
        "linked to the driver": compiled(every_architecture, "libcuda.so.1"),
        "that calls the driver": compiled(
            every_architecture + "int cuInit(unsigned); int call(void) { return cuInit(0); }", "libcuda.so.1"
        ),
        "linked to its helper": compiled("", "libhelper.so.1"),
        "without GPU code": compiled(""),
        "that uses no Python": bare(every_architecture),
        "helper": libraries["libhelper.so.1"].read_bytes(),
        "with kernels for all": compiled(kernels_for(second=(90, 120))),
        "with a kernel for Hopper alone": compiled(kernels_for(second=(90,))),
        "without PTX": compiled(device_code(sass=[90, 120])),
        "without sm_90": compiled(device_code(sass=[120], ptx=[120])),
        "for Hopper": compiled(device_code(sass=[90])),
        "for Blackwell": compiled(device_code(sass=[120, 100], ptx=[100])),
        "from the future": bare(CALLS_THE_FUTURE, needs=[glibc]),
        "with open symbols": compiled(OPEN_SYMBOLS),
        "that defines outside": compiled("void outside(void) {}"),
        "that calls Python": compiled("void Py_IncRef(void *); void call(void) { Py_IncRef(0); }"),
    }


def on_machine(content: bytes, machine: int) -> bytes:
    """Write another processor into the header of a shared object."""
    return content[:18] + struct.pack("<H", machine) + content[20:]


def device_code(*, sass: Sequence[int] = (), ptx: Sequence[int] = ()) -> str:
    """C for a ``.nv_fatbin`` section, laid out as `wheelmill.wheel.gpu_code` describes it."""
    kinds = [(PTX, architecture) for architecture in ptx] + [(SASS, architecture) for architecture in sass]
    return _in_fatbin(fatbin(*(entry(kind, architecture, b"") for kind, architecture in kinds)))


def kernels_for(*, second: Sequence[int]) -> str:
    """C for a kernel with code for all GPUs, and another one."""
    first = [entry(SASS, number, cubin("_Z5firstPf")) for number in (90, 120)]
    others = [entry(SASS, number, cubin("_ZN4demo6secondEPf")) for number in second]
    return _in_fatbin(fatbin(*first, entry(PTX, 120, ptx("_Z5firstPf"))) + fatbin(*others))


def _in_fatbin(section: bytes) -> str:
    return (
        '__attribute__((section(".nv_fatbin"), used)) '
        f"static const unsigned char fatbin[] = {{{', '.join(str(byte) for byte in section)}}};"
    )


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of these tests: wheels are tried in folders of it, and a home may be read-only."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Interpreter]:
    interpreter = Interpreter(tmp_path_factory.mktemp("interpreter") / "output")
    yield interpreter
    interpreter.close()


@pytest.fixture
def visit(objects: Mapping[str, bytes], interpreter: Interpreter, tmp_path: Path) -> Visit:
    """Take a wheel whose bytes are in order through the environments."""

    def through(
        environments: Folders,
        init: str = "",
        *,
        machine_code: str = "linked statically",
        label: str = "cu130",
        script: str = "",
        files: Mapping[str, bytes] = NOTHING,
        allow: Mapping[Code, str] = NO_REASONS,
        import_needs: Literal["driver"] | None = None,
    ) -> tuple[CleanRoom | Finding, ...]:
        path = tmp_path / "wheels" / f"demo-1.0+{label}-cp311-cp311-manylinux_2_17_{MACHINE}.whl"
        files = {"demo/__init__.py": init.encode(), "demo/_C.so": objects[machine_code], **files}
        contents = open_wheel(WheelFile.at(write_wheel(path, files=files)), None)
        assert isinstance(contents, Contents)
        if script or allow or import_needs:
            expects = Expectations(imports=("demo",), script=script or None, allow=allow, import_needs=import_needs)
            contents = replace(contents, provenance=replace(PROVENANCE, expectations=expects))
        index = CandidateIndex(folder=path.parent, path="", url="", requires=())
        environments.interpreter = interpreter
        return try_in_environments(contents, None, environments, index, requirements=["demo==1.0"], progress=Progress())

    return through


PINNED = TorchVersion(2, 11)
NO_EXPECTATIONS: Mapping[str, Any] = MappingProxyType({})
Opened = Callable[..., Contents]


@pytest.fixture
def opened(tmp_path: Path, objects: Mapping[str, bytes]) -> Opened:
    """Open a wheel that keeps every promise, but for what a test changes."""

    def make(
        name: str = LABELLED,
        *,
        machine_code: str | None = "as promised",
        metadata: str = METADATA,
        record: bytes | None = None,
        files: Mapping[str, bytes] = NOTHING,
        modes: Mapping[str, int] = DEFAULT_MODES,
        second: str | None = None,
        dist_info: str | None = None,
        built_here: bool = True,
        torch: TorchNeed = PINNED,
        expects: Mapping[str, Any] = NO_EXPECTATIONS,
    ) -> Contents:
        kinds = {"_C.so": machine_code, second or "": second and "helper"}
        held = {f"demo/{member}": objects[kind] for member, kind in kinds.items() if kind}
        held |= {"demo/__init__.py": b"", **files}
        path = tmp_path / name
        write_wheel(path, metadata=metadata, files=held, record=record, dist_info=dist_info, modes=modes)
        file = WheelFile.at(path)
        cell = replace(PROVENANCE.cell, torch=torch)
        expectations = replace(PROVENANCE.expectations, **expects)
        provenance = replace(PROVENANCE, sha256=file.sha256, cell=cell, expectations=expectations)
        contents = open_wheel(file, provenance if built_here else None)
        assert isinstance(contents, Contents)
        return contents

    return make


def codes_of(contents: Contents) -> list[Code]:
    """What the rules say, in short."""
    return [finding.code for finding in findings_of(contents)]


def details_of(contents: Contents) -> str:
    """What the rules say, a line a finding."""
    return "\n".join(finding.detail for finding in findings_of(contents))
