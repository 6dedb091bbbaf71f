"""What people are told to type: a package that the package index has from another home is asked of this index alone."""

import re
import shlex
from dataclasses import replace
from html import unescape

import pytest

from tests.unit.index.conftest import Release, people
from tests.unit.plan.examples import CONFIG, DEMO, PLAIN
from wheelmill.config.model.package import NameElsewhere
from wheelmill.config.model.package_parts import Aliases, GitSource
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue, Site
from wheelmill.names import CudaVersion, Platform, ProjectName, TorchVersion
from wheelmill.plan.targets import Plan

WHEEL = "demo-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
ABOVE = "plain-1.0+cu130torch2.11-cp311-cp311-manylinux_2_28_x86_64.whl"
REQUIRES = ("torch==2.11.*", "einops>=0.8; python_version < '3.13'", "black; extra == 'dev'", "plain")


def catalogue(**claims: NameElsewhere | None) -> Catalogue:
    """Packages from git, with what the package index is said to have under their names."""
    source = GitSource(git="https://git.example/demo", ref="main")
    packages = {
        ProjectName(name): replace(CONFIG.packages[DEMO], name=ProjectName(name), source=source, pypi=claim)
        for name, claim in claims.items()
    }
    return Catalogue(packages=packages, plan=Plan(targets=(), skips=()), drivers={})


def commands(site: Site, known: Catalogue | None, project: str = "demo") -> list[str]:
    """What a page of a package tells people to type."""
    pages = people(site, known)
    page = pages[f"packages/{project}/index.html"].decode()
    shown = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, re.DOTALL)
    assert b"--extra-index-url" not in pages["index.html"]
    return [line for text in shown if "badge.svg" not in text for line in unescape(text).splitlines()]


@pytest.mark.parametrize("known", [catalogue(demo=claim) for claim in ("other", "absent", None)] + [None])
def test_a_name_that_others_may_have_is_of_this_index_alone(known: Catalogue | None, release: Release) -> None:
    site = site_of_releases(release(WHEEL, requires=REQUIRES[:3]), "")
    assert commands(site, known) == [
        "pip install 'einops>=0.8; python_version < \"3.13\"'",
        "pip install --index-url ADDRESS --no-deps demo==1.0+cu130torch2.11",
    ]


def test_a_requirement_names_no_variable_of_an_installer_and_no_code_of_a_notebook(release: Release) -> None:
    requires = ("evil @ https://h.example/${SECRET}/{__import__('os').system('id')}",)
    first, *_ = commands(site_of_releases(release(WHEEL, requires=requires), ""), None)
    (text,) = shlex.split(first)[2:]
    assert text == "evil @ https://h.example/$%7BSECRET%7D/%7B__import__('os').system('id')%7D"


def test_what_the_package_index_has_from_the_same_home_may_be_looked_for_in_both(release: Release) -> None:
    site = site_of_releases(release(WHEEL), "")
    both = ["pip install --extra-index-url ADDRESS --only-binary demo demo"]
    assert commands(site, catalogue(demo="same")) == both
    sdist = Catalogue(packages={DEMO: CONFIG.packages[DEMO]}, plan=Plan(targets=(), skips=()), drivers={})
    assert commands(site, sdist) == both


def test_wheels_of_no_tree_are_pinned_by_their_label(release: Release) -> None:
    """All CUDAs of a version stand in the one index that has them, where a pin of the version takes any."""
    names = (f"demo-1.0+{label}-cp311-cp311-linux_x86_64.whl" for label in ("cu12", "cu13"))
    (only,) = commands(site_of_releases(release(*names), ""), catalogue(demo="same"))
    assert only == "pip install --extra-index-url ADDRESS --only-binary demo demo==1.0+cu13"


@pytest.mark.parametrize("claim", ["same", "other"])
@pytest.mark.parametrize("cuda", [CudaVersion(12, 6), CudaVersion(13, 0)])
def test_torch_comes_first_from_its_own_index_where_the_package_index_has_another_build(
    cuda: CudaVersion, claim: NameElsewhere, release: Release
) -> None:
    def torch_url(torch: TorchVersion, cuda: CudaVersion, platform: Platform) -> str | None:
        assert (str(torch), str(platform)) == ("2.11", "linux_x86_64")
        return None if cuda == CudaVersion(13, 0) else f"https://h.example/a&b/{cuda.tag}"

    site = site_of_releases(release(WHEEL.replace("cu130", cuda.tag), requires=REQUIRES[:1]), "")
    known = replace(catalogue(demo=claim), torch_url=torch_url)
    of_torch = ["pip install --index-url 'https://h.example/a&b/cu126' 'torch==2.11.*'"] * (cuda.major == 12)
    assert commands(site, known)[:-1] == of_torch
    pages = people(site, known)
    for page in (f"packages/demo/1.0/{cuda.tag}torch2.11/index.html", "packages/demo/1.0/index.html"):
        assert re.findall(r"pip install --index-url 'https.*", unescape(pages[page].decode())) == of_torch
    found = finder_data({DEMO: wheel_groups(site.projects[DEMO])}, {}, known)["torch_sources"]
    wanted = {"linux_x86_64 12.6 2.11": ("torch==2.11.*", "https://h.example/a&b/cu126")}
    assert found == (wanted if of_torch else {})


def test_the_torch_of_wheels_for_many_is_the_newest_and_any_platform_has_one(release: Release) -> None:
    wheel = "demo-1.0+cu126-cp39-abi3-manylinux_2_28_x86_64.whl"
    torches = {CudaVersion(12, 6): [TorchVersion(2, minor) for minor in (9, 10, 11)]}
    site = site_of_releases(release(wheel, requires=("torch>=2.10",)), "", torches=torches)
    known = replace(catalogue(demo="same"), torch_url=lambda _torch, cuda, _platform: f"https://h.example/{cuda.tag}")
    assert commands(site, known)[0] == "pip install --index-url https://h.example/cu126 'torch==2.11.*'"
    found = finder_data({DEMO: wheel_groups(site.projects[DEMO])}, site.torches, known)["torch_sources"]
    assert found.keys() == {"linux_x86_64 12.6 2.10", "linux_x86_64 12.6 2.11"}


def test_a_package_that_requires_such_a_name_is_asked_of_this_index_alone_too(release: Release) -> None:
    site = site_of_releases(release(WHEEL, ABOVE, requires=REQUIRES), "")
    known = catalogue(demo="same", plain="other")
    assert [line for line in commands(site, known) if "plain" in line or "--extra-index-url" in line] == []
    groups = {project: wheel_groups(files) for project, files in site.projects.items()}
    found = finder_data(groups, {}, known)
    assert (found["requires"], found["elsewhere"]) == ({"demo": ["plain"]}, {"demo": "same", "plain": "other"})
    assert found["wheels"]["demo"]["dependencies"] == [['einops>=0.8; python_version < "3.13"']]


def test_pages_say_whose_the_name_is(release: Release) -> None:
    site = site_of_releases(release(WHEEL), "")
    pages = people(site, catalogue(demo="other"))
    assert b"PyPI has another project named demo." in pages["packages/demo/index.html"]


def test_the_first_page_groups_packages_by_what_they_are_for(release: Release) -> None:
    packages = dict(CONFIG.packages) | {DEMO: replace(CONFIG.packages[DEMO], tags=("3d", "graph"))}
    known = Catalogue(packages=packages, plan=Plan(targets=(), skips=()), drivers={})
    site = site_of_releases(release(WHEEL, "plain-2.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl"), "")
    first = people(site, known)["index.html"].decode()
    assert re.findall(r"<h3>(3D|Graphs|Others)</h3>|<li><a href=\"packages/(\w+)/\"", first) == [
        ("3D", ""),
        ("", DEMO),
        ("Others", ""),
        ("", PLAIN),
    ]


def test_a_page_names_the_aliases_that_say_the_cuda(release: Release) -> None:
    site = site_of_releases(release(WHEEL, WHEEL.replace("cu130", "cu128")), "")
    known = catalogue(demo="other")
    aliases = Aliases(suffix=True, extras=ProjectName("demo-gpu"))
    named = replace(known, packages={DEMO: replace(known.packages[DEMO], aliases=aliases)})
    shown = people(site, named)["packages/demo/index.html"].decode()
    names = ("demo-cu12", "demo-cu13", "demo-gpu[cuda12]", "demo-gpu[cuda13]")
    assert f"names that say the CUDA: {', '.join(f'<code>{name}</code>' for name in names)}." in shown
