"""The pictures of docs/pictures that are drawn: a wheel's name, its address, the layers below it, its way, and a run.

Each is 360 wide, so that its text can be read on a phone, and has the site's colours, light and dark.
"""

import re
from collections.abc import Sequence
from html import escape
from typing import Final

import yaml

from tests.commands import ROOT
from tests.reference.compatibility import FACTS, X86
from wheelmill.build import provenance
from wheelmill.config.load import PACKAGES, lock_path
from wheelmill.names import Architecture
from wheelmill.release.manifest.record import MANIFEST
from wheelmill.smoke import verdict
from wheelmill.system.own_installation import CONFIG
from wheelmill.wheel.attestation import ATTESTATIONS
from wheelmill.wheel.gpu_code import CARDS
from wheelmill.wheel.label import Label
from wheelmill.wheel.name import written_parts

EXAMPLE: Final = "flash_attn-2.8.3+cu130torch2.11-cp312-cp312-manylinux_2_28_x86_64.whl"
PROJECT, VERSION, TAGS = written_parts(EXAMPLE)
UPSTREAM, _, LOCAL = VERSION.partition("+")

WIDTH: Final = 360
SHOWN: Final = 450
"""Width on a wide page."""
MARGIN: Final = 14
INDENT: Final = 98
"""Where the value of a box begins."""
WORKFLOWS: Final = ROOT / ".github" / "workflows"
GROUP_WORKFLOW: Final = "wheels-group.yml"

SVG: Final = """\
<!-- Made by tests.reference. -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{SHOWN}" role="img">
<title>{title}</title>
<style>
svg {{ {light} font: 13px system-ui, sans-serif }}
@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}
text {{ fill: var(--ink) }}
.ground {{ fill: var(--ground) }}
.box {{ fill: var(--raised); stroke: var(--line) }}
.mono {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.quiet {{ fill: var(--quiet) }}
.even {{ fill: var(--accent); font-weight: 600 }}
.odd {{ fill: var(--warn); font-weight: 600 }}
</style>
<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>
{body}
</svg>
"""


def pictures() -> dict[str, str]:
    """Draw each, by its file name."""
    return {
        "wheel-name.svg": wheel_name(),
        "addresses.svg": addresses(),
        "layers.svg": layers(),
        "stages.svg": stages(),
        "trust.svg": trust(),
        "run.svg": run(),
    }


def label_of_example() -> Label:
    """The label of the example."""
    label = Label.parse(LOCAL)
    assert label
    return label


def wheel_name() -> str:
    """Draw the parts of a wheel's name, each with what it means."""
    label = label_of_example()
    python, abi, platform = TAGS.split("-")
    policy = platform.removesuffix(f"_{X86.machine}")
    parts = [
        (PROJECT, "-", "the project, with _ for -"),
        (UPSTREAM, "+", "its version"),
        (str(label.cuda.tag), "", f"CUDA {label.cuda}, or a newer {label.cuda.major}"),
        (f"torch{label.torch}", "-", f"linked to torch {label.torch}"),
        (python, "-", f"for CPython {python[2]}.{python[3:]}"),
        (abi, "-", "its ABI (abi3: and newer)"),
        (policy, "_", f"Linux, glibc {policy.removeprefix('manylinux_').replace('_', '.')} or newer"),
        (X86.machine, ".whl", "the processor"),
    ]
    assert "".join(part + joint for part, joint, _ in parts) == EXAMPLE
    kinds = [("odd", "even")[number % 2] for number in range(len(parts))]
    coloured = [
        f'<tspan class="{kind}">{part}</tspan><tspan class="quiet">{joint}</tspan>'
        for kind, (part, joint, _) in zip(kinds, parts, strict=True)
    ]
    lines = [text(MARGIN, 26 + 20 * number, "".join(coloured[4 * number :][:4]), "mono") for number in (0, 1)]
    for number, (kind, (part, _, meaning)) in enumerate(zip(kinds, parts, strict=True)):
        y = 84 + 26 * number
        lines += [text(MARGIN, y, part, f"mono {kind}"), text(144, y, escape(meaning))]
    return picture("A wheel's name, part by part", lines, 84 + 26 * len(parts) - 10)


def layers() -> str:
    """Draw what a wheel stands on, with what each layer asks of the one below."""
    label = label_of_example()
    assert label.torch
    torch, cuda = FACTS.torch.releases[label.torch], FACTS.cuda.releases[label.cuda]
    cards = [gpu for gpu in CARDS if gpu.capability in cuda.architectures]
    stack = [
        ("wheel", f"{UPSTREAM}+{LOCAL}", f"needs torch {label.torch} with that CUDA"),
        ("torch", f"{torch.release}+{label.cuda.tag}", f"brings the libraries of CUDA {label.cuda}"),
        ("CUDA", str(label.cuda), f"needs driver {cuda.minimum_driver} or newer"),
        ("driver", f"{cuda.minimum_driver} or newer", "on the host, also for containers"),
        ("GPU", f"{_named(cards[0])} to {_named(cards[-1])}", "the wheel needs code for it, or PTX"),
    ]
    return stacked("What a wheel stands on", stack)


def addresses() -> str:
    """Draw which address an installer gets, by what is known."""
    label = label_of_example()
    stack = [
        ("machine", "wheelmill add PACKAGE", "reads Python, torch, driver, and chooses"),
        ("torch", f"/{label.trees[-1]}/simple/", f"torch.__version__ says {label.torch}.0+{label.cuda.tag}"),
        ("no torch", f"/{label.trees[-1]}/simple/", "of the newest torch that has wheels"),
        ("label", "/simple/", f"only with a pin: =={UPSTREAM}+{LOCAL}"),
    ]
    return stacked("Which address an installer gets", stack)


def stages() -> str:
    """Draw the stages of a wheel, each with what it leaves to the next."""
    label = label_of_example()
    stack = [
        ("config", lock_path(CONFIG / PACKAGES).name, "source and build requirements, by hash"),
        ("plan", "targets and skips", "version, Python, CUDA, torch, platform"),
        ("build", f"X.whl, X.whl{provenance.SUFFIX}", "compiled without network, home and token"),
        ("smoke", f"X.whl{verdict.SUFFIX}", "its bytes read; installed and imported"),
        ("release", MANIFEST, "under a date tag, whole or not at all"),
        ("index", f"{label.trees[-1]}/simple/", "static pages, made of all manifests"),
        ("client", "wheelmill add", "pip and uv need only the address"),
    ]
    return stacked("The way of a wheel", stack)


def trust() -> str:
    """Draw who checks whom, between a build and a user."""
    stack = [
        ("build", "believed by none", "it ran foreign code, with no token"),
        ("attest", "plan and bytes, read again", f"signs as {GROUP_WORKFLOW}, main branch"),
        ("release", "the same, and the signatures", "publishes what it read itself"),
        ("index", f"{ATTESTATIONS}, verified", "lists no wheel of another publisher"),
        ("client", "the sha256 of each link", "and the signer, with --require-attestation"),
    ]
    assert (WORKFLOWS / GROUP_WORKFLOW).exists()
    return stacked("Who checks whom", stack)


def run() -> str:
    """Draw the jobs of a run, from its workflows."""
    group, shard, wheels = (jobs_of(f"wheels{part}.yml") for part in ("-group", "-shard", ""))
    remarks = {
        "plan": "what is missing, in groups and shards",
        "build": "for each group: one CUDA, torch, platform",
        "release": "for each shard: wheels and manifest",
        "index": "the whole site, then asked from outside",
        "summary": "what became of each group",
        "resume": "starts what is left, deletes old caches",
        "notify": "sends a message, if a job failed",
    }
    inside = {"build": group, "release": [job for job in shard if job != "build"], "index": jobs_of("index.yml")}
    rows = [name for job in wheels for name in ([job, "release"] if job == "build" else [job])]
    assert rows == [*remarks]
    return stacked("The jobs of a run", [(row, ", ".join(inside.get(row, ["one job"])), remarks[row]) for row in rows])


def jobs_of(workflow: str) -> list[str]:
    """List the names of a workflow's jobs."""
    return [*yaml.safe_load((WORKFLOWS / workflow).read_text())["jobs"]]


def stacked(title: str, stack: Sequence[tuple[str, str, str]]) -> str:
    """Draw boxes from the top down: a name, what stands beside it, and a remark."""
    lines = []
    for number, (name, value, remark) in enumerate(stack):
        y = MARGIN + 58 * number
        lines += [
            f'<rect class="box" x="{MARGIN}" y="{y}" width="{WIDTH - 2 * MARGIN}" height="50" rx="6"/>',
            text(2 * MARGIN, y + 20, escape(name), ("odd", "even")[number % 2]),
            text(INDENT, y + 20, escape(value), "mono"),
            text(2 * MARGIN, y + 39, escape(remark), "quiet"),
        ]
    return picture(title, lines, 2 * MARGIN + 58 * len(stack) - 8)


def _named(gpu: Architecture) -> str:
    return f"{CARDS[gpu][0]} ({gpu})"


def text(x: int, y: int, content: str, kind: str = "plain") -> str:
    """Write a line of text."""
    return f'<text x="{x}" y="{y}" class="{kind}">{content}</text>'


def picture(title: str, lines: Sequence[str], height: int) -> str:
    """Put lines onto a ground with the colours of the site's style sheet."""
    style = (ROOT / "index" / "static" / "style.css").read_text()
    light, dark = (
        " ".join(re.findall(r"--(?:ground|raised|ink|quiet|line|accent|warn): #[0-9a-f]+;", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    )
    return SVG.format(
        WIDTH=WIDTH, SHOWN=SHOWN, height=height, title=escape(title), light=light, dark=dark, body="\n".join(lines)
    )
