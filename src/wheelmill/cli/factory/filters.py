"""Options for the combinations that a command is about."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar, get_args

import typer

from wheelmill.config.model import Topic
from wheelmill.errors import UsageError
from wheelmill.names import CudaVersion, Platform, PythonVersion, TorchVersion, project_name, project_version
from wheelmill.plan.targets import Channel, Filters

Value = TypeVar("Value")
Texts = list[str] | None

_TOPICS: Final[Mapping[str, Topic]] = {topic: topic for topic in get_args(Topic)}
_LISTS: Final = ("tag", "version", "python", "cuda", "torch", "platform")


def _list_option(name: str, text: str) -> object:
    return typer.Option(name, help=f"{text} Repeatable, commas allowed.", metavar="X")


@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """The axes of the matrix; what is not given is not narrowed."""

    tag: Annotated[Texts, _list_option("--tag", "What packages are for: attention, graph.")] = None
    version: Annotated[Texts, _list_option("--version", "Upstream versions.")] = None
    python: Annotated[Texts, _list_option("--python", "Pythons: 3.12, 3.13t.")] = None
    cuda: Annotated[Texts, _list_option("--cuda", "CUDA releases: 13.0, cu130.")] = None
    torch: Annotated[Texts, _list_option("--torch", "torch minor releases and candidates: 2.11, 2.16rc1.")] = None
    channel: Annotated[
        Channel, typer.Option("--channel", help="rc takes release candidates of torch, where --torch names none.")
    ] = Channel.STABLE
    platform: Annotated[Texts, _list_option("--platform", "Platforms: linux_x86_64.")] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Build again what was published, passed or failed before.",
            envvar="WHEELMILL_FORCE",
        ),
    ] = False

    def of(self, projects: Sequence[str]) -> Filters:
        """Read the options."""
        return Filters(
            projects=read_values("project", projects, project_name),
            tags=read_values("--tag", self.tag, _topic),
            versions=read_values("--version", self.version, project_version),
            pythons=read_values("--python", self.python, PythonVersion.parse),
            cudas=read_values("--cuda", self.cuda, CudaVersion.parse),
            torches=read_values("--torch", self.torch, TorchVersion.parse),
            channel=self.channel,
            platforms=read_values("--platform", self.platform, Platform.parse),
            force=self.force,
        )

    def texts(self, projects: Sequence[str]) -> dict[str, str]:
        """Return the given texts by option, so that a later run can be given the same."""
        lists = {"project": projects} | {name: getattr(self, name) for name in _LISTS}
        given = {name: ",".join(values) for name, values in lists.items() if values}
        return given | {"channel": self.channel.value} | ({"force": "true"} if self.force else {})

    @staticmethod
    def of_texts(texts: Mapping[str, str]) -> Filters:
        """Read what `texts` kept."""
        lists = {name: [texts[name]] for name in _LISTS if name in texts}
        options = FilterOptions(**lists, channel=Channel(texts.get("channel", "stable")), force="force" in texts)
        return options.of([texts.get("project", "")])

    def for_this_machine(self, projects: Sequence[str]) -> Filters:
        """Read the options, narrowed to what can be built here; no torch means the newest for each CUDA."""
        filters = self.of(projects)
        own = Platform("linux", platform.machine())
        if foreign := [name for name in filters.platforms if name != own]:
            raise UsageError(
                "platform-foreign", f"--platform: this machine builds for {own}, not for {', '.join(map(str, foreign))}"
            )
        return replace(filters, platforms=(own,), newest_torch=True)


def _topic(text: str) -> Topic:
    if topic := _TOPICS.get(text):
        return topic
    raise ValueError(f"expected one of {', '.join(_TOPICS)}, not {text!r}")


def read_values(option: str, texts: Sequence[str] | None, parse: Callable[[str], Value]) -> tuple[Value, ...]:
    """Read the values of an option that may be repeated and may hold commas, each once.

    Args:
        option: the option, as an error names it.
        texts: every time that it was given; an empty text, as jobs have for inputs that nobody gave, is no value.
        parse: reads one value; raises a ValueError that says what was expected.
    """
    given = [text for text in texts or () if text]
    words = [word.strip() for text in given for word in text.split(",")]
    if given and not any(words):
        raise UsageError("value-absent", f"{option}: expected a value, not {given[0]!r}")
    try:
        return tuple(dict.fromkeys(parse(word) for word in words if word))
    except ValueError as error:
        raise UsageError("value-invalid", f"{option}: {error}") from None
