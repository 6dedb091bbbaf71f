from pathlib import Path

import pytest
from packaging.pylock import Package, PackageWheel, Pylock
from packaging.version import Version

from tests.refusals import coded
from tests.unit.client.targets import ARM, INDEX, LINUX, LINUX_313, SHA, candidate, resolution
from wheelmill.client.lock.environments import EnvironmentLock, package_of
from wheelmill.client.lock.files import (
    check_name,
    content_for,
    describe_forms,
    merge,
    pylock_text,
    read_lock,
    requirements_text,
    wheels_for,
)
from wheelmill.client.records import TargetEnvironment
from wheelmill.errors import IntegrityError, NoWheelError, UsageError
from wheelmill.names import project_name


def other(version: str) -> Package:
    name = f"einops-{version}-py3-none-any.whl"
    wheel = PackageWheel(name=name, url="https://x.example/e.whl", hashes={"sha256": SHA})
    return Package(name=project_name("einops"), version=Version(version), wheels=[wheel])


def lock_of(environment: TargetEnvironment, python: str, machine: str, einops: str = "0.8.1") -> EnvironmentLock:
    wheel = candidate(f"flash_attn-2.8.3-{python}-{python}-linux_{machine}.whl", source=INDEX)
    return EnvironmentLock(resolution=resolution(wheel, environment=environment), others=[other(einops)])


LOCKS = [lock_of(LINUX, "cp312", "x86_64"), lock_of(LINUX_313, "cp313", "x86_64"), lock_of(ARM, "cp312", "aarch64")]


def test_each_environment_finds_its_wheels_again(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_bytes(pylock_text(merge(LOCKS)))
    lock = read_lock(path)
    for each in LOCKS:
        environment = each.resolution.environment
        found = {wheel.filename for wheel in wheels_for(lock, environment)}
        (choice,) = each.resolution.choices.values()
        assert found == {choice.candidate.filename, "einops-0.8.1-py3-none-any.whl"}


def test_the_order_of_environments_does_not_matter() -> None:
    locks = [*LOCKS[:2], lock_of(ARM, "cp312", "aarch64", "0.7.0")]
    assert pylock_text(merge(locks)) == pylock_text(merge(locks[::-1]))


def test_versions_that_differ_have_markers() -> None:
    lock = merge([lock_of(LINUX, "cp312", "x86_64", "0.8.1"), lock_of(ARM, "cp312", "aarch64", "0.7.0")])
    markers = {str(package.version): str(package.marker) for package in lock.packages if package.name == "einops"}
    assert 'platform_machine == "x86_64"' in markers["0.8.1"]
    assert 'platform_machine == "aarch64"' in markers["0.7.0"]


def test_a_lock_for_others_is_refused() -> None:
    """gpkg 0.4.3 installs a lock whose platform and Python are not this machine's."""
    lock = Pylock.from_dict(merge([LOCKS[0]]).to_dict())
    with pytest.raises(NoWheelError):
        wheels_for(lock, LINUX_313)


def test_nothing_is_locked_without_a_hash() -> None:
    """gpkg 0.4.3 locks names and URLs only."""
    with pytest.raises(IntegrityError):
        package_of(candidate("flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl", sha256=None))


OF_UV = f"""
lock-version = "1.0"
created-by = "uv"
[[packages]]
name = "demo"
version = "1.0+cu130"
archive = {{ url = "https://x.example/demo-1.0%2Bcu130-py3-none-any.whl", hashes = {{ sha256 = "{SHA}" }} }}
[[packages]]
name = "einops"
version = "0.8.1"
wheels = [{{ path = "../einops-0.8.1-py3-none-any.whl", hashes = {{ sha256 = "{SHA}" }} }}]
[[packages]]
name = "third"
version = "3.0"
archive = {{ path = "wheels/third-3.0-py3-none-any.whl", hashes = {{ sha256 = "{SHA}" }} }}
[[packages]]
name = "mine"
directory = {{ path = ".", editable = true }}
"""
"""What uv 0.13.8 exports for wheels with a URL, of a folder of wheels and with a path, and for the project itself."""
OTHERS = {
    "vcs": 'vcs = { type = "git", url = "https://x.example/x", commit-id = "0" }',
    "sdist": f'version = "1"\nsdist = {{ url = "https://x.example/x-1.tar.gz", hashes = {{ sha256 = "{SHA}" }} }}',
    "archive": f'archive = {{ url = "https://x.example/x-1.zip", hashes = {{ sha256 = "{SHA}" }} }}',
    "wheels": f'wheels = [{{ url = "https://x.example/x-1-py3-none-any.whl", hashes = {{ sha512 = "{SHA}" }} }}]',
}


def test_every_wheel_of_a_lock_of_uv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "project" / "pylock.toml"
    path.parent.mkdir()
    path.write_text(OF_UV)
    found = {wheel.filename: wheel.url for wheel in wheels_for(read_lock(path), LINUX)}
    assert found == {
        "demo-1.0+cu130-py3-none-any.whl": "https://x.example/demo-1.0%2Bcu130-py3-none-any.whl",
        "einops-0.8.1-py3-none-any.whl": (path.parent / "../einops-0.8.1-py3-none-any.whl").as_uri(),
        "third-3.0-py3-none-any.whl": (path.parent / "wheels" / "third-3.0-py3-none-any.whl").as_uri(),
    }
    _, others = content_for(read_lock(path), LINUX)
    assert describe_forms(others.values()) == "mine (directory)"


@pytest.mark.parametrize("form", OTHERS)
def test_what_has_no_wheel_with_a_hash_is_named(form: str, tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(f'{OF_UV}[[packages]]\nname = "x"\n{OTHERS[form]}\n')
    with pytest.raises(UsageError, check=coded("lock-incomplete", f"x ({form})")):
        wheels_for(read_lock(path), LINUX)


def test_a_wheel_by_url_for_another_python_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(OF_UV.replace("0.8.1-py3-none-any", "0.8.1-cp311-cp311-linux_x86_64"))
    with pytest.raises(NoWheelError, check=coded("lock-for-another")):
        wheels_for(read_lock(path), LINUX)


@pytest.mark.parametrize(
    "text",
    [
        OF_UV.replace('name = "demo"', 'name = "other"'),
        OF_UV.replace('version = "3.0"', 'version = "4.0"'),
        "not toml [",
        "lock-version = 3\n",
        'lock-version = "9"\ncreated-by = "x"\npackages = []\n',
        f"packages = {'[' * 5000}",
        f"lock-version = {'9' * 5000}",
    ],
)
def test_what_is_no_lock_is_named(tmp_path: Path, text: str) -> None:
    """gpkg 0.4.3 ends in a traceback where its own lock has a quote in it."""
    path = tmp_path / "pylock.toml"
    path.write_text(text)
    with pytest.raises(UsageError, check=coded("lock-invalid")):
        read_lock(path)


def test_who_takes_requirements_for_a_lock_is_told_what_installs_them(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("demo==1\n")
    with pytest.raises(UsageError, check=coded("lock-invalid", "'pip install -r'", "'uv pip sync'")):
        read_lock(path)


def test_a_lock_has_the_name_of_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("lock-name-invalid")):
        check_name(tmp_path / "lock.toml")


def test_requirements_carry_hashes_and_markers() -> None:
    text = requirements_text([lock_of(LINUX, "cp312", "x86_64"), lock_of(ARM, "cp312", "aarch64")]).decode()
    assert text.count("flash-attn @ https://wheels.example/simple/flash_attn-2.8.3-cp312-cp312-linux_") == 2
    assert text.count("platform_machine == 'aarch64'") == 1
    assert f"einops==0.8.1 \\\n    --hash=sha256:{SHA}\n" in text
