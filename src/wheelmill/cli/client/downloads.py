"""Downloads into the cache of wheels, with a bar for each, or lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

from platformdirs import user_cache_path
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as Bars

from wheelmill.cli.client.resolve import SearchOptions
from wheelmill.cli.shared.commands import Waiting, say, say_warning
from wheelmill.cli.shared.terminal import STDERR
from wheelmill.client.install.wheel_cache import AT_ONCE, WheelCache
from wheelmill.installers.index_settings import configured_index
from wheelmill.system.folders import temporary_folder
from wheelmill.system.progress import Progress, size


class DownloadBars(Progress):
    """A bar for each download, and the line that a running installer printed last."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._last = bars.add_task("", visible=False)

    def step(self, text: str) -> None:
        """Print the step above the bars."""
        self._bars.console.print(escape(text))

    def line(self, text: str) -> None:
        """Show what uv or pip is at."""
        self._bars.update(self._last, description=escape(text[:100]), visible=bool(text), total=None)

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """Move a file's bar."""
        if filename not in self._tasks:
            self._tasks[filename] = self._bars.add_task(escape(filename), total=total)
        self._bars.update(self._tasks[filename], completed=done)


class DownloadLines(Waiting):
    """A line for each step where there is no terminal, and one now and then for a long download."""

    def __init__(self) -> None:
        super().__init__(silent=5.0)

    def step(self, text: str) -> None:
        """Print it, in the place of what is shown on a terminal that cannot show bars."""
        self.line("")
        say(text)

    def show_download(self, filename: str, done: int, total: int | None) -> None:
        """Print how much of a file has arrived."""
        self.line(f"{filename}: {size(done)}" + (f" of {size(total)}" if total else ""))


@contextmanager
def download_bars() -> Iterator[Progress]:
    """Show downloads while the context is open; bars disappear at its end."""
    if not STDERR.is_interactive:
        lines = DownloadLines()
        try:
            yield lines
        finally:
            lines.line("")  # a terminal with TERM=dumb shows no bars, and keeps the last line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=STDERR, transient=True) as bars:
        yield DownloadBars(bars)


@contextmanager
def wheel_cache(search: SearchOptions) -> Iterator[WheelCache]:
    """Open the cache of wheels, and show downloads into it while the context is open."""
    from wheelmill.web.client import ATTENDED, Web

    search.search()  # the URLs of sources may have credentials
    configured_index()  # a lock may have files of it, and its URL their password
    directory = user_cache_path("wheelmill") / "wheels"
    if fault := None if search.offline else _fault_of(directory):
        say_warning(f"the cache of wheels is left as it is: {fault}")
    with (
        temporary_folder() if fault else nullcontext(directory) as folder,
        ThreadPoolExecutor(AT_ONCE) as threads,
        Web(retries=ATTENDED) as web,
        download_bars() as shown,
    ):
        yield WheelCache(directory=folder, web=web, threads=threads, offline=search.offline, progress=shown)


def _fault_of(directory: Path) -> OSError | None:
    """Return the reason why nothing can be written in a folder; None if it can."""
    try:
        with temporary_folder(directory):
            return None
    except OSError as error:
        return error
