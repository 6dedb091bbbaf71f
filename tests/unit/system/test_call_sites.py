"""Every call that starts a program, and whether it runs foreign code: a new one must be classified here.

Foreign are the code of a source, of a wheel and of what both require, and the bytes of wheels, sources and pages.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from tests.source_code import ROOT, modules

CONFINED = {
    "build/builder.py: _keep_search_paths_inside": "patchelf reads and writes libraries of the wheel",
    "build/compiler_cache.py: CompilerCache._ccache": "ccache reads a folder that builds write to",
    "build/compiler_cache.py: link_toolkit": "bash goes through a toolkit that was installed for the build",
    "build/local.py: build_raw_wheel.run": "hooks of a build backend",
    "build/local.py: repair_wheel": "auditwheel and patchelf read what the hooks made",
    "build/source.py: apply_patches": "patch reads and writes the source",
    "installers/environments.py: VirtualEnvironment.pip_install": "a dependency may have only a source distribution",
    "smoke/environment.py: LocalEnvironment.run": "the wheel is imported",
}
"""Foreign, and in the sandbox where this machine has one."""

CONTAINER = {
    "build/docker.py: run_cibuildwheel": "cibuildwheel starts the container of a build",
    "system/containers.py: docker": "what it starts is in a container",
    "system/containers.py: check_daemon": "Docker's own answer",
    "system/containers.py: _remove_abandoned": "Docker's own answer",
}
"""Docker's clients."""

INSTALLER = {
    "installers/environments.py: create": "uv makes an environment, empty or with pip",
    "installers/environments.py: PackageFolder._install": "uv unpacks wheels only",
    "installers/uv.py: run_own_uv": "uv resolves, or unpacks wheels only",
    "installers/uv.py: run_installer": "the user's own environment and installer",
    "installers/uv.py: _credentials_folder": "uv's own settings",
    "installers/index_settings.py: pip_configuration": "pip's own settings",
    "installers/package_index.py: _ask": "uv's own settings",
}
"""Programs of this machine that get foreign wheels, and run no code of theirs."""

OWN = {
    "build/local.py: _answer": "dpkg and rpm read their databases",
    "build/provenance.py: _describe_program": "this machine's compilers tell their versions",
    "client/install/import_test.py: _run": "the user's own environment, into which the user has installed the wheel",
    "client/project/script.py: UvScript.found_python": "uv finds the user's interpreter",
    "client/project/tools.py: HatchProject.environment": "the user's own project",
    "client/project/tools.py: PoetryProject.own_python": "the user's own project",
    "client/environment/detect.py: _declared_python": "the user's own project",
    "client/environment/interpreter.py: ask": "our code, in the interpreter that an environment was made with",
    "client/environment/detect.py: musl_of": "the loader of the user's own interpreter",
    "installers/environments.py: VirtualEnvironment.evaluate": "our code in an environment that is still empty",
    "system/git.py: run_git": "git in a checkout of the user",
    "system/git.py: _git": "git fetches and lists, with settings of ours alone and no hooks",
    "system/hardware.py: _nvidia_smi": "the driver's own program",
    "web/credentials.py: _password_in_keyring": "the user's own program",
    "web/credentials.py: _token_of_gh": "the user's own program",
    "wheel/libraries.py: compile_stub": "this machine's compiler reads code that we wrote",
}
"""Programs of this machine or of the user's choice that get nothing foreign."""

DOOR = {
    "system/sandbox.py: Sandbox.run": "the sandbox itself",
    "system/sandbox.py: _leaks": "its own test, in the sandbox",
    "system/process.py: _start": "where every program is started",
}


def sites() -> Iterator[tuple[str, str]]:
    """Each call that starts a program: the function that it is in, and what it calls."""
    for path, module in modules().items():
        for where, called in calls_in(module, ()):
            name = called.rpartition(".")[2]
            is_sandbox = name == "run" and "sandbox" in called.lower()
            if called in ("process.run", "subprocess.Popen", "subprocess.run") or is_sandbox:
                yield f"{path.relative_to(ROOT).as_posix()}: {'.'.join(where)}", called


def calls_in(node: ast.AST, where: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield where, ast.unparse(child.func)
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield from calls_in(child, (*where, name))
            case _:
                yield from calls_in(child, where)


def test_every_call_that_starts_a_program_is_classified_once() -> None:
    classified = Counter(site for sites in (CONFINED, CONTAINER, INSTALLER, OWN, DOOR) for site in sites)
    assert Counter(site for site, _ in sites()) == classified


def test_what_is_foreign_goes_through_the_sandbox() -> None:
    confined = {site for site, called in sites() if called not in ("process.run", "subprocess.Popen", "subprocess.run")}
    assert confined == set(CONFINED)


def test_programs_are_started_through_one_door() -> None:
    """A function of another name, or one that takes `run` by itself, would not be seen above."""
    taken = [
        (path.name, alias.name)
        for path, module in modules().items()
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module in ("subprocess", "wheelmill.system.process")
        for alias in node.names
        if alias.name in ("run", "Popen", "check_output", "check_call", "call")
    ]
    assert taken == []
