"""Package requests as entries of ``packages.yml``, and the files of a package built in its own repository.

The form is ``.github/ISSUE_TEMPLATE/package-request.yml``. GitHub writes every question as a heading with the answer
below it. An issue may hold any other text instead, and no line of it is dropped silently.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from wheelmill.config.lock import sdists_in
from wheelmill.config.maintenance.amend import entry_text
from wheelmill.config.model.compatibility import Compatibility
from wheelmill.config.model.package import Packages
from wheelmill.config.survey.entry import Guess, SourceSurvey, checked_survey, survey_project
from wheelmill.config.survey.licences import is_redistributable
from wheelmill.config.yaml import phrase_fault, refusal, validate
from wheelmill.errors import ConfigurationError
from wheelmill.names import project_name

MAX_BYTES: Final = 64 << 10
"""GitHub's own limit for the text of an issue."""

_HEADING: Final = "### "
_NO_ANSWERS: Final = ("", "_No response_", "None")
"""Texts of an empty field and of a list where nothing was chosen."""
_NAME: Final = "Project"


_SEPARATOR: Final = re.compile(r"\n|,(?!\s*[<>=!~])")
"""End of a word; not the comma between two bounds, as in ``setuptools>=64,<80``."""


def _words(answer: str) -> list[str]:
    return [word.strip() for word in _SEPARATOR.split(answer) if word.strip()]


def _architectures(answer: str) -> list[str]:
    return answer.replace(",", " ").replace(";", " ").split()


def _versions(answer: str) -> str | list[str]:
    return answer if answer[:1] in "<>=~!" else _words(answer)


def _build_args(answer: str) -> str:
    return {"Yes": "", "No": "--no-build-isolation"}.get(answer.partition(":")[0], answer)


def _git(answer: str) -> dict[str, str]:
    git, _, ref = answer.rpartition("@") if "@" in answer else (answer, "", "")
    return {"git": git, "ref": ref}


QUESTIONS: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "Versions": ("versions", _versions),
    "Git repository": ("source", _git),
    "Its name on the package index": ("pypi", lambda answer: answer.partition(":")[0]),
    "Description": ("description", str),
    "Licence": ("licence", str),
    "Is it built in isolation?": ("build_args", _build_args),
    "Build requirements": ("extra_deps", _words),
    "NVIDIA's libraries": ("toolkit", _words),
    "GPU architectures": ("architectures", _architectures),
    "Modules to import": ("test_import", _words),
}
"""Questions of the form that become keys of the entry, and how their answers become values."""

_REST: Final = "Anything else"
_CHECKED: Final = "Checked"
BOXES: Final = (
    "Its licence lets others be given the wheels",
    "It has compiled CUDA code; a pure Python package needs no wheels from here",
)
"""Boxes that must be ticked."""

_SURVEYED: Final = ("versions", "source")
"""Keys whose answers a survey follows: its guesses are of one version."""
_TICKED: Final = re.compile(r"- \[[xX]\] (.*)")
_ASSIGNMENT: Final = re.compile(r"[A-Z_][A-Z0-9_]*=\S*")


@dataclass(frozen=True, kw_only=True)
class PackageRequest:
    """Content of a package request."""

    name: str
    entry: Mapping[str, Any]
    """Keys that were answered, in the form of `amend`."""
    left: tuple[str, ...]
    """Lines for a person to read."""


def read_request(issue: Path) -> PackageRequest:
    """Read the text of an issue; raises ConfigurationError if it does not answer the form or has a forbidden value."""
    answers = _answers_in(issue)
    name = answers.get(_NAME, (1, ""))[1]
    given = {key: read(answers[question][1]) for question, (key, read) in QUESTIONS.items() if question in answers}
    env, left = _variables_in(answers.get(_REST, (1, ""))[1])
    entry = given | ({"env": env} if env else {})
    _, contradictions = validate({"packages": {name: entry}}, Packages, issue.parent)
    questions = {key: question for question, (key, _) in QUESTIONS.items()} | {"env": _REST}
    faults = []
    for key_path, message in contradictions:
        keys = key_path[2:]  # after "packages" and the name
        key = str(keys[0]) if keys else ""
        faults.append((questions.get(key, key or _NAME), message))
    unknown = answers.keys() - {_NAME, *QUESTIONS, _REST, _CHECKED}
    faults += [(heading, "is not a question of the form") for heading in unknown]
    ticked = _TICKED.findall(answers.get(_CHECKED, (1, ""))[1])
    faults += [(_CHECKED, f"is not ticked: {box}") for box in BOXES if box not in ticked]
    if faults:
        lines = (phrase_fault(issue, (answers.get(asked, (1, ""))[0], 1), (asked,), text) for asked, text in faults)
        raise ConfigurationError(tuple(dict.fromkeys(lines)))
    return PackageRequest(name=name, entry=entry, left=left)


def _variables_in(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the environment variables that lines such as ``FORCE_CUDA=1`` set, and all other lines."""
    env: dict[str, str] = {}
    left = []
    for line in filter(None, map(str.strip, text.splitlines())):
        words = line.removeprefix("- ").replace("`", "").removeprefix("export ").split()
        if all(map(_ASSIGNMENT.fullmatch, words)):
            env |= dict(word.split("=", 1) for word in words)
        else:
            left.append(line)
    return env, tuple(left)


def survey_request(
    request: PackageRequest, *, version: str | None = None, subdirectory: str | None = None
) -> SourceSurvey:
    """Survey the source that a request names; its answers replace guesses, or add to those that are mappings."""
    versions, source = request.entry["versions"], request.entry.get("source")
    if not version:
        asked = sdists_in(SpecifierSet(versions), project_name(request.name)) if isinstance(versions, str) else versions
        version = max(asked, key=Version)
    origin = f"{source['git']}@{source['ref'].replace('{version}', version)}" if source else request.name
    survey = survey_project(origin, version=version, subdirectory=subdirectory)
    order = [key for key, _ in QUESTIONS.values()]
    guesses = sorted(_answered(survey.guesses, request.entry), key=lambda guess: (*order, guess.key).index(guess.key))
    if not is_redistributable(request.entry.get("licence", "")) and "redistributable" not in survey.entry:
        guesses += [Guess(key="redistributable", value=False, says="the licence that the request names forbids it")]
    if survey.name != request.name:
        guesses += [Guess(says=f"the request names {request.name}, its source {survey.name}")]
    guesses += [Guess(says=f"not in the entry, for you to read: {line}") for line in request.left]
    return checked_survey(replace(survey, guesses=tuple(guesses)), Path())


def _answered(guesses: Iterable[Guess], answers: Mapping[str, Any]) -> Iterator[Guess]:
    left = dict(answers)
    for guess in guesses:
        guessed: Any = guess.value
        answer = left.pop(guess.key, guessed)
        value, other = (guessed | answer, answer | guessed) if isinstance(answer, dict) else (answer, guessed)
        says = f"the request's answer, where a survey has {json.dumps(other)}: {guess.says}"
        agrees = value == other or guess.key in _SURVEYED
        yield replace(guess, value=value, says=guess.says if agrees else says)
    for key, answer in left.items():
        yield Guess(key=key, value=answer, says="the request's answer")


def _answers_in(issue: Path) -> dict[str, tuple[int, str]]:
    """Return every answer by its question, with the question's line, without unanswered questions."""
    try:
        content = issue.read_bytes()
        if len(content) > MAX_BYTES:
            raise refusal(issue, f"larger than {MAX_BYTES} bytes")
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
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
    return {question: answer for question, answer in answers.items() if answer[1] not in _NO_ANSWERS}


WORKFLOW: Final = Path(".github", "workflows", "wheels.yml")
TORCHES: Final = 3
"""Number of newest torches to build for by default."""

_CUDA: Final = ">=12"
_PYTHON: Final = ">=3.10"

_ENTRY: Final = """\
# What wheelmill builds of this repository. 'wheelmill config check' names every fault, 'wheelmill plan' every wheel.
"""

_CALLED: Final = "OWNER/REPO/.github/workflows/package.yml@REF"
_WORKFLOW_TEXT: Final = f"""\
# Builds the wheels that wheelmill.yml asks for, releases those of a tag and deploys their index to Pages.
name: wheels

on:
  push:
    tags: ["v*"]
  workflow_dispatch: # of a tag, when there is a new torch: what is released already is not built again
    inputs:
      continues:
        description: The number of a run whose work is taken up
        type: string

permissions: {{}}

jobs:
  wheels:
    permissions: # for the jobs of the workflow to share out; those that build get no more than reading
      actions: write # to start the next run and to delete caches
      attestations: write # to keep the attestations
      contents: write # to publish the releases
      id-token: write # to sign as this workflow, and to deploy
      pages: write # to deploy the index
    uses: {_CALLED}
    with:
      config: wheelmill.yml
      continues: ${{{{ inputs.continues }}}}
"""


def own_text(survey: SourceSurvey, compatibility: Compatibility) -> str:
    """Return the text of ``wheelmill.yml`` for the newest torches and every Python that a package admits."""
    needed = survey.declared.requirement_on("torch")
    admitted = SpecifierSet() if needed is None else Requirement(needed).specifier
    releases = sorted(compatibility.torch)
    window = [torch for torch in releases if admitted.contains(str(torch))][-TORCHES:] or releases[-TORCHES:]
    torch = f">={window[0]}" + (f",<={window[-1]}" if window[-1] < releases[-1] else "")
    has_torch = survey.entry.get("needs", "driver") == "driver"
    axis = {"torch": torch} if has_torch else {"cuda": _CUDA}  # a torch supports few CUDAs
    pythons = ",".join(  # lower bounds are minor releases: a package for 3.10.2 and newer is built for 3.10
        f">={'.'.join(bound.version.split('.')[:2])}" if bound.operator == ">=" else str(bound)
        for bound in sorted(SpecifierSet(survey.declared.requires_python or _PYTHON), key=str)
    )
    defaults = {"python": pythons, **axis}
    lines = ["defaults:", *(f"  {key}: {json.dumps(value)}" for key, value in defaults.items())]
    return _ENTRY + "\n".join([*lines, "packages:", entry_text(survey.name, survey.entry)]) + "\n"


def workflow_text(repository: str, reference: str) -> str:
    """Return the workflow that calls ours at a commit, tag or branch of ``OWNER/REPO``."""
    return _WORKFLOW_TEXT.replace(_CALLED, f"{repository}/.github/workflows/package.yml@{reference}")
