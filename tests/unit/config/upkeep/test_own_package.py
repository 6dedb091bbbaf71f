"""What ``wheelmill init`` writes is read from a source, and nothing of that is run."""

from pathlib import Path

import pytest
import yaml

from tests.refusals import coded
from wheelmill.config.load import load_compatibility, load_config
from wheelmill.config.upkeep.own_package import TORCHES, read_own_package, workflow_text
from wheelmill.errors import UsageError
from wheelmill.names import project_name
from wheelmill.system import resources

DEMO = project_name("my-kernels")
PYPROJECT = '[build-system]\nrequires = ["setuptools", "ninja>=1.11"{torch}]\n[project]\nname = "My_Kernels"\n{rest}'
SETUP = """
import torch.utils.cpp_extension as cpp
raise SystemExit("was run")
setuptools.setup(name="my_kernels", version="1.10", ext_modules=[])
"""


def entry_of(folder: Path, **given: str) -> str:
    """What is written for a source, once it was read back."""
    facts = load_compatibility(resources.CONFIG)
    text = read_own_package(folder, **given).entry(facts)
    (folder / "wheelmill.yml").write_text(text)
    assert load_config(folder / "wheelmill.yml").packages.keys() == {DEMO}
    return text


def test_a_package_with_torch_is_built_for_the_newest_ones(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT.format(torch=', "torch"', rest='version = "1.2"\n'))
    content = yaml.safe_load(entry_of(tmp_path))
    assert content["packages"] == {
        "my-kernels": {
            "source": ".",
            "build_args": "--no-build-isolation",
            "extra_deps": ["ninja>=1.11", "setuptools", "torch"],
        }
    }
    config = load_config(tmp_path / "wheelmill.yml")
    window = config.packages[DEMO].window.torch
    assert window
    built = [torch for torch in config.compatibility.torch if str(torch) in window]
    assert built == sorted(config.compatibility.torch)[-TORCHES:]
    assert config.packages[DEMO].versions == ("1.2",)


def test_a_package_without_torch_is_built_in_isolation(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT.format(torch="", rest='version = "1.2"\n'))
    content = yaml.safe_load(entry_of(tmp_path))
    assert content["packages"] == {"my-kernels": {"source": ".", "needs": "cuda"}}
    assert "torch" not in content["defaults"]


@pytest.mark.parametrize("dependency", ["torch", "torch>=2.10"])
def test_torch_may_be_what_it_depends_on(dependency: str, tmp_path: Path) -> None:
    rest = f'version = "1.2"\ndependencies = ["{dependency}"]\n'
    (tmp_path / "pyproject.toml").write_text(PYPROJECT.format(torch="", rest=rest))
    assert 'extra_deps: ["ninja>=1.11", "setuptools", "torch"]' in entry_of(tmp_path)


def test_setup_py_is_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    text = entry_of(tmp_path)
    assert 'extra_deps: ["torch"]' in text
    assert load_config(tmp_path / "wheelmill.yml").packages[DEMO].versions == ("1.10",)


@pytest.mark.parametrize(
    ("given", "missing"), [({"version": "1.0"}, "the package's name"), ({"name": "my-kernels"}, "the version")]
)
def test_what_a_source_computes_must_be_said(given: dict[str, str], missing: str, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(name=NAME, version=read('VERSION'))")
    with pytest.raises(UsageError, match=missing):
        read_own_package(tmp_path, **given)
    assert 'versions: ["1.0"]' in entry_of(tmp_path, name="my-kernels", version="1.0")


@pytest.mark.parametrize("content", ["setup(", "\0", "(" * 10_000])
def test_a_setup_py_that_is_no_python_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(content)
    with pytest.raises(UsageError, check=coded("setup-script-invalid", "setup.py")):
        read_own_package(tmp_path)


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, check=coded("package-invalid", "expected a project name")):
        read_own_package(tmp_path, name="a b", version="1")


def test_the_workflow_calls_ours_at_one_commit() -> None:
    content = yaml.safe_load(workflow_text("me/wheelmill", "0" * 40))
    (job,) = content["jobs"].values()
    assert job["uses"] == f"me/wheelmill/.github/workflows/package.yml@{'0' * 40}"
    assert content["permissions"] == {}
