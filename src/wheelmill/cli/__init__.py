"""The command line: the only place that catches errors and exits."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Final, NoReturn

import typer

from wheelmill.cli.client.command import ClientCommand
from wheelmill.cli.shared.commands import Command, Commands, exit_on_broken_pipe, say
from wheelmill.errors import ConfigurationError, UsageError, WheelmillError

COMMANDS: Final = {
    "environment": ("client.environment", "Show the detected target: Python, torch, CUDA, driver, GPUs."),
    "resolve": ("client.resolve", "Choose wheels for a target and print a pyproject.toml with them."),
    "search": ("client.resolve", "List the sources of wheels."),
    "available": ("client.explain", "List the CUDA, torch and Python releases that packages have wheels for."),
    "explain": ("client.explain", "Show the nearest wheels of a package, with every reason against them."),
    "show": ("client.show", "Show the content and the metadata of a wheel, without running it."),
    "add": ("client.add", "Add wheels to a project: to its pyproject.toml, lock and environment."),
    "remove": ("client.add", "Remove packages from a project and its environment."),
    "update": ("client.add", "Choose a project's wheels again, within its requirements."),
    "lock": ("client.lock", "Lock the whole content of environments in pylock.toml (PEP 751)."),
    "install": ("client.install", "Install wheels, or the content of a lock, into an environment."),
    "sync": ("client.install", "Make an environment match a lock exactly."),
    "list": ("client.list_and_test", "List installed wheels and what they were built for."),
    "test": ("client.list_and_test", "Import installed wheels, and launch kernels where there is a GPU."),
    "doctor": ("client.doctor", "Check an environment, its project and its lock, and fix what is wrong."),
    "cache": ("client.environment", "Show and clean the cache of pages and downloads."),
    "config": ("factory.config", "Check, lock and update the configuration of a factory."),
    "init": ("factory.config_add", "Write the files that let a package's own repository build its wheels."),
    "plan": ("factory.plan", "List the wheels to build, and why the others are skipped."),
    "build": ("factory.run", "Build a package's wheels, without testing them."),
    "smoke": ("factory.smoke", "Test wheels: check their bytes, then install and import them."),
    "release": ("factory.release", "Publish the wheels of a folder under a new date tag."),
    "index": ("factory.index", "Generate, serve and check static package indexes."),
    "export": ("factory.hosting", "Export wheels for other hosts: Hugging Face's Hub."),
    "run": ("factory.run", "Plan, build, smoke, release and index."),
    "github": ("factory.hosting", "Check the settings of a factory's repository."),
    "summary": ("factory.summary", "Summarise a run of many jobs."),
}
"""The module of each command, with a function or an application of its name or ``app``, and its line of help."""

HEADINGS: Final = {"client": "Use wheels", "factory": "Make wheels"}
"""Headings in help above the commands of each folder."""

_HELP: Final = """Build, test and serve CUDA wheels, and find the one that fits a machine.

In a project, 'wheelmill add flash-attn' chooses, pins and installs a wheel; 'wheelmill explain flash-attn' says why it
is this one, or why none fits.
"""

_PROGRAM: Final = "wheelmill"
"""The name of the program in a shell, however it was started."""

_REFUSED: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
    | {errno.ELOOP, errno.ENAMETOOLONG}
)
"""Errors of a full disk, a protected folder, a path that cannot be; any other OSError is a bug of ours."""

_MANY: Final = 100_000
"""Allocations before a garbage collection: imports and pages make many objects, and hardly any garbage."""


class _Root(Commands):
    headings: ClassVar = {name: HEADINGS[module.partition(".")[0]] for name, (module, _) in COMMANDS.items()}


def application(words: Sequence[str]) -> typer.Typer:
    """Make the application for one command line: only the command that it names is imported."""
    app = typer.Typer(
        cls=_Root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help=_HELP,
    )
    app.callback(invoke_without_command=True)(_root)
    named = next((word for word in words if not word.startswith("-")), None)
    for name, (module_name, text) in COMMANDS.items():
        if name != named:
            app.command(name, short_help=text)(_not_named)
            continue
        module = importlib.import_module(f"wheelmill.cli.{module_name}")
        command = getattr(module, name, None) or module.app
        kind = ClientCommand if module_name.startswith("client.") else Command
        if isinstance(command, typer.Typer):
            for registered in command.registered_commands:
                registered.cls = kind
            own = command.info.cls
            app.add_typer(command, name=name, cls=own if isinstance(own, type) else Commands)
        else:
            app.command(name, cls=kind)(command)
    return app


def _not_named() -> None:
    """Represent a command in the list of commands without importing it."""


def _root(
    *, show_version: Annotated[bool, typer.Option("-V", "--version", help="Print the version and exit.")] = False
) -> None:
    if show_version:
        from importlib.metadata import version

        typer.echo(version("wheelmill"))
        raise typer.Exit


def main(command: Callable[[], object] | None = None) -> None:
    """Run the command that was typed, or a script's own, and end the process with its exit code."""
    gc.set_threshold(_MANY)
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may have letters that the encoding here lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    endings = [signal.SIGTERM]
    if sys.platform == "win32":
        os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"  # else a uv.exe of the project would be run
    else:
        endings.append(signal.SIGHUP)
    for ending in endings:
        if signal.getsignal(ending) is not signal.SIG_IGN:  # nohup
            signal.signal(ending, _terminate)
    with exit_on_broken_pipe():
        _run(command or (lambda: application(_words())(prog_name=_PROGRAM)))


def _open_closed_streams() -> None:
    """Open closed standard streams on the null device; else the next file would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end


def _run(command: Callable[[], object]) -> None:
    try:
        command()
    except WheelmillError as error:
        _exit(error)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == _PROGRAM:  # ours is there
            raise
        from wheelmill.system.own_installation import own_origin

        missing = f"this command needs {error.name}, which the client alone does not have"
        hint = f"pip install 'wheelmill[factory]{own_origin()}'"
        _exit(UsageError("factory-not-installed", missing, hint=hint))
    except OSError as error:
        if _is_started_nowhere():
            removed = "the folder that this was started in was removed"
            _exit(UsageError("working-folder-removed", removed, hint="go to one that is there"))
        if error.errno not in _REFUSED:
            raise
        _exit(UsageError("file-failed", ": ".join(map(str, filter(None, (error.filename, error.strerror))))))
    except KeyboardInterrupt:  # before there was a command to interrupt, or of a script
        sys.exit(128 + signal.SIGINT)


def _is_started_nowhere() -> bool:
    """Return True if the working directory was removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _words() -> list[str]:
    """Return the words of the command line, or of the one that a shell completes."""
    if f"_{_PROGRAM.upper()}_COMPLETE" not in os.environ:
        return sys.argv[1:]
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # bash, or another shell
    return typed.split()[1:]


def _terminate(number: int, _frame: object) -> NoReturn:
    """End as on an interruption, so that all programs and containers of the command end, too."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _exit(error: WheelmillError) -> NoReturn:
    text = str(error) if isinstance(error, ConfigurationError) else f"error: {error.explained}"
    say(text, essential=True)
    sys.exit(error.exit_code)
