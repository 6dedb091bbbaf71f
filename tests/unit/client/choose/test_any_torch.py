"""Wheels that any torch of a range will do for, as names of others and METADATA say it."""

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.page_server import Answer, PageServer, links_page
from tests.unit.client.choose.test_wheel_inspection import Site
from tests.unit.client.conftest import TARGET, chosen
from wheelmill.client.choose.explain import Offer, explain, find_offer
from wheelmill.client.records import Search, TargetEnvironment
from wheelmill.names import CudaVersion, StableTorch, TorchVersion, project_name

STABLE = "demo-1.0+cu130-cp39-abi3-linux_x86_64.whl"
ORDINARY = "demo-1.0+cu130torch2.11-cp312-cp312-linux_x86_64.whl"
ANDHIGHER = "demo-1.0+cu130torch2.9.0andhigher-cp39-abi3-linux_x86_64.whl"


def beside(torch: str | None) -> TargetEnvironment:
    known = TorchVersion.parse(torch) if torch else None
    return replace(TARGET, torch=known, cuda=CudaVersion(13, 0) if torch else None)


@pytest.fixture
def site(server: PageServer, tmp_path: Path) -> Site:
    """A page with a wheel that METADATA says is for any torch from 2.10."""
    site = Site(server, tmp_path)
    site.add(STABLE, "Requires-Dist: torch>=2.10")
    return site


@pytest.mark.parametrize("torch", ["2.10", "2.11", "2.14", "2.15", "2.99"])
def test_it_is_chosen_for_every_torch_of_its_range(site: Site, torch: str) -> None:
    (choice,) = site.resolve(target=beside(torch)).choices.values()
    assert (choice.candidate.filename, choice.candidate.torch) == (STABLE, StableTorch(oldest=TorchVersion(2, 10)))


def test_it_is_never_chosen_for_an_older_one(site: Site) -> None:
    resolution = site.resolve(target=beside("2.9"))
    assert chosen(resolution) is None
    assert [missing.suggestion for missing in resolution.unresolved.values()] == ["--torch 2.10"]


def test_what_is_chosen_unseen_after_many_that_did_not_fit_says_so(site: Site) -> None:
    for minor in range(1, 11):
        site.add(STABLE.replace("1.0", f"1.{minor}"), "Requires-Dist: torch>=2.10")
    (choice,) = site.resolve(target=beside("2.9")).choices.values()
    assert (choice.candidate.filename, choice.notes) == (STABLE, ("was not inspected: 10 better ones did not fit",))


def test_an_open_target_gets_the_newest_torch(site: Site) -> None:
    resolution = site.resolve(target=beside(None))
    assert (chosen(resolution), str(resolution.environment.torch)) == (STABLE, "2.15")


def test_a_wheel_for_just_this_torch_comes_first(site: Site) -> None:
    site.add(ORDINARY, "Requires-Dist: torch==2.11.*")
    assert chosen(site.resolve(target=beside("2.11"))) == ORDINARY
    assert chosen(site.resolve(target=beside("2.12"))) == STABLE


def test_a_higher_version_comes_before_one_for_just_this_torch(site: Site) -> None:
    site.add(ORDINARY, "Requires-Dist: torch==2.11.*")
    newer = site.add(STABLE.replace("1.0", "1.1"), "Requires-Dist: torch>=2.10")
    assert chosen(site.resolve(target=beside("2.11"))) == newer


def test_what_others_write_into_names_means_the_same(site: Site) -> None:
    site.add(ANDHIGHER.replace("1.0", "2.0"), "Requires-Dist: torch")
    (choice,) = site.resolve(target=beside("2.9")).choices.values()
    assert choice.candidate.torch == StableTorch(oldest=TorchVersion(2, 9))
    verdicts = explain(Requirement("demo"), beside("2.8"), Search(named=(f"find-links:{site.server.url}/",))).verdicts
    reasons = {verdict.candidate.filename: [each.reason for each in verdict.against] for verdict in verdicts}
    assert reasons == {
        ANDHIGHER.replace("1.0", "2.0"): ["is for any torch from 2.9, the target has 2.8"],
        STABLE: ["requires torch>=2.10, the target has 2.8"],
    }


def offered(site: Site, *, inspect: bool = True) -> Offer:
    search = Search(named=(f"find-links:{site.server.url}/",), inspect=inspect)
    return find_offer(project_name("demo"), TARGET.platform, beside("2.11"), search)


def test_available_looks_into_wheels_whose_names_say_no_torch(site: Site) -> None:
    site.add(ORDINARY)
    offer = offered(site)
    assert [(each.cuda, each.torch, each.torch_in_words, each.pythons) for each in offer.combinations] == [
        ("13.0", "2.11", "2.11", ("cp312",)),
        ("13.0", "2.10+", "any torch from 2.10", ("cp39+",)),
    ]
    assert offer.warnings == ()
    (_, unread) = offered(site, inspect=False).combinations
    assert unread.torch == "2.11"


def test_available_names_the_pythons_of_both_stable_abis(site: Site) -> None:
    site.add(STABLE.replace("cp39-abi3", "cp315-abi3.abi3t"))
    assert [each.pythons for each in offered(site).combinations] == [("cp39+", "cp315+", "cp315t+")]


def test_a_page_of_many_cudas_does_not_have_all_of_them_looked_into(site: Site) -> None:
    page = site.server.pages["/"]
    assert isinstance(page, Answer)
    links = (f"demo-1.0+cu{major}.0-cp39-abi3-linux_x86_64.whl" for major in range(20, 70))
    site.server.pages["/"] = Answer(page.body + links_page(*links))
    offered(site)
    assert len({path for path, _ in site.server.asked if path.endswith(".whl")}) == 20
