"""Options that several commands share, each group a dataclass that is one parameter of a command."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_type_hints

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wheelmill.cli.shared.commands import say
from wheelmill.client.environment.detect import (
    ENVIRONMENTS,
    NamedTorch,
    Overrides,
    active_environment,
    detect_environment,
    python_in,
    python_of,
)
from wheelmill.client.environment.interpreter import check_interpreter, check_trusted
from wheelmill.client.project.find import find_project, project_unread
from wheelmill.client.records import TargetEnvironment
from wheelmill.config.fields import is_commit
from wheelmill.errors import ProcessError, UsageError
from wheelmill.names import (
    RUN_NUMBER,
    TORCH,
    CudaVersion,
    Platform,
    ProjectName,
    PythonVersion,
    bounded,
    project_name,
    read_requirement,
)
from wheelmill.wheel.attestation import Signer
from wheelmill.wheel.gpu_code import read_gpu
from wheelmill.wheel.platforms import PLATFORMS, Libc

if TYPE_CHECKING:
    from wheelmill.client.project.tool_project import Project

CONFIG_VARIABLE: Final = "WHEELMILL_CONFIG"
"""Names the configuration folder where no option does."""

_MOST: Final = 1e6
"""Largest number of minutes, gigabytes or requests a second; ``nan`` and ``inf`` are not below it either."""

Result = TypeVar("Result")


def of_a_size(value: float | None) -> float | None:
    """Refuse a number above the maximum."""
    if value is None or value <= _MOST:
        return value
    raise typer.BadParameter(f"expected a number up to {_MOST:,.0f}, not {value}.")


def of_a_run(value: str | None) -> str | None:
    """Refuse a run that is no number."""
    if value and not RUN_NUMBER.fullmatch(value):
        raise UsageError("run-invalid", f"--run: expected the number of a run, not {value!r}")
    return value


def attestation_option(variable: str | None = None) -> Any:  # noqa: ANN401 - as typer.Option itself
    """Make the option that requires attestations; `variable` is its environment variable."""
    return typer.Option(
        "--require-attestation",
        help="Take only wheels that this repository's own workflow attested, on this branch (main by default). For a "
        "package that calls package.yml: its repository, a colon, and the repository of the workflow, whose releases "
        "count; behind an @, commits of it that do, too, or a file that lists them.",
        metavar="OWNER/REPO[@BRANCH]",
        envvar=variable,
    )


ProjectsArgument = Annotated[list[str] | None, typer.Argument(help="Packages; all by default.", metavar="[PROJECT...]")]
SignerOption = Annotated[str | None, attestation_option()]


def signer_of(option: str | None) -> Signer | None:
    """Parse the signer whose attestations are required, also with a file of commits."""
    if not option:
        return None
    repositories, at, ref = option.partition("@")
    try:
        if ":" in repositories:
            ref = ",".join(commit for word in ref.split(",") for commit in _commits_in(word))
        return Signer.parse(f"{repositories}{at}{ref}")
    except (OSError, ValueError) as error:
        raise UsageError("signer-invalid", f"--require-attestation: {error}") from None


def _commits_in(word: str) -> list[str]:
    """Return a commit itself, or those that a file lists, with comments behind ``#``."""
    if is_commit(word) or not Path(word).is_file():
        return [word]
    lines = Path(word).read_text(encoding="utf-8").splitlines()
    return [commit for line in lines for commit in line.partition("#")[0].split()]


def with_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Spread every parameter that is a dataclass into an option for each of its fields, annotated as for typer."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    parameters = inspect.signature(command).parameters
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    spread = []
    for name, parameter in parameters.items():
        if name not in groups:
            spread.append(parameter.replace(annotation=hints[name]))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        spread += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def spread_command(**values: Any) -> Result:  # noqa: ANN401 - whatever the options are
        made: dict[str, Any] = {}
        for name, group in groups.items():
            own = {field.name for field in fields(group)}
            made[name] = group(**{key: values.pop(key) for key in own})  # type: ignore[operator]  # a dataclass type
        return command(**values, **made)

    spread_command.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    spread_command.__annotations__ = {parameter.name: parameter.annotation for parameter in spread}
    return spread_command


Value = TypeVar("Value")


def _option(name: str, text: str, metavar: str, callback: Callable[..., object] | None = None) -> object:
    panel = "Target, detected where not given"
    return typer.Option(name, help=text, metavar=metavar, callback=callback, rich_help_panel=panel)


def _interpreter_at(path: Path | None) -> Path | None:
    if path is None or not path.is_dir():
        return path
    if python := python_in(path):
        return python
    raise UsageError(
        "not-an-environment",
        f"--python-path: {path} is not an environment: it has no bin/python",
        hint="make one with 'uv venv', or name a file",
    )


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """Target of wheels: an interpreter, and facts that replace detected ones."""

    python_path: Annotated[
        Path | None,
        _option(
            "--python-path",
            "Interpreter, or the folder of its environment; the project's by default.",
            "PATH",
            callback=_interpreter_at,
        ),
    ] = None
    python: Annotated[str | None, _option("--python", "Python: 3.12, 3.13t.", "X")] = None
    torch: Annotated[str | None, _option("--torch", "torch: 2.11, or its full version, 2.11.0+cu130.", "X")] = None
    cuda: Annotated[str | None, _option("--cuda", "CUDA: 13.0, 130 or cu130; 13 for any 13.x.", "X")] = None
    platform: Annotated[str | None, _option("--platform", "Platform: linux_x86_64, win_amd64.", "X")] = None
    libc: Annotated[str | None, _option("--libc", "C library: 2.28, 'musl 1.2'.", "X")] = None
    cxx11_abi: Annotated[str | None, _option("--cxx11-abi", "C++11 ABI of torch: true or false.", "X")] = None
    driver: Annotated[str | None, _option("--driver", "NVIDIA driver: 580.65.06.", "X")] = None
    gpu: Annotated[
        list[str] | None,
        _option("--gpu", "GPU: h100, 'rtx 4090', 9.0 or sm_90. Repeatable, commas allowed.", "X"),
    ] = None

    def overrides(self) -> Overrides:
        """Read the facts that were given."""
        return Overrides(
            python=_read("--python", self.python, PythonVersion.parse),
            platform=_read("--platform", self.platform, _platform),
            libc=_read("--libc", self.libc, Libc.parse),
            torch=_read("--torch", self.torch, NamedTorch.parse),
            cuda=_read("--cuda", self.cuda, _cuda),
            cxx11_abi=_read("--cxx11-abi", self.cxx11_abi, _truth),
            driver=_read("--driver", self.driver, _driver),
            gpus=tuple(
                architecture
                for text in self.gpu or ()
                for word in text.split(",")
                if (architecture := _read("--gpu", word.strip() or None, read_gpu))
            ),
        )

    def here(self, project: Project | None = None) -> TargetOptions:
        """Return the options with the interpreter of a project, unless one is named or could add nothing."""
        if self.python_path or self.overrides().is_complete:
            return self
        return replace(self, python_path=(project or project_here()).find_python())

    def detect_for_project(self) -> TargetEnvironment:
        """Detect the target that `add` has here: with the torch that the nearest project declares."""
        environment = self.here().detect()
        try:
            return with_declared_torch(environment, find_project(None), self.overrides(), asks_torch=False)
        except (UsageError, OSError):  # `add` names the fault of the file
            return environment

    def detect(self) -> TargetEnvironment:
        """Detect the facts that were not given."""
        return detect_environment(self.python_path, self.overrides())


def with_declared_torch(
    environment: TargetEnvironment, project: Project, given: Overrides, *, asks_torch: bool
) -> TargetEnvironment:
    """Replace the installed torch and CUDA by those that a project declares, unless options or requests name others."""
    from wheelmill.client.project.change import find_declared_cuda, range_of
    from wheelmill.client.project.declared import torch_indexes

    torches = [each for each in project.requirements if canonicalize_name(each.name) == TORCH]
    wanted = [range_of(each) for each in torches if environment.meets(each.marker)]
    is_named = bool(given.torch) or asks_torch
    if wanted and not is_named:
        environment = environment.with_torch_in(functools.reduce(operator.and_, wanted))
    cuda = find_declared_cuda(torches, torch_indexes(project.sources))
    if cuda in (None, environment.cuda) or given.names_cuda:
        return environment
    built = replace(environment, cpu_only=False, cxx11_abi=None, torch_release=None)
    return replace(built, cuda=None, preferred_cuda=cuda) if is_named else replace(built, cuda=cuda)


def requirements_of(texts: Sequence[str]) -> list[Requirement]:
    """Read requirements such as ``flash-attn>=2.7,<3``; two for one project become one."""
    requirements: dict[str, Requirement] = {}
    for text in texts:
        try:
            asked = read_requirement(text)
        except ValueError as error:
            raise UsageError("requirement-invalid", str(error)) from None
        if asked.url or asked.marker:
            raise UsageError(
                "requirement-invalid",
                f"expected a name and a range such as 'flash-attn>=2.7', without a URL or a marker, not {text!r}",
            )
        name = canonicalize_name(asked.name)
        if name in requirements:
            requirements[name].specifier &= asked.specifier
        else:
            requirements[name] = asked
    return list(requirements.values())


def projects_of(texts: Iterable[str], place: str = "") -> list[ProjectName]:
    """Read names of projects, each once; `place` is the beginning of the error."""
    try:
        return list(dict.fromkeys(map(project_name, texts)))
    except ValueError as error:
        raise UsageError("project-name-invalid", f"{place}{error}") from None


def check_project(project: Project) -> None:
    """Refuse to run the tool or the interpreter of a project that others may change; an active one was chosen."""
    active, environments = active_environment(), [project.root / name for name in ENVIRONMENTS]
    checks = [(project.path, check_trusted)]
    for environment in environments:
        checks += [(environment / "pyvenv.cfg", check_trusted), (python_of(environment), check_interpreter)]
    for path, check in checks:
        if active is None or not path.is_relative_to(active):
            check(path)


def project_here(given: Path | None = None, *, changes: bool = False) -> Project:
    """Find the named or the nearest project; of an unreadable one, only the folder and its environment are known."""
    try:
        project = find_project(given)
        _ = project.environment  # which its tool may have to be asked for
    except (UsageError, ProcessError) as error:
        if given:
            raise
        if error.code != "project-unsupported":
            say(f"note: {error}")
        project = project_unread(Path.cwd())
    if changes:
        check_project(project)
    return project


def _read(option: str, text: str | None, parse: Callable[[str], Value]) -> Value | None:
    if text is None:
        return None
    try:
        return parse(bounded(text))
    except ValueError as error:
        raise UsageError("value-invalid", f"{option}: {error}") from None


def _cuda(text: str) -> CudaVersion | int:
    """Read a release, or a major one: ``12``."""
    digits = text.strip().removeprefix("cu")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) == 2 else CudaVersion.parse(text)  # noqa: PLR2004


def _platform(text: str) -> Platform:
    if (platform := next((each for each in PLATFORMS if str(each) == text), None)) is None:
        raise ValueError(f"expected one of {', '.join(sorted(map(str, PLATFORMS)))}, not {text!r}")
    return platform


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"expected true or false, not {text!r}")
    return text.lower() == "true"


def _driver(text: str) -> str:
    if not all(part.isascii() and part.isdigit() for part in text.split(".")):  # a branch alone is its oldest driver
        raise ValueError(f"expected a driver version such as 580.65.06, not {text!r}")
    return text
