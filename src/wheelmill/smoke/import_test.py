"""Installation of a wheel as by a user, with the torch that it names, and its import."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from wheelmill.config.model import Need
from wheelmill.errors import IntegrityError, NetworkError, ProcessError
from wheelmill.names import PythonVersion, StableTorch
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment, SmokeEnvironments, evaluate
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.verdict import THIS_MACHINE, CleanRoom
from wheelmill.system.folders import temporary_folder
from wheelmill.system.hardware import name_gpus
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding, some_of, with_reasons
from wheelmill.wheel.libraries import DRIVER, compile_stub, is_of_driver, is_of_toolkit
from wheelmill.wheel.shared_objects import open_symbols

_LOAD_TORCH: Final = """
try:
    import torch
except ImportError:
    pass
"""
"""Torch loads the libraries that it brings, so that the dynamic linker finds them by name."""

_LOADABLE: Final = """
import ctypes, json, sys
def loads(name):
    try:
        return bool(ctypes.CDLL(name))
    except OSError:
        return False
print(json.dumps([name for name in sys.argv[1:] if loads(name)]))
"""

_GPUS: Final = """
import ctypes, json
count = ctypes.c_int(0)
try:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuInit(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
except OSError:
    pass
print(json.dumps(count.value))
"""
"""Counts the GPUs that the driver reports (https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__DEVICE.html)."""

_OF_CUDA: Final = ("cu", "__cuda", "nvrtc")
"""Prefixes of the symbols of the driver, the CUDA runtime and related libraries."""

_UNDEFINED: Final = """
import ctypes, glob, json, sys, sysconfig
def defines(library, symbol):
    try:
        return bool(library[symbol])
    except AttributeError:
        return False
needed, missing = json.loads(sys.argv[1]), sys.argv[2:]
site = sysconfig.get_path("purelib")
beside = [name for part in ("torch", "nvidia/*") for name in sorted(glob.glob(f"{site}/{part}/lib/*.so*"))]
for name in [None, *needed, *beside]:
    if not missing:
        break
    try:
        library = ctypes.CDLL(name)
    except OSError:
        continue
    missing = [symbol for symbol in missing if not defines(library, symbol)]
print(json.dumps(missing))
"""
"""Searches in the order of the dynamic linker: the process, libraries that the wheel names, then all others."""

_LOAD_STUB: Final = """
import base64, ctypes, os, zlib
stub = os.memfd_create("libcuda.so.1")
os.write(stub, zlib.decompress(base64.b64decode({stub!r})))
ctypes.CDLL(f"/proc/self/fd/{{stub}}")
"""
"""Whatever needs libcuda.so.1 later finds the stub: the dynamic linker compares the sonames of loaded libraries."""

_MOST_FUNCTIONS: Final = 1000
"""Symbols of a stub, which travels on a command line; the driver has 700."""


def absent_libraries(contents: Contents, environment: SmokeEnvironment) -> tuple[str, ...]:
    """List libraries that the environment lacks and the wheel may expect of its machine, such as the driver."""
    needs = contents.expectations.needs
    of_the_machine = [name for name in contents.evidence.needed if name == DRIVER or _need_of(name) in needs]
    if "driver" in needs and DRIVER not in of_the_machine:
        of_the_machine.append(DRIVER)
    if not of_the_machine:
        return ()
    loadable = evaluate(environment, list[str], _LOAD_TORCH + _LOADABLE, *of_the_machine)
    return tuple(name for name in of_the_machine if name not in loadable)


def _need_of(library: str) -> Need | None:
    """Value of `needs` by which a package leaves a library of CUDA to the machine; None if none does."""
    if library.startswith("libnvrtc"):
        return "nvrtc"
    return "cuda" if is_of_toolkit(library) else None


def code_before_import(contents: Contents, absent: Sequence[str]) -> str | None:
    """Python code that loads a stub of the driver, with the functions that the wheel calls, if packages.yml allows it.

    Empty if nothing is absent; None if modules cannot be imported.
    """
    if not absent:
        return ""
    if tuple(absent) != (DRIVER,) or contents.expectations.import_needs != "driver":
        return None
    functions = sorted(filter(is_of_driver, open_symbols(contents.shared_objects)))
    with temporary_folder() as folder:
        library = folder / DRIVER
        compile_stub(functions[:_MOST_FUNCTIONS], library)
        packed = base64.b64encode(zlib.compress(library.read_bytes(), 9))
    return _LOAD_STUB.format(stub=packed.decode())


def undefined_symbols(contents: Contents, environment: SmokeEnvironment, *, without_cuda: bool) -> Iterator[Finding]:
    """Find symbols that neither Python nor torch nor CUDA defines, in an environment without the wheel.

    `without_cuda` leaves out symbols of CUDA: the environment lacks libraries that the wheel may expect of a machine.
    """
    symbols = open_symbols(contents.shared_objects)
    if without_cuda:
        symbols = frozenset(name for name in symbols if not name.startswith(_OF_CUDA))
    if not symbols:
        return
    needed = json.dumps(contents.evidence.needed)
    if missing := evaluate(environment, list[str], _LOAD_TORCH + _UNDEFINED, needed, *sorted(symbols)):
        detail = f"nothing defines {some_of(missing)}; neither Python nor torch nor CUDA does"
        yield Finding(code=Code.UNDEFINED_SYMBOL, detail=detail)


_OVERWRITTEN: Final = """
import importlib.metadata, json, os, sys
def files_of(distribution):
    return {os.path.normpath(distribution.locate_file(file)) for file in distribution.files or ()}
own = importlib.metadata.distribution(sys.argv[1])
files, top = files_of(own), own.locate_file("")
others = [each for each in importlib.metadata.distributions() if each.metadata["Name"] != own.metadata["Name"]]
print(json.dumps(sorted({
    f"{os.path.relpath(file, top)} of {other.metadata['Name']}" for other in others for file in files & files_of(other)
})))
"""
"""pip overwrites files of other distributions silently."""

_UNCOMPILED: Final = """
import importlib.metadata, json, sys
def fault_of(file):
    try:
        compile(file.read_binary(), str(file), "exec", dont_inherit=True)
    except Exception as error:
        return f"{file}: {error}"
files = importlib.metadata.distribution(sys.argv[1]).files or ()
print(json.dumps([fault for file in files if file.suffix == ".py" and (fault := fault_of(file))]))
"""
"""Compiles source files without running them."""

_IMPORT: Final = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sys.argv[1:]))
"""
"""Reports back: a module that ends the process with exit code 0 was not imported."""

_LOAD: Final = """
import ctypes, importlib, importlib.machinery, importlib.metadata, json, mmap, os, sys
modules = tuple(suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES if suffix != ".so")
def load(file):
    path, stem = str(file.locate()), file.name.partition(".")[0]
    with open(path, "rb") as opened:
        if opened.read(4) != b"\\x7fELF" and not file.name.endswith(modules):  # such as a linker's script
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            hooks = (f"{hook}_{stem}\\0".encode() for hook in ("PyInit", "PyModExport"))  # PEP 489, PEP 793
            is_module = any(content.find(hook) >= 0 for hook in hooks)
    if is_module:
        importlib.import_module(".".join((*file.parts[:-1], stem)))
    else:
        ctypes.CDLL(path)
def fault_after(imports, file):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            for name in imports:
                importlib.import_module(name)
            load(file)
            said = "loaded"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode(errors="replace")[:4000])
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as opened:
        said = opened.read().decode(errors="replace")
    os.waitpid(child, 0)
    return None if said == "loaded" else f"{file}: {said or 'it ends the process'}"
files = [file for file in importlib.metadata.distribution(sys.argv[1]).files or () if ".so" in file.suffixes]
faults = [fault_after([], file) and fault_after(sys.argv[2:], file) for file in files]
print(json.dumps([fault for fault in faults if fault]))
"""
"""Loads each in a process of its own: a variant for CPUs and one for GPUs register the same names. Some load only after
their package."""


def overwritten_files(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Find files that are also in the RECORD of another installed project."""
    if shared := evaluate(environment, list[str], _OVERWRITTEN, contents.name.project):
        yield Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {some_of(shared)}")


def uncompiled_modules(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Find source files that this Python cannot compile; some are for a later one, and some are templates."""
    if faults := evaluate(environment, list[str], _UNCOMPILED, contents.name.project):
        yield Finding(code=Code.SYNTAX, detail=some_of(faults))


def failed_imports(contents: Contents, environment: SmokeEnvironment, *, first: str = "") -> Iterator[Finding]:
    """Run the code `first` and import the modules of packages.yml in one process: many load only after torch."""
    modules = contents.expectations.imports
    try:
        imported = evaluate(environment, list[str], first + _IMPORT, *modules)
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail or error}")
        return
    if imported != list(modules):
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: it reports {imported}")


def failed_extensions(contents: Contents, environment: SmokeEnvironment, *, first: str = "") -> Iterator[Finding]:
    """Run the code `first` and load every library of a wheel, beside torch or after the imports of packages.yml."""
    if not contents.shared_objects:
        return
    try:
        names = (contents.name.project, *contents.expectations.imports)
        faults = evaluate(environment, list[str], first + _LOAD_TORCH + _LOAD, *names)
    except ProcessError as error:
        yield Finding(code=Code.EXTENSION, detail=f"its extension modules and libraries: {error.tail or error}")
        return
    if faults:
        yield Finding(code=Code.EXTENSION, detail=some_of(faults))


_DISTRIBUTIONS: Final = (
    "import importlib.metadata as m, json\n"
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}, sort_keys=True))"
)
_UNNAMED: Final = ("a GPU that nvidia-smi does not show",)


def try_in_environments(
    contents: Contents,
    python: PythonVersion | None,
    environments: SmokeEnvironments,
    index: CandidateIndex,
    *,
    requirements: Sequence[str],
    progress: Progress,
) -> tuple[CleanRoom | Finding, ...]:
    """Install a wheel that passed the rules on its bytes, and import it; a refusal is the last of the results.

    `python` is None if the environments have the version of the running interpreter. `requirements` pin the wheel and
    the wheels of the index that it requires.
    """
    outcome: list[CleanRoom | Finding] = []
    try:
        for entered in environments.of(contents, python, index, progress):
            with entered as environment:
                outcome += _try_in(contents, environment, requirements)
            if is_refused(outcome):
                break
    except (ProcessError, NetworkError, IntegrityError) as error:
        tail = error.tail if isinstance(error, ProcessError) else ""
        outcome.append(Finding(code=Code.ENVIRONMENT, detail=tail or str(error)))
    return tuple(outcome)


def is_refused(outcome: Iterable[CleanRoom | Finding]) -> bool:
    """True if a finding refuses the wheel."""
    return any(isinstance(each, Finding) and each.refuses for each in outcome)


def _try_in(
    contents: Contents, environment: SmokeEnvironment, requirements: Sequence[str]
) -> Iterator[CleanRoom | Finding]:
    if environment.torch:
        environment.install_torch(f"torch{environment.torch.pin}")
    absent = absent_libraries(contents, environment)
    first = code_before_import(contents, absent)
    script = contents.expectations.script
    gpus = (name_gpus() or _UNNAMED) if script and evaluate(environment, int, _GPUS) else ()
    where = "" if environment.place == THIS_MACHINE else f"in {environment.place}: "
    where += f"beside torch {environment.torch}: " if isinstance(contents.torch, StableTorch) else ""
    for step in _steps(contents, environment, requirements, first, script if gpus else None):
        findings = tuple(with_reasons(step, contents.expectations.allow))
        yield from (replace(each, detail=where + each.detail) if each.refuses else each for each in findings)
        if is_refused(findings):
            return
    stub = ", so modules were imported beside a stub of it" if first else ""
    skipped = (
        *(f"import: {name} is not part of wheels, and {environment.place} has none{stub}" for name in absent),
        *([f"smoke script: {environment.place} has no GPU"] if script and not gpus else []),
    )
    yield CleanRoom(
        place=environment.place,
        python=evaluate(environment, str, "import json, platform; print(json.dumps(platform.python_version()))"),
        installed=evaluate(environment, dict[str, str], _DISTRIBUTIONS),
        skipped=skipped,
        gpus=gpus,
    )


def _steps(
    contents: Contents,
    environment: SmokeEnvironment,
    requirements: Sequence[str],
    first: str | None,
    script: str | None,
) -> Iterator[Iterator[Finding]]:
    yield _wrong_torch(contents, environment)
    yield undefined_symbols(contents, environment, without_cuda=first != "")
    yield _failed_install(environment, requirements)
    yield overwritten_files(contents, environment)
    yield uncompiled_modules(contents, environment)
    if first is None:
        return
    yield failed_imports(contents, environment, first=first)
    yield failed_extensions(contents, environment, first=first)
    if script:
        yield _failed_script(environment, script)


def _wrong_torch(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    label = contents.name.label
    if label and environment.torch:
        cuda = evaluate(environment, str, "import json, torch; print(json.dumps(str(torch.version.cuda)))")
        if cuda != str(label.cuda):
            given = f"the package index gives torch {environment.torch} for CUDA {cuda}"
            yield Finding(code=Code.ENVIRONMENT, detail=f"{given}, so {label} cannot be tried")


def _failed_install(environment: SmokeEnvironment, requirements: Sequence[str]) -> Iterator[Finding]:
    before = evaluate(environment, dict[str, str], _DISTRIBUTIONS)
    try:
        environment.install(requirements)
    except ProcessError as error:
        yield Finding(code=Code.INSTALL, detail=error.tail)
        return
    after = evaluate(environment, dict[str, str], _DISTRIBUTIONS)
    if changed := sorted(project for project in before if after.get(project) != before[project]):
        yield Finding(code=Code.INSTALL, detail=f"installing it replaced {', '.join(changed)}")


def _failed_script(environment: SmokeEnvironment, script: str) -> Iterator[Finding]:
    try:
        environment.run(script)
    except ProcessError as error:
        yield Finding(code=Code.SCRIPT, detail=error.tail or str(error))
