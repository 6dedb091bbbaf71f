"""The site that ``wheelmill run`` leaves beside its store."""

import hashlib
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from pypi_simple import ProjectPage

from tests.releases import store_in
from tests.unit.plan.examples import CONFIG
from tests.unit.release.conftest import NOW, certified_wheel
from wheelmill.build.local import LocalBuilder
from wheelmill.pipeline.run import Factory
from wheelmill.pipeline.run import run as run_plan
from wheelmill.plan.targets import Plan
from wheelmill.release.publish import publish
from wheelmill.smoke.environment import LocalEnvironments
from wheelmill.system.progress import Progress


def test_links_lead_to_a_store_with_any_name(tmp_path: Path) -> None:
    store = store_in(tmp_path / "releases #1 at 100%41")
    wheel = certified_wheel(tmp_path / "demo-1.0+cu130-py3-none-any.whl")
    publish(store, [wheel], now=NOW)
    output = tmp_path / "out"
    factory = Factory(
        builder=LocalBuilder(),
        environments=LocalEnvironments(compatibility=CONFIG.compatibility),
        policy="auto",
        store=store,
        config=CONFIG,
        output=output,
        progress=Progress(),
    )
    run_plan(Plan(targets=(), skips=()), factory)
    page = output / "site" / "simple" / "demo" / "index.html"
    (package,) = ProjectPage.from_html("demo", page.read_bytes(), base_url=page.as_uri()).packages
    target = Path(unquote(urlsplit(urljoin(page.as_uri(), package.url)).path))
    assert hashlib.sha256(target.read_bytes()).hexdigest() == package.digests["sha256"]
