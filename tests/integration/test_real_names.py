"""773 wheels that people built for themselves, over the facts that ship.

Each was built by somebody, so whatever the facts call impossible must be impossible for a reason that a person would
give too.
"""

import re
from collections import Counter

from tests.flash_attn_wheels import NAMES
from wheelmill.config.load import load_config
from wheelmill.config.model.package import Package
from wheelmill.names import Platform, PythonVersion, project_name, project_version
from wheelmill.plan.matrix import find_obstacle
from wheelmill.plan.targets import Cell
from wheelmill.system import own_installation
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import WheelName

FACTS = load_config(own_installation.CONFIG).compatibility
PACKAGE = Package(name=project_name("flash-attn"), versions=(), extra_deps=("torch",))

NOT_BUILT_HERE = "for Windows, which is no platform of ours"
TOOLKITS_LABEL = "its label has the CUDA of the toolkit; torch of that release was never published for it"
NOT_PROMISED = "torch 2.9 was published for CUDA 12.9 once, without a promise to go on"
FIRST_PATCH_ONLY = "torch 2.12.0 had Python 3.13t; 2.12.1, which is built against, has not"
POSSIBLE = "can be built"

EXPECTED = {
    NOT_BUILT_HERE: (65, r"platform win_amd64 is not in compatibility\.yml"),
    TOOLKITS_LABEL: (124, r"torch 2\.\d is not published for CUDA 12\.[4689] on linux_.*|CUDA 13\.1 is not in .*"),
    NOT_PROMISED: (9, r"torch 2\.9 is not published for CUDA 12\.9 on linux_x86_64 \(12\.6, 12\.8, 13\.0 there\)"),
    FIRST_PATCH_ONLY: (6, r"torch 2\.12 is not published for Python 3\.13t"),
    POSSIBLE: (569, "None"),
}
KINDS = (
    (NOT_BUILT_HERE, r"-win_amd64\.whl$"),
    (TOOLKITS_LABEL, r"\+cu12[46]torch2\.[123]\b"),
    (TOOLKITS_LABEL, r"\+cu12[68]torch2\.[45]\b"),
    (TOOLKITS_LABEL, r"\+cu12[89]torch2\.6\b"),
    (TOOLKITS_LABEL, r"\+cu124torch2\.[789]\b|\+cu131torch2\.9\b"),
    (NOT_PROMISED, r"\+cu129torch2\.9\b.*x86_64"),
    (FIRST_PATCH_ONLY, r"torch2\.12-cp313-cp313t-"),
)


def kind_of(filename: str) -> str:
    """What research says of a wheel, from its name alone."""
    name = re.sub(r"git[0-9a-f]+", "", filename)
    return next((kind for kind, pattern in KINDS if re.search(pattern, name)), POSSIBLE)


def labelled(name: WheelName) -> tuple[str, Label | None]:
    """The upstream version and the label of a wheel.

    Where a commit stands behind the torch version, as in ``3.0.0+cu128torch2.8git1a2b3c4``, it belongs to the upstream
    version: ours would be ``3.0.0+git1a2b3c4.cu128torch2.8``, so that is what is planned.
    """
    _, commit, number = (name.version.local or "").partition("git")
    return f"{name.version.public}+{commit}{number}" if commit else name.version.public, name.label


def cells_of(filename: str) -> list[Cell]:
    """What one wheel stands for: for a wheel of the stable ABI, a cell for every Python from its own on."""
    name = WheelName.parse(filename)
    version, label = labelled(name)
    assert label is not None
    (platform,) = {re.sub(r"^manylinux(2014|(_\d+){2})_", "linux_", tag) for tag in name.platforms}
    ((interpreter, abi),) = {(tag.interpreter, tag.abi) for tag in name.tags}
    pythons = [PythonVersion.parse(interpreter if abi == "abi3" else abi)]
    if abi == "abi3":
        known = (python for python in FACTS.torch_pythons if not python.free_threaded)
        pythons = [python for python in known if python >= pythons[0]]
    return [
        Cell(
            project=name.project,
            version=project_version(version),
            python=python,
            cuda=label.cuda,
            torch=label.torch,
            platform=Platform.parse(platform),
        )
        for python in pythons
    ]


def reason_against(filename: str) -> str | None:
    skips = [find_obstacle(cell, PACKAGE, FACTS) for cell in cells_of(filename)]
    return None if None in skips else next(skip.reason for skip in skips if skip)


def test_the_facts_allow_or_refuse_every_real_wheel_for_the_right_reason() -> None:
    wrong = [
        f"{name}: {reason}; expected: {kind_of(name)}"
        for name in NAMES
        if not re.fullmatch(EXPECTED[kind_of(name)][1], str(reason := reason_against(name)))
    ]
    assert wrong == []


def test_every_kind_of_reason_has_its_count() -> None:
    assert Counter(map(kind_of, NAMES)) == {kind: count for kind, (count, _) in EXPECTED.items()}
    assert sum(count for count, _ in EXPECTED.values()) == len(NAMES) == 773


def test_a_commit_behind_the_torch_version_belongs_to_the_version_of_upstream() -> None:
    assert [name for name in NAMES if WheelName.parse(name).label is None] == []
    with_commit = [name for name in NAMES if re.search(r"torch[0-9.]+git", name)]
    assert len(with_commit) == 29
    (cell, *_) = cells_of(with_commit[0])
    assert Label.parse(cell.label.on(cell.version).local or "") == cell.label
    assert cell.version == "3.0.0+gite2743ab"


def test_wheels_of_the_stable_abi_have_the_oldest_python_as_their_floor() -> None:
    stable = [name for name in NAMES if "-abi3-" in name]
    assert len(stable) == 29
    assert {WheelName.parse(name).project for name in stable} == {"flash-attn-3"}
    assert {str(cells_of(name)[0].python) for name in stable} == {"3.9"}
