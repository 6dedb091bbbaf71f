"""The modules of an installed wheel: whether they compile, can be imported, and overwrite files of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wheelmill.errors import ProcessError
from wheelmill.smoke.environment import SmokeEnvironment, evaluate
from wheelmill.smoke.evidence import Contents
from wheelmill.wheel.findings import Code, Finding, some_of

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
"""pip overwrites files of other distributions without a word."""

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
import ctypes, importlib, importlib.metadata, json, mmap, os, sys
try:
    import torch  # which loads the libraries that most extensions need
except ImportError:
    pass
def load(file):
    path, stem = str(file.locate()), file.name.partition(".")[0]
    with open(path, "rb") as opened:
        if opened.read(4) != b"\\x7fELF":
            return
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            is_module = content.find(f"PyInit_{stem}\\0".encode()) >= 0
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
    """Find files that another installed project has in its RECORD, too."""
    shared = evaluate(environment, list[str], _OVERWRITTEN, contents.name.project)
    if shared:
        yield Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {some_of(shared)}")


def uncompiled_modules(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Find source files that this Python cannot compile; some are for a later one, and some are templates."""
    faults = evaluate(environment, list[str], _UNCOMPILED, contents.name.project)
    if faults:
        yield Finding(code=Code.SYNTAX, detail=some_of(faults))


def failed_imports(contents: Contents, environment: SmokeEnvironment, *, first: str = "") -> Iterator[Finding]:
    """Import what packages.yml names in one process, in order: many extensions load only after torch.

    Args:
        contents: the opened wheel, which says what must be importable.
        environment: where it is installed.
        first: Python code that runs before.
    """
    modules = contents.expectations.imports
    try:
        imported = evaluate(environment, list[str], first + _IMPORT, *modules)
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail or error}")
        return
    if imported != list(modules):
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: it reports {imported}")


def failed_extensions(contents: Contents, environment: SmokeEnvironment, *, first: str = "") -> Iterator[Finding]:
    """Load every extension module and every other library in it, beside torch or after what packages.yml imports.

    Args:
        contents: the opened wheel.
        environment: where it is installed.
        first: Python code that runs before.
    """
    if not contents.shared_objects:
        return
    try:
        faults = evaluate(environment, list[str], first + _LOAD, contents.name.project, *contents.expectations.imports)
    except ProcessError as error:
        yield Finding(code=Code.EXTENSION, detail=f"its extension modules and libraries: {error.tail or error}")
        return
    if faults:
        yield Finding(code=Code.EXTENSION, detail=some_of(faults))
