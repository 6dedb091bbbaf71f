"""Base images are those that a digest names; our own are made once of what they are made of."""

import json
import time
from pathlib import Path

import pytest

from tests.fake_docker import FakeDocker, Reply
from tests.progress import RecordedProgress
from tests.refusals import coded
from wheelmill.errors import UsageError
from wheelmill.system.containers import base_image, own_image

DIGEST = "sha256:" + "0123456789abcdef" * 4
OTHER = "sha256:" + "f" * 64
TAGGED = "docker.io/nvidia/cuda:13.0.2-devel-ubuntu24.04"
REFERENCE = f"{TAGGED}@{DIGEST}"
PINNED = f"docker.io/nvidia/cuda@{DIGEST}"
LOCAL = "wheelmill/base:0123456789abcdef01234567"
MISSING = Reply("Error: No such image", exit_code=1)


@pytest.fixture
def heard() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the tests would have waited."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


@pytest.fixture(autouse=True)
def nothing_here(docker: FakeDocker) -> None:
    """No image is on this machine yet."""
    docker.reply(("image", "inspect"), MISSING)
    docker.answer("tag")


def has_tagged(docker: FakeDocker, *, digests: list[str] | None, image_id: str = OTHER) -> None:
    """Have an image under the tag."""
    docker.answer("image", "inspect", TAGGED, says=json.dumps([{"Id": image_id, "RepoDigests": digests}]))


@pytest.mark.parametrize(
    ("digests", "image_id"),
    [
        pytest.param([f"nvidia/cuda@{DIGEST}"], OTHER, id="its digest"),
        pytest.param([f"mirror.test/cuda@{OTHER}", f"nvidia/cuda@{DIGEST}"], OTHER, id="one of its digests"),
        pytest.param([], DIGEST, id="its ID, without a registry"),
        pytest.param(None, DIGEST, id="its ID, as Docker 24.0.0 has it"),
    ],
)
def test_an_image_with_the_digest_is_taken_as_it_is(
    digests: list[str] | None, image_id: str, docker: FakeDocker, heard: RecordedProgress
) -> None:
    has_tagged(docker, digests=digests, image_id=image_id)
    assert base_image(REFERENCE, progress=heard) == LOCAL
    assert docker.asked("tag") == [["tag", TAGGED, LOCAL]]
    assert (docker.asked("pull"), heard.steps) == ([], [])


def test_what_has_the_tag_and_another_digest_is_not_taken(docker: FakeDocker, heard: RecordedProgress) -> None:
    has_tagged(docker, digests=[f"nvidia/cuda@{OTHER}"])
    docker.answer("pull")
    assert base_image(REFERENCE, progress=heard) == LOCAL
    assert docker.asked("pull") == [["pull", "--quiet", PINNED]]
    assert docker.asked("tag") == [["tag", PINNED, LOCAL]]
    assert heard.steps == [f"pulling {TAGGED}"]


def test_what_was_pulled_before_is_not_pulled_again(docker: FakeDocker, heard: RecordedProgress) -> None:
    has_tagged(docker, digests=[f"nvidia/cuda@{OTHER}"])
    docker.answer("image", "inspect", "--format", "{{.Id}}", PINNED, says=OTHER)
    assert base_image(REFERENCE, progress=heard) == LOCAL
    assert docker.asked("tag") == [["tag", PINNED, LOCAL]]
    assert docker.asked("pull") == []


def test_a_pull_is_tried_three_times_with_longer_and_longer_pauses(
    docker: FakeDocker, heard: RecordedProgress, pauses: list[float]
) -> None:
    docker.reply(("pull",), Reply(exit_code=1), Reply(exit_code=1), Reply())
    assert base_image(REFERENCE, progress=heard) == LOCAL
    assert docker.asked("pull") == [["pull", "--quiet", PINNED]] * 3
    assert pauses == [10, 20]


def test_a_third_pull_that_fails_is_an_error_with_what_the_registry_said(
    docker: FakeDocker, heard: RecordedProgress
) -> None:
    docker.reply(("pull",), Reply("timeout", exit_code=1), Reply("timeout", exit_code=1), Reply("denied", exit_code=1))
    with pytest.raises(UsageError, check=coded("image-not-pulled", TAGGED, "denied")):
        base_image(REFERENCE, progress=heard)
    assert len(docker.asked("pull")) == 3
    assert docker.asked("tag") == []


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """A folder with two Dockerfiles and what they copy."""
    context = tmp_path / "context"
    context.mkdir()
    for name in ("build.Dockerfile", "runtime.Dockerfile", "script.sh"):
        (context / name).write_text(name)
    return context


def test_an_image_is_made_of_its_dockerfile_and_arguments(
    docker: FakeDocker, heard: RecordedProgress, context: Path
) -> None:
    docker.answer("build")
    image = own_image("build", {"BASE": LOCAL, "HOST_GCC": "13"}, context, progress=heard)
    arguments = ["--build-arg", f"BASE={LOCAL}", "--build-arg", "HOST_GCC=13"]
    dockerfile = str(context / "build.Dockerfile")
    assert docker.asked("build") == [["build", "--tag", image, "--file", dockerfile, *arguments, str(context)]]
    assert heard.steps == ["making the build image"]


def test_an_image_of_the_same_files_and_arguments_is_made_once(
    docker: FakeDocker, heard: RecordedProgress, context: Path
) -> None:
    docker.answer("build")
    image = own_image("build", {"A": "1", "B": "2"}, context, progress=heard)
    docker.answer("image", "inspect", "--format", "{{.Id}}", image, says=OTHER)
    (context / "script.sh").touch()
    assert own_image("build", {"B": "2", "A": "1"}, context, progress=heard) == image
    assert len(docker.asked("build")) == 1
    assert heard.steps == ["making the build image"]


@pytest.mark.parametrize("change", ["content", "file", "name of a file", "argument", "argument's name", "dockerfile"])
def test_another_image_is_made_when_something_changed(
    change: str, docker: FakeDocker, heard: RecordedProgress, context: Path
) -> None:
    docker.answer("build")
    image = own_image("build", {"A": "1"}, context, progress=heard)
    docker.answer("image", "inspect", "--format", "{{.Id}}", image, says=OTHER)
    name, arguments = "build", {"A": "1"}
    match change:
        case "content":
            (context / "script.sh").write_text("changed")
        case "file":
            (context / "more.sh").touch()
        case "name of a file":
            (context / "script.sh").rename(context / "program.sh")
        case "argument":
            arguments = {"A": "2"}
        case "argument's name":
            arguments = {"B": "1"}
        case _:
            name = "runtime"
    assert own_image(name, arguments, context, progress=heard) != image
    assert len(docker.asked("build")) == 2


def test_an_image_that_cannot_be_made_is_an_error_with_the_last_lines(
    docker: FakeDocker, heard: RecordedProgress, context: Path
) -> None:
    docker.reply(("build",), Reply("Step 1/2 : FROM scratch\nno g++ here", exit_code=1))
    with pytest.raises(UsageError, check=coded("image-not-built", "Step 1/2 : FROM scratch\nno g++ here")):
        own_image("build", {}, context, progress=heard)
