"""The small CUDA package of the tests in a folder of a git repository, which only clones on this disk have."""

import json
import shutil
from pathlib import Path

import pytest

from tests.real.act import git
from tests.real.conftest import DEMO, Command
from wheelmill.build.provenance import provenance_of
from wheelmill.config.model.package_parts import RequiresDist, SystemPackages
from wheelmill.names import project_name
from wheelmill.wheel.metadata import requires_dist_of
from wheelmill.wheel.name import WheelFile

pytestmark = pytest.mark.real

SERVER = "https://127.0.0.1:9/demo"
PACKAGES = """
packages:
  wheelmill-demo:
    versions: ["1.0.0"]
    pypi: absent
    source: {git: "SERVER/upstream.git", ref: "v{version}", submodules: true, subdirectory: bindings/python}
    requires_dist: {remove: [black], replace: ["Packaging>=20"], add: ["typing-extensions"]}
    system_packages: {dnf: [glibc-devel], apt: [libc6-dev]}
    architectures: ["9.0"]
"""


def new_repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "a commit")


def upstream_in(folder: Path) -> Path:
    """A repository with the demo in a folder, whose kernel includes a header of a submodule at the top."""
    values = new_repository(folder / "values")
    (values / "value.h").write_text("typedef double Value;\n")
    commit(values)
    upstream = new_repository(folder / "upstream")
    demo = upstream / "bindings" / "python"
    shutil.copytree(DEMO / "wheelmill-demo", demo)
    kernels, project = demo / "wheelmill_demo" / "_kernels.cu", demo / "pyproject.toml"
    kernels.write_text(
        f'#include "../../../values/value.h"\n{kernels.read_text()}'.replace("const double *", "const Value *")
    )
    required = 'dependencies = ["black==21.4b2", "packaging<20"]\n\n[tool.setuptools]'
    project.write_text(project.read_text().replace("[tool.setuptools]", required))
    git(upstream, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", values.as_uri(), "values")
    git(upstream, "config", "--file", ".gitmodules", "submodule.values.url", "../values.git")
    commit(upstream)
    git(upstream, "tag", "v1.0.0")
    return upstream


def test_a_subdirectory_becomes_a_wheel_with_the_requirements_of_its_entry(wheelmill: Command, tmp_path: Path) -> None:
    upstream = upstream_in(tmp_path / "repositories")
    config = tmp_path / "config"
    config.mkdir()
    (config / "packages.yml").write_text(PACKAGES.replace("SERVER", SERVER))
    clones = [f"--clone={SERVER}/{name}={upstream.with_name(name)}" for name in ("upstream", "values")]
    wheelmill("config", "lock", "--config", config, clones[0])
    target = ("wheelmill-demo", "--config", config, "--python", "3.12", "--cuda", "13.0")
    done = wheelmill("run", *target, *clones, "--output", tmp_path, "--json")
    (verdict,) = json.loads(done.stdout)["wheels"]
    assert verdict["ok"], verdict
    (wheel,) = tmp_path.glob("wheels/*.whl")
    assert set(requires_dist_of(wheel)) == {"Packaging>=20", "typing-extensions"}
    provenance = provenance_of(WheelFile.at(wheel))
    assert provenance is not None
    assert provenance.requires_dist == RequiresDist(
        remove=(project_name("black"),), replace=("Packaging>=20",), add=("typing-extensions",)
    )
    assert provenance.system_packages == SystemPackages(dnf=("glibc-devel",), apt=("libc6-dev",))
