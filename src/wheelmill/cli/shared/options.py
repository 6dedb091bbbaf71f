"""Options that belong together: written once, as a dataclass that is one parameter of a command."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Final, TypeVar, get_type_hints

import typer

from wheelmill.errors import UsageError
from wheelmill.wheel.attestation import Signer

CONFIG_VARIABLE: Final = "WHEELMILL_CONFIG"
"""Names the configuration folder where no option does."""

_MOST: Final = 1e6
"""Of minutes, gigabytes or requests a second; ``nan`` and ``inf`` are not below it either."""

Result = TypeVar("Result")


def of_a_size(value: float | None) -> float | None:
    """Refuse a number that no machine counts up to.

    Raises:
        BadParameter: it is one.
    """
    if value is None or value <= _MOST:
        return value
    raise typer.BadParameter(f"expected a number up to {_MOST:,.0f}, not {value}.")


def attestation_option(variable: str | None = None) -> Any:  # noqa: ANN401 - as typer.Option itself
    """The option that says whose attestations are required; the factory's jobs name it in a variable, too."""
    return typer.Option(
        "--require-attestation",
        help="Take only wheels that this repository's own workflow attested, on this branch (main by default). For a "
        "package that calls package.yml: its repository, a colon, and the repository of the workflow.",
        metavar="OWNER/REPO[@BRANCH]",
        envvar=variable,
    )


SignerOption = Annotated[str | None, attestation_option()]


def signer_of(option: str | None) -> Signer | None:
    """Read whose attestations are required.

    Raises:
        UsageError: it is no repository.
    """
    try:
        return Signer.parse(option) if option else None
    except ValueError as error:
        raise UsageError("signer-invalid", f"--require-attestation: {error}") from None


def with_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Spread every parameter that is a dataclass into one option for each of its fields.

    The fields are annotated the way that typer's parameters are, and have defaults.
    """
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
