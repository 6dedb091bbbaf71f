"""Installing a wheel as a user would, with the torch that it names, and importing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from wheelmill.errors import IntegrityError, NetworkError, ProcessError
from wheelmill.names import PythonVersion, StableTorch
from wheelmill.smoke.environment import CandidateIndex, SmokeEnvironment, SmokeEnvironments, evaluate
from wheelmill.smoke.evidence import Contents
from wheelmill.smoke.machine import absent_libraries, code_before_import, gpus_in, undefined_symbols
from wheelmill.smoke.modules import failed_extensions, failed_imports, overwritten_files, uncompiled_modules
from wheelmill.smoke.verdict import THIS_MACHINE, CleanRoom
from wheelmill.system.hardware import name_gpus
from wheelmill.system.progress import Progress
from wheelmill.wheel.findings import Code, Finding, with_reasons

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
    """Install a wheel that passed the rules on its bytes, and import it.

    Args:
        contents: the opened wheel, with its evidence.
        python: the interpreter to try it on; None takes the version of the running one.
        environments: makes clean environments, on this machine or in containers.
        index: the throw-away index that has the wheel.
        requirements: exact ones, on it and on the wheels of that index that it requires.
        progress: shows the steps that take long.

    Returns:
        The environments that it was imported in, and what was found there; a finding that refuses it is the last.

    Raises:
        UsageError: this machine lacks what the environments need.
    """
    outcome: list[CleanRoom | Finding] = []
    try:
        for entered in environments.of(contents, python, index, progress):
            with entered as environment:
                outcome += _try_in(contents, environment, requirements)
            if is_refused(outcome):
                break
    except ProcessError as error:
        outcome.append(Finding(code=Code.ENVIRONMENT, detail=error.tail or str(error)))
    except (NetworkError, IntegrityError) as error:
        outcome.append(Finding(code=Code.ENVIRONMENT, detail=str(error)))
    return tuple(outcome)


def is_refused(outcome: Iterable[CleanRoom | Finding]) -> bool:
    """Whether something was found that refuses the wheel."""
    return any(isinstance(each, Finding) and each.refuses for each in outcome)


def _try_in(
    contents: Contents, environment: SmokeEnvironment, requirements: Sequence[str]
) -> Iterator[CleanRoom | Finding]:
    if environment.torch:
        environment.install_torch(f"torch{environment.torch.pin}")
    absent = absent_libraries(contents, environment)
    first = code_before_import(contents, absent)
    script = contents.expectations.script
    gpus = (name_gpus() or _UNNAMED) if script and gpus_in(environment) else ()
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
    version = evaluate(environment, str, "import json, platform; print(json.dumps(platform.python_version()))")
    yield CleanRoom(
        place=environment.place,
        python=version,
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
    yield _failed_script(script, environment)


def _wrong_torch(contents: Contents, environment: SmokeEnvironment) -> Iterator[Finding]:
    label = contents.name.label
    if label and environment.torch:
        cuda = evaluate(environment, str, "import json, torch; print(json.dumps(str(torch.version.cuda)))")
        if cuda != str(label.cuda):
            yield Finding(
                code=Code.ENVIRONMENT,
                detail=f"the package index gives torch {environment.torch} for CUDA {cuda}, so {label} cannot be tried",
            )


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


def _failed_script(script: str | None, environment: SmokeEnvironment) -> Iterator[Finding]:
    if script is None:
        return
    try:
        environment.run(script)
    except ProcessError as error:
        yield Finding(code=Code.SCRIPT, detail=error.tail or str(error))
