"""The command line: the only place that catches errors and exits."""

from __future__ import annotations

import signal
import sys
from importlib.metadata import version
from typing import Annotated, Final, NoReturn

import typer

from wheelmill.cli import (
    available,
    build,
    config,
    environment,
    explain,
    index,
    plan,
    release,
    resolve,
    run,
    search,
    smoke,
    summary,
)
from wheelmill.cli.terminal import STDERR
from wheelmill.errors import ConfigurationError, UsageError, WheelmillError

app: Final = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    help="Makes tested CUDA wheels from packages.yml and serves them from a static package index.",
)
app.add_typer(config.app, name="config")
app.add_typer(index.app, name="index")
app.command("plan")(plan.plan)
app.command("build")(build.build)
app.command("smoke")(smoke.smoke)
app.command("release")(release.release)
app.command("run")(run.run)
app.command("summary")(summary.summary)
app.command("environment")(environment.environment)
app.command("resolve")(resolve.resolve)
app.command("search")(search.search)
app.command("available")(available.available)
app.command("explain")(explain.explain)

_FACTORY_MODULES: Final = frozenset({"auditwheel", "build", "github", "jinja2", "pypi_simple", "requests", "uv"})


@app.callback(invoke_without_command=True)
def _root(
    *, show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False
) -> None:
    if show_version:
        typer.echo(version("wheelmill"))
        raise typer.Exit


def main() -> None:
    """Run the command and end the process with its exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app()
    except ConfigurationError as error:
        _exit(error, str(error))
    except WheelmillError as error:
        _exit(error, f"error: {error.explained}")
    except ModuleNotFoundError as error:
        if error.name not in _FACTORY_MODULES:
            raise
        missing = UsageError(f"this command needs {error.name}", hint="pip install 'wheelmill[factory]'")
        _exit(missing, f"error: {missing.explained}")


def _terminate(number: int, _frame: object) -> NoReturn:
    """End the way an interruption does: what runs for this command, containers too, ends with it."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _exit(error: WheelmillError, text: str) -> NoReturn:
    STDERR.print(text, markup=False)
    sys.exit(error.exit_code)
