"""A package request: the answers to an issue form, as an entry of ``packages.yml``.

The form is ``.github/ISSUE_TEMPLATE/package-request.yml``. GitHub writes every question as a heading and
the answer below it; whoever may open an issue may write anything there instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from wheelmill.config.document import phrase_fault, refusal
from wheelmill.config.model.packages import Packages
from wheelmill.config.read import validate
from wheelmill.errors import ConfigurationError

MAX_BYTES: Final = 64 << 10
"""GitHub's own limit for the text of an issue."""

_HEADING: Final = "### "
_NO_ANSWER: Final = "_No response_"
_NAME: Final = "Project"


def _words(answer: str) -> list[str]:
    return [word.strip() for word in answer.replace("\n", ",").split(",") if word.strip()]


def _versions(answer: str) -> str | list[str]:
    return answer if answer[:1] in "<>=~!" else _words(answer)


def _build_args(answer: str) -> str | None:
    return "--no-build-isolation" if answer.startswith("No:") else None


QUESTIONS: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "Versions": ("versions", _versions),
    "Description": ("description", str),
    "Licence": ("licence", str),
    "Is it built in isolation?": ("build_args", _build_args),
    "Build requirements": ("extra_deps", _words),
    "GPU architectures": ("architectures", _words),
    "Modules to import": ("test_import", _words),
}
"""Questions of the form that become keys of the entry, and how their answers become values."""


def entry_from(issue: Path) -> tuple[str, dict[str, object]]:
    """Read the text of an issue.

    Returns:
        The name of the package, and its entry as `amend` takes it.

    Raises:
        ConfigurationError: it does not answer the form, or with something that may not stand in ``packages.yml``.
    """
    answers = _answers_in(issue)
    name = answers.get(_NAME, (1, ""))[1]
    given = {key: read(answers[question][1]) for question, (key, read) in QUESTIONS.items() if question in answers}
    entry = {key: value for key, value in given.items() if value is not None}
    _, found = validate({"packages": {name: entry}}, Packages, issue.parent)
    questions = {key: question for question, (key, _) in QUESTIONS.items()}
    faults = []
    for key_path, message in found:
        keys = key_path[2:]  # behind "packages" and the name
        question = questions[str(keys[0])] if keys else _NAME
        line = answers.get(question, (1, ""))[0]
        faults.append(phrase_fault(issue, (line, 1), (question,), message))
    if faults:
        raise ConfigurationError(tuple(dict.fromkeys(faults)))
    return name, entry


def _answers_in(issue: Path) -> dict[str, tuple[int, str]]:
    """Every answer by its question, with the line of the question; questions that were not answered are left out."""
    try:
        content = issue.read_bytes()
        if len(content) > MAX_BYTES:
            raise refusal(issue, f"larger than {MAX_BYTES} bytes")
        lines = content.decode().replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise refusal(issue, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise refusal(issue, "not UTF-8") from None
    starts = [number for number, line in enumerate(lines) if line.startswith(_HEADING)]
    answers: dict[str, tuple[int, str]] = {}
    for start, end in itertools.pairwise([*starts, len(lines)]):
        question = lines[start].removeprefix(_HEADING).strip()
        if question in answers:
            raise refusal(issue, "is answered twice", (start + 1, 1), (question,))
        answers[question] = start + 1, "\n".join(lines[start + 1 : end]).strip()
    return {question: answer for question, answer in answers.items() if answer[1] not in ("", _NO_ANSWER)}
