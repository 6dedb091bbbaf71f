"""The errors that a user can meet: one class and one exit code for each kind.

Only the command line catches these; a traceback is a bug.

    WheelmillError           1
    +- UsageError            2   the command was typed wrong, or a tool it needs is missing
    +- ConfigurationError    2   files under config/
    +- ProcessError          1   a program failed; stages turn it into their own error
    +- TimeOverError         3   the rest is left for another run
    +- BuildError            4
    |  +- CompileError       4   the compiler or the builder refuses it: trying again changes nothing
    +- SmokeError            5
    +- ReleaseError          6
    |  +- RejectedError      6   GitHub will not do what it was asked
    |  +- ManifestError      6   what a release says of itself cannot be
    +- SiteError             7   the index
    +- NoWheelError          8   nothing there fits the target
    +- InstallError          2   uv or pip could not do it; what they said is in the message
    +- FindingsError         9   something that was examined has faults, which were told
    +- IntegrityError        9   bytes are not what their hash says
    +- UnreadableError       9   bytes or text from elsewhere break the rules of their format, or a limit
    +- NetworkError         10   a server did not answer, or not with what was asked for
       +- SlowServerError  10   it took longer than a request may

    AbsentError, SameError and TakenError are answers of an object store, which its own code catches.
    TimeIsOver, no Exception, stops whatever runs; whoever set the limit says `TimeOverError`.
"""

from __future__ import annotations

from typing import ClassVar


class WheelmillError(Exception):
    """A failure that its message explains; `hint` says what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        """Kind of failure in words that stay when the message is reworded: ``no-toolkit``."""
        self.hint = hint

    @property
    def explained(self) -> str:
        """The message, and the hint on a line of its own."""
        return f"{self}\nhint: {self.hint}" if self.hint else str(self)


class UsageError(WheelmillError):
    """The command makes no sense as typed, or this machine lacks what it needs."""

    exit_code = 2


class ConfigurationError(WheelmillError):
    """Configuration files are wrong; carries every fault, one a line."""

    exit_code = 2

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("configuration-invalid", "\n".join(faults))
        self.faults = faults


class ProcessError(WheelmillError):
    """A program exited with a failure; `tail` holds the last lines it printed."""

    def __init__(self, code: str, message: str, *, returncode: int, tail: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.returncode = returncode
        self.tail = tail


class TimeOverError(WheelmillError):
    """The time that was given is over; running it again goes on from there."""

    exit_code = 3


class BuildError(WheelmillError):
    """A wheel could not be built."""

    exit_code = 4


class CompileError(BuildError):
    """The compiler or the builder refuses a target, so trying again changes nothing; `line` is its own error."""

    def __init__(self, code: str, message: str, *, line: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.line = line


class SmokeError(WheelmillError):
    """A wheel was refused."""

    exit_code = 5


class ReleaseError(WheelmillError):
    """A release could not be published or read."""

    exit_code = 6


class RejectedError(ReleaseError):
    """The host of the releases understood a call and will not do it."""

    def __init__(
        self, code: str, message: str, *, exists: bool = False, burned: bool = False, hint: str | None, status: int
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.exists = exists
        """True if the reason is that such a thing exists already."""
        self.burned = burned
        """True if the tag belonged to a release that was removed: GitHub never gives out that name again."""
        self.status = status
        """The HTTP status of the answer (RFC 9110, section 15)."""


class ManifestError(ReleaseError):
    """A manifest was changed after it was written, or a newer wheelmill wrote it; names every fault."""


class SiteError(WheelmillError):
    """The index could not be generated."""

    exit_code = 7


class NoWheelError(WheelmillError):
    """No wheel fits the target environment."""

    exit_code = 8


class InstallError(WheelmillError):
    """uv or pip could not install what was chosen."""

    exit_code = 2


class FindingsError(WheelmillError):
    """Faults in what was examined; each was told before."""

    exit_code = 9


class IntegrityError(WheelmillError):
    """Bytes do not match the hash that was promised for them."""

    exit_code = 9


class UnreadableError(WheelmillError, ValueError):
    """A wheel, a name or a page from elsewhere breaks the rules of its format, or goes beyond a limit.

    It is a `ValueError`, like what parsers raise, so that it never surfaces as a traceback.
    """

    exit_code = 9
    max_length: ClassVar[int] = 1_000
    """Characters of the message, which may quote what could not be read."""

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        cut = message if len(message) <= self.max_length else f"{message[: self.max_length]}..."
        super().__init__(code, cut, hint=hint)


class NetworkError(WheelmillError):
    """A server cannot be reached, is busy, or does not have what was asked for.

    `status` is the number of its answer (RFC 9110, section 15); None when there was none.
    """

    exit_code = 10

    def __init__(self, code: str, message: str, *, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.status = status


class SlowServerError(NetworkError):
    """A server took longer to answer than a request may."""


class TimeIsOver(BaseException):
    """Stops whatever is running. Not an `Exception`, so that no `except Exception` on the way swallows it."""


class AbsentError(Exception):
    """There is no such object."""


class SameError(Exception):
    """The object has not changed since it was last read."""


class TakenError(Exception):
    """The condition of a write does not hold, or somebody else is writing at this moment."""
