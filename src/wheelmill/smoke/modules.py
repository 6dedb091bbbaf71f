"""The modules of an installed wheel: whether they compile, whether they can be imported, and what they call theirs."""

from __future__ import annotations

import json
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
"""Runs nothing of them."""

_IMPORT: Final = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps(sys.argv[1:]))
"""
"""Reports back: a module that ends the process with exit code 0 was not imported."""

_LOAD: Final = """
import ctypes, importlib, importlib.metadata, json, sys
project, imports, modules, libraries = json.loads(sys.argv[1])
for name in imports:
    importlib.import_module(name)
where = importlib.metadata.distribution(project).locate_file
faults = []
def load(name, function, argument):
    print("loading", name, file=sys.stderr, flush=True)  # the last words, where it ends the process
    try:
        function(argument)
    except BaseException as error:
        faults.append(f"{name}: {type(error).__name__}: {error}")
for name in modules:
    load(name, importlib.import_module, name)
for name in libraries:
    load(name, ctypes.CDLL, str(where(name)))
print(json.dumps(faults))
"""


def overwritten_files(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Find files that another installed project calls its own, too."""
    shared = evaluate(environment, list[str], _OVERWRITTEN, contents.name.project)
    if shared:
        yield Finding(code=Code.FOREIGN_FILES, detail=f"it overwrites {some_of(shared)}")


def uncompiled_modules(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Find source files that this Python cannot compile; some are for a later one, and some are templates."""
    faults = evaluate(environment, list[str], _UNCOMPILED, contents.name.project)
    if faults:
        yield Finding(code=Code.SYNTAX, detail=some_of(faults))


def failed_imports(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Import what packages.yml names in one process, in order: many extensions load only after torch."""
    modules = contents.expectations.imports
    try:
        imported = evaluate(environment, list[str], _IMPORT, *modules)
    except ProcessError as error:
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: {error.tail or error}")
        return
    if imported != list(modules):
        yield Finding(code=Code.IMPORT, detail=f"import {', '.join(modules)}: it reports {imported}")


def failed_extensions(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    """Load every extension module and every other library in it, after what packages.yml says is imported."""
    modules, libraries = _loadable(contents)
    if not (modules or libraries):
        return
    task = json.dumps([contents.name.project, contents.expectations.imports, modules, libraries])
    try:
        faults = evaluate(environment, list[str], _LOAD, task)
    except ProcessError as error:
        yield Finding(code=Code.EXTENSION, detail=f"it ends the process: {error.tail}\n{error}")
        return
    if faults:
        yield Finding(code=Code.EXTENSION, detail=some_of(faults))


def _loadable(contents: Contents) -> tuple[list[str], list[str]]:
    """The names of the extension modules, and the paths of the other libraries."""
    paths = {file.member: file.path for file in contents.installed if file.place == "library"}
    modules, libraries = [], []
    for so in contents.shared_objects:
        path = paths.get(so.name)
        if path is None or so.machine is None or ".so" not in path.suffixes:
            continue
        stem = path.name.partition(".")[0]
        if stem in so.initializers:
            modules.append(".".join((*path.parts[:-1], stem)))
        else:
            libraries.append(str(path))
    return sorted(set(modules)), sorted(libraries)
