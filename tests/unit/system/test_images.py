"""Base images are those that a digest names; our own are made once of what they are made of."""

import json
import time
from pathlib import Path

import pytest

from tests.fake_docker import FakeDocker, Reply
from tests.progress import RecordedProgress
from tests.refusals import coded
from wheelmill.errors import BuildError, UsageError
from wheelmill.system.containers import OwnImage, base_image

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


def test_a_pull_is_tried_three_times(docker: FakeDocker, heard: RecordedProgress, pauses: list[float]) -> None:
    docker.reply(("pull",), Reply(exit_code=1), Reply(exit_code=1), Reply())
    assert base_image(REFERENCE, progress=heard) == LOCAL
    assert docker.asked("pull") == [["pull", "--quiet", PINNED]] * 3
    assert pauses == [10, 20]


@pytest.mark.parametrize(
    ("answer", "code", "advice"),
    [
        # Quoted from https://github.com/docker/hub-feedback/issues/2429 and 2464
        (
            "Error response from daemon: toomanyrequests: You have reached your pull rate limit.",
            "pulls-limited",
            "login",
        ),
        ("Error response from daemon: toomanyrequests: Too Many Requests", "pulls-limited", "docker login"),
        (
            f"Error response from daemon: manifest for nvidia/cuda@{DIGEST} not found: manifest unknown",
            "image-absent",
            "config images --refresh",
        ),
        (
            "Error response from daemon: pull access denied for nvidia/cuda, repository does not exist or may require",
            "image-absent",
            "config images --refresh",
        ),
    ],
)
def test_refusals_end_a_pull(answer: str, code: str, advice: str, docker: FakeDocker, heard: RecordedProgress) -> None:
    docker.reply(("pull",), Reply(answer, exit_code=1))
    with pytest.raises(UsageError, check=coded(code, TAGGED, advice)):
        base_image(REFERENCE, progress=heard)
    assert len(docker.asked("pull")) == 1


def test_a_pull_that_fills_the_disk_is_not_tried_again(docker: FakeDocker, heard: RecordedProgress) -> None:
    docker.reply(("pull",), Reply("failed to register layer: no space left on device", exit_code=1))
    with pytest.raises(BuildError, check=coded("disk-full", "docker system df")):
        base_image(REFERENCE, progress=heard)
    assert len(docker.asked("pull")) == 1


def test_a_third_failed_pull_is_an_error_with_the_registrys_words(docker: FakeDocker, heard: RecordedProgress) -> None:
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


def test_an_image_has_its_dockerfile_and_arguments(docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.answer("build")
    image = OwnImage(name="build", arguments={"BASE": LOCAL, "HOST_GCC": "13"}, context=context).make(heard)
    arguments = ["--build-arg", f"BASE={LOCAL}", "--build-arg", "HOST_GCC=13"]
    dockerfile = str(context / "build.Dockerfile")
    assert docker.asked("build") == [
        ["build", "--force-rm", "--tag", image, "--file", dockerfile, *arguments, str(context)]
    ]
    assert heard.steps == ["making the build image"]


def test_an_image_of_equal_inputs_is_made_once(docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.answer("build")
    image = OwnImage(name="build", arguments={"A": "1", "B": "2"}, context=context).make(heard)
    docker.answer("image", "inspect", "--format", "{{.Id}}", image, says=OTHER)
    (context / "script.sh").touch()
    assert OwnImage(name="build", arguments={"B": "2", "A": "1"}, context=context).make(heard) == image
    assert len(docker.asked("build")) == 1
    assert heard.steps == ["making the build image"]


@pytest.mark.parametrize("change", ["content", "file", "name of a file", "argument", "argument's name", "dockerfile"])
def test_new_inputs_make_a_new_image(change: str, docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.answer("build")
    image = OwnImage(name="build", arguments={"A": "1"}, context=context).make(heard)
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
    assert OwnImage(name=name, arguments=arguments, context=context).make(heard) != image
    assert len(docker.asked("build")) == 2


def test_a_failed_image_build_has_the_last_lines(docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.reply(("build",), Reply("Step 1/2 : FROM scratch\nno g++ here", exit_code=1))
    with pytest.raises(UsageError, check=coded("image-not-built", "Step 1/2 : FROM scratch\nno g++ here")):
        OwnImage(name="build", context=context).make(heard)


def test_bases_are_pulled_only_to_make_an_image(docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.answer("build")
    docker.answer("pull")
    image = OwnImage(name="build", bases={"BASE": REFERENCE}, context=context)
    assert image.missing() == ["build", REFERENCE]
    made = image.make(heard)
    assert docker.asked("pull") == [["pull", "--quiet", PINNED]]
    assert f"BASE={LOCAL}" in docker.asked("build")[0]
    docker.answer("image", "inspect", "--format", "{{.Id}}", made, says=OTHER)
    assert (image.make(heard), image.missing()) == (made, [])
    assert len(docker.asked("pull")) == 1


def test_a_base_that_is_local_is_not_missing(docker: FakeDocker, context: Path) -> None:
    has_tagged(docker, digests=None, image_id=DIGEST)
    assert OwnImage(name="build", bases={"BASE": REFERENCE}, context=context).missing() == ["build"]


def test_a_full_disk_is_no_fault_of_an_image(docker: FakeDocker, heard: RecordedProgress, context: Path) -> None:
    docker.reply(("build",), Reply("write /usr/lib/libLLVM.so: no space left on device", exit_code=1))
    with pytest.raises(BuildError, check=coded("disk-full", "docker system df")):
        OwnImage(name="build", context=context).make(heard)
