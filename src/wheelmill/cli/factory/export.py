"""``wheelmill export``: wheels in the forms of other places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wheelmill.cli.shared.commands import say, say_warning
from wheelmill.errors import FindingsError, UsageError, WheelmillError
from wheelmill.system.process import printable

app = typer.Typer(no_args_is_help=True, help="Lay wheels out for other places.")


@app.callback()
def _export() -> None:
    """Make typer ask for a command also while there is only one."""


@app.command()
def kernels(
    wheels: Annotated[list[Path], typer.Argument(help="Wheel files.", metavar="WHEEL...", exists=True, dir_okay=False)],
    *,
    output: Annotated[
        Path,
        typer.Option(help="Folder to write to: its folder build gets one for each wheel.", metavar="DIR"),
    ],
    kernel_version: Annotated[int, typer.Option(help="Version of the kernel on the Hub.", metavar="N", min=1)] = 1,
    module: Annotated[
        str | None, typer.Option(help="The module to import, where a wheel has several.", metavar="NAME")
    ] = None,
) -> None:
    """Lay out wheels for torch's stable ABI as Hugging Face's kernels loads them.

    Prints the folders. Exits with 9 where a wheel is refused; nothing is written then.
    """
    from wheelmill.hosting.kernels import kernel_of, write_kernels  # needs the factory extra

    found, refused = [], []
    for wheel in wheels:
        try:
            found.append(kernel_of(wheel, version=kernel_version, module=module))
        except WheelmillError as error:
            say(f"{wheel.name}: {error.explained}")
            refused.append(wheel.name)
    if refused:
        raise FindingsError("wheels-refused", f"refused: {', '.join(refused)}")
    if len(projects := {kernel.contents.name.project for kernel in found}) > 1:
        raise UsageError("one-project-only", f"expected wheels of one project, not of {', '.join(sorted(projects))}")
    for kernel in found:
        if kernel.unmet:
            needs = ", ".join(kernel.unmet)
            say_warning(f"{kernel.contents.file.filename} needs {needs}, which kernels does not install")
    for folder in write_kernels(found, output):
        typer.echo(printable(str(folder)))
