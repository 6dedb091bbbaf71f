"""The lines that the finder of a site gives, as its scripts make them."""

import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.releases import manifests_in
from wheelmill.client.choose.resolve import read_facts
from wheelmill.index.collect import site_of_releases
from wheelmill.index.site.finder import finder_data
from wheelmill.index.site.wheels import wheel_groups
from wheelmill.index.tree import Catalogue
from wheelmill.names import ProjectName
from wheelmill.release.directory import DirectoryStore
from wheelmill.system import own_installation

SCRIPTS = ("match.js", "projects.js", "install.js")
STATIC = own_installation.INDEX / "static"
PROGRAM = """
const { data, choice, root } = JSON.parse(require("fs").readFileSync(0));
const wheels = new Wheels(data);
const [row] = wheels.fitting(choice);
console.log(JSON.stringify(commands(row, choice, wheels, root + treeOf(row, choice.torch))));
"""


def finder_lines(
    store: DirectoryStore,
    catalogue: Catalogue,
    projects: Sequence[ProjectName],
    *,
    choice: Mapping[str, str],
    root: str,
) -> dict[str, str]:
    """Lines by tool for one of a site's projects, a Python and further ``choice``, CUDA 13.0 and torch 2.11."""
    site = site_of_releases(manifests_in(store), "")
    known = replace(catalogue, torch_url=read_facts().torch_url)
    data = finder_data({each: wheel_groups(site.projects[each]) for each in projects}, site.torches, known)
    usual = {"version": "", "cuda": "13.0", "torch": "2.11", "gpu": "", "pin": ""}
    chosen = {**usual, "platform": f"linux_{platform.machine()}", **choice}
    program = "\n".join((STATIC / script).read_text() for script in SCRIPTS) + PROGRAM
    asked = json.dumps({"data": data, "choice": chosen, "root": root})
    said = subprocess.run(["node", "--eval", program], input=asked, capture_output=True, text=True, check=True)
    lines: dict[str, str] = json.loads(said.stdout)
    return lines
