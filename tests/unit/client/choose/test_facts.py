"""The quick way to the facts leads to the same facts."""

from pathlib import Path

from wheelmill.client.choose.facts import read_facts
from wheelmill.client.sources.page_cache import PageCache
from wheelmill.config.load import load_config
from wheelmill.system import resources


def test_they_are_what_the_configuration_says(tmp_path: Path) -> None:
    wanted = load_config(resources.CONFIG).compatibility
    for _ in ("from the file", "from the cache"):
        with PageCache(tmp_path) as cache:
            assert read_facts(cache) == wanted
