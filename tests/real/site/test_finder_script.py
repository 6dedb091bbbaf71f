"""The site's script and the client agree on which wheels fit, over every pair."""

import json
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.tags import parse_tag

from tests.flash_attn_wheels import NAMES
from tests.releases import manifests_in, store_in
from tests.unit.client.conftest import TARGET, candidates
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.client.choose.fit import mismatches
from wheelmill.client.choose.resolve import read_facts
from wheelmill.config.load import load_config
from wheelmill.index.collect import site_of_folder, site_of_releases
from wheelmill.index.site.finder import EMPTY_CATALOGUE, FinderData, finder_data
from wheelmill.index.site.wheels import Kind, WheelGroup, wheel_groups
from wheelmill.names import Architecture, CudaVersion, PythonVersion, TorchVersion, project_name
from wheelmill.release.publish import publish
from wheelmill.system import own_installation
from wheelmill.wheel.gpu_code import CARDS, lacks_code_for
from wheelmill.wheel.label import BuiltFor
from wheelmill.wheel.platforms import PLATFORMS, Libc, tag_places

pytestmark = pytest.mark.real

DEMO, FLASH_ATTN_3 = project_name("demo"), project_name("flash-attn-3")
TAGS = (
    *(
        *("any", "linux_x86_64", "linux_aarch64", "manylinux2014_x86_64", "manylinux_2_28_x86_64"),
        "manylinux_2_28_aarch64",
    ),
    *("musllinux_1_2_x86_64", "win_amd64", "win_arm64", "macosx_11_0_arm64", "macosx_14_0_x86_64"),
)


def answers(found: FinderData, expression: str) -> Any:
    """What the scripts say, with ``wheels`` of the index at hand."""
    names = ("match.js", "reasons.js", "projects.js", "install.js")
    scripts = "\n".join((own_installation.INDEX / "static" / name).read_text() for name in names)
    program = f"{scripts}\nconst wheels = new Wheels(JSON.parse(require('fs').readFileSync(0)));\n"
    program += f"console.log(JSON.stringify({expression}));"
    command = ["node", "--eval", program]
    return json.loads(
        subprocess.run(command, input=json.dumps(found), stdout=subprocess.PIPE, text=True, check=True).stdout
    )


def test_every_code_runs_on_the_same_gpus() -> None:
    known = load_config(own_installation.CONFIG).compatibility.cuda
    compiled = {code for cuda in known.values() for code in cuda.architectures}
    codes = [Architecture.parse(each) for each in sorted(compiled)]
    having = [*(((code,), ()) for code in codes), *(((), (code,)) for code in codes)]
    kinds = [Kind(version="1", exact_version="1", platform="any", glibc=None, sass=a, ptx=b) for a, b in having]
    found = finder_data({DEMO: [WheelGroup(kind=kind, wheels=()) for kind in kinds]}, {})
    gpus = json.dumps([gpu.capability for gpu in CARDS])
    said = answers(found, f"wheels.of('demo').map((row) => {gpus}.map((gpu) => codeFor(row, gpu) !== ''))")
    assert said == [[not lacks_code_for(gpu, *each, driver=None, cuda=None) for gpu in CARDS] for each in having]
    unknown = answers(found, "['', '99.0', 'constructor'].map((gpu) => codeFor(wheels.of('demo')[0], gpu))")
    assert unknown == ["unknown"] * 3


def test_every_tag_is_for_the_same_platforms(tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases")
    names = {f"{number}.0": tag for number, tag in enumerate(TAGS)}
    wheels = [tmp_path / f"demo-{version}-py3-none-{tag}.whl" for version, tag in names.items()]
    publish(store, [certified_wheel(wheel, content=b"") for wheel in wheels], now=NOW)
    files = site_of_releases(manifests_in(store), "").trees[0].projects[DEMO]
    found = finder_data({DEMO: wheel_groups(files)}, {})
    choices = [{"project": DEMO, "platform": str(platform), "gpu": ""} for platform in PLATFORMS]
    fitting = answers(found, f"{json.dumps(choices)}.map((choice) => wheels.fitting(choice).map((row) => row.version))")
    said = {
        (tag, platform): version in fits
        for (version, tag), (platform, fits) in product(names.items(), zip(PLATFORMS, fitting, strict=True))
    }
    for (tag, platform), fits in said.items():
        accepted = tag_places(PythonVersion(3, 12), platform, Libc("glibc", 2, 40) if platform.is_linux else None)
        assert fits is any(each in accepted for each in parse_tag(f"py3-none-{tag}")), (tag, platform)


def test_a_wheel_for_many_torches_fits_each_of_them_and_stands_in_its_tree(tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases")
    wheel = tmp_path / "demo-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"
    publish(store, [certified_wheel(wheel, requires=("torch>=2.10",))], now=NOW)
    minors = [TorchVersion(2, minor) for minor in (9, 10, 11, 12)]
    site = site_of_releases(manifests_in(store), "", torches={CudaVersion(13, 0): minors})
    found = finder_data({DEMO: wheel_groups(site.projects[DEMO])}, site.torches)
    choice = {"project": DEMO, "platform": "linux_x86_64", "gpu": "", "python": "3.9", "cuda": "13.0"}
    choices = json.dumps([{**choice, "torch": str(torch)} for torch in minors])
    assert answers(found, f"{choices}.map((choice) => wheels.fitting(choice).length)") == [0, 1, 1, 1]
    assert answers(found, f"wheels.nearest({choices}[0]).map(({{ changes }}) => changes)") == [{"torch": "2.10"}]
    row = "wheels.of('demo')[0]"
    told = answers(found, f"[{row}.exactVersion, treeOf({row}, '2.12'), {row}.anyTorch]")
    assert told == ["1.0+cu130", "cu130/torch2.12/simple/", True]


LABELS = (
    *(
        "cu130torch2.11",
        "cu132torch2.13gite2743ab",
        "cu12torch2.8cxx11abitrue",
        "cu126torch2.8",
        "cuda12.8.torch2.10.0",
    ),
    *("cu130.torch213", "cu128.torch210", "cu130.torch210.gb300", "cu12torch210"),
    *("cu130torch2.9.0andhigher", "torch2100cu128", "pt211cu130", "cu12", "torch2.8", "rocm6.4.torch2.8.0", "cpu", ""),
)


def test_every_label_is_for_the_same_cuda_and_torch(tmp_path: Path) -> None:
    """Where the script finds a wheel, the client takes it, too; the client also takes one for an older CUDA."""
    names = {label: f"demo-1.0{'+' * bool(label)}{label}-cp312-cp312-linux_x86_64.whl" for label in LABELS}
    for name in names.values():
        certified_wheel(tmp_path / name, content=b"")
    minors = [TorchVersion(2, minor) for minor in (8, 9, 10, 11, 13)]
    cudas = [CudaVersion(*each) for each in ((11, 8), (12, 6), (12, 8), (13, 0), (13, 2))]
    site = site_of_folder(tmp_path, "", torches=dict.fromkeys(cudas, minors), warn=lambda _text: None)
    found = finder_data({DEMO: wheel_groups(site.projects[DEMO])}, site.torches)
    pairs = list(product(cudas, minors))
    choice = {"project": DEMO, "platform": "linux_x86_64", "gpu": "", "python": "3.12"}
    choices = json.dumps([{**choice, "cuda": str(cuda), "torch": str(torch)} for cuda, torch in pairs])
    fitting = answers(found, f"{choices}.map((choice) => wheels.fitting(choice).map((row) => row.exactVersion))")
    for (cuda, torch), said in zip(pairs, fitting, strict=True):
        target = replace(TARGET, cuda=cuda, torch=torch, torch_release=None, python=PythonVersion(3, 12), driver=None)
        listed = {str(each.version): each for each in candidates(list(names.values()))}
        taken = {
            version
            for version, each in listed.items()
            if not list(mismatches(each, Requirement("demo"), target, read_facts())) and each.label.cuda in (None, cuda)
        }
        assert set(said) == taken, (cuda, torch)


def test_a_wheel_of_no_tree_is_pinned_by_its_label(tmp_path: Path) -> None:
    for label in ("cu12", "cu13", "cu130"):
        certified_wheel(tmp_path / f"demo-1.0+{label}-cp312-cp312-linux_x86_64.whl", content=b"")
    site = site_of_folder(tmp_path, "", warn=lambda _text: None)
    found: Any = {**finder_data({DEMO: wheel_groups(site.projects[DEMO])}, {}), "elsewhere": {DEMO: "same"}}
    choice = {"project": DEMO, "platform": "linux_x86_64", "gpu": "", "pin": ""}
    chosen = f"{{ ...{json.dumps(choice)}, cuda: row.cudas[0] }}"
    pins = f"wheels.of('demo').map((row) => commands(row, {chosen}, wheels, 'A').pip)"
    assert sorted(text.split("==")[1] for text in answers(found, pins)) == ["1.0", "1.0+cu12", "1.0+cu13"]


def test_no_wheel_with_a_commit_in_its_label_fits_another_cuda_and_torch(tmp_path: Path) -> None:
    labels = ("cu128torch2.9gite2743ab", "cu132torch2.13gite2743ab")
    for label in labels:
        certified_wheel(tmp_path / f"flash_attn_3-3.0.0+{label}-cp39-abi3-linux_x86_64.whl", content=b"")
    site = site_of_folder(tmp_path, "", torches=read_facts().torches_of, warn=lambda _text: None)
    project = project_name("flash-attn-3")
    catalogue = replace(EMPTY_CATALOGUE, pythons=read_facts().torch_pythons)
    found = finder_data({project: wheel_groups(site.projects[project])}, site.torches, catalogue)
    wanted = {"project": project, "platform": "linux_x86_64", "gpu": "", "python": "3.12"}
    choices = json.dumps(
        [{**wanted, "cuda": cuda, "torch": torch} for cuda, torch in (("12.8", "2.9"), ("13.0", "2.9"))]
    )
    answer = answers(found, f"{choices}.map((choice) => wheels.fitting(choice).map((row) => row.exactVersion))")
    assert answer == [[f"3.0.0+{labels[0]}"], []]


def flash_attn_3(folder: Path) -> FinderData:
    """Data of every wheel of flash-attn-3 in the releases of another factory, with code for Hopper alone."""
    for name in NAMES:
        if name.startswith("flash_attn_3-"):
            certified_wheel(folder / name, content=b"")
    facts = read_facts()
    site = site_of_folder(folder, "", torches=facts.torches_of, warn=lambda _text: None)
    drivers = {cuda: release.minimum_driver for cuda, release in facts.cuda.items()}
    catalogue = replace(EMPTY_CATALOGUE, pythons=facts.torch_pythons, drivers=drivers)
    found = finder_data({FLASH_ATTN_3: wheel_groups(site.projects[FLASH_ATTN_3])}, site.torches, catalogue)
    gpus = {gpu.capability: ("machine code", "9.0a") if gpu.capability == "9.0" else None for gpu in CARDS}
    for code in found["wheels"][FLASH_ATTN_3]["code"]:
        code |= {"sass": ["9.0a"], "runs": gpus}
    return found


def test_every_pair_of_flash_attn_3_is_found_by_its_cuda_and_torch_alone(tmp_path: Path) -> None:
    found = flash_attn_3(tmp_path)
    wheels = found["wheels"][FLASH_ATTN_3]
    assert wheels["versions"] == ["3.0.0"]
    versions = [name.split("-")[1] for name in NAMES if name.startswith("flash_attn_3-")]
    labels = {version: BuiltFor.of_installed(version) for version in versions}
    assert set(wheels["exact_versions"]) == set(labels)
    choices = [
        {"project": FLASH_ATTN_3, "version": version, "cuda": str(named.cuda), "torch": str(named.torch)}
        for named in labels.values()
        for version in ("", "3.0.0")
    ]
    said = answers(
        found,
        f"{json.dumps(choices)}.map((choice) => [...new Set(wheels.fitting(choice).map((row) => row.exactVersion))])",
    )
    assert said == [[exact] for exact in labels for _ in range(2)]


def refusals(found: FinderData, **choice: str) -> Any:
    """The exact version of each of the nearest wheels, the reasons against it, and what a click changes."""
    chosen = json.dumps({"project": FLASH_ATTN_3, "gpu": "", **choice})
    word = "(axis, value) => `${axis} ${value}`"
    reasons = f"violated.map((axis) => reasonAgainst(row, axis, {chosen}, wheels.data, {word}))"
    return answers(found, f"wheels.nearest({chosen}).map(({{ row, violated, changes }}) => [{reasons}, changes])")


def test_a_refusal_names_every_constraint_gpu_and_driver_included(tmp_path: Path) -> None:
    found = flash_attn_3(tmp_path)
    machine = {"python": "3.12", "platform": "linux_x86_64", "cuda": "12.6", "gpu": "7.5"}
    (reasons, changes), *_ = refusals(found, **machine)
    assert (reasons, changes) == (["It has no code that runs on compute capability 7.5; it has 9.0a."], {})
    machine = {**machine, "gpu": "9.0", "torch": "2.13", "cuda": "13.0", "driver": "535.54.03"}
    driver, cuda, *_ = refusals(found, **machine)
    assert driver == [["It needs NVIDIA driver 580.65.06 or newer; yours is 535.54.03."], {}]
    assert cuda == [["It is for cuda 12.6, not cuda 13.0."], {"cuda": "12.6"}]
    (reasons, changes), *_ = refusals(found, version="2.0", torch="2.5", platform="win_amd64", glibc="2.17")
    assert sorted(changes) == ["torch", "version"]
    assert reasons[0] == "It is version 3.0.0, not 2.0."


def test_what_is_not_chosen_is_open_and_refuses_nothing(tmp_path: Path) -> None:
    found = flash_attn_3(tmp_path)
    everything = f"wheels.fitting({{ project: '{FLASH_ATTN_3}' }})"
    assert answers(found, f"{everything}.length === wheels.of('{FLASH_ATTN_3}').length")
    decide = "((choice) => wheels.decide(wheels.fitting(choice), choice))"
    assert answers(found, f"{decide}({{ project: '{FLASH_ATTN_3}' }})") == {
        "agreed": {},
        "open": ["python", "platform", "cuda", "torch"],
    }
    chosen = {"project": FLASH_ATTN_3, "python": "3.12", "cuda": "12.4"}
    assert answers(found, f"{decide}({json.dumps(chosen)})") == {
        "agreed": {"platform": "linux_x86_64", "torch": "2.6"},
        "open": [],
    }
