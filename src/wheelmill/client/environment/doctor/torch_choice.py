"""Which torch an environment should have: for its wheels, for its driver, or for its GPUs."""

from __future__ import annotations

from packaging.version import Version

from wheelmill.client.choose.facts import cudas_of, minimum_driver
from wheelmill.client.choose.torch_place import TorchPlace
from wheelmill.client.environment.doctor.examined import Examined
from wheelmill.names import CudaVersion, StableTorch, TorchNeed, TorchVersion


def torch_for_wheels(examined: Examined) -> TorchPlace:
    """The newest torch that something installed was built for, and a CUDA that its label names, or its major."""
    installed = [each.distribution for each in examined.by_project.values()]
    needs = [each.torch for each in installed if each.torch]
    exact = [need for need in needs if isinstance(need, TorchVersion) and need in examined.facts.torch]
    allowed = [torch for torch in examined.facts.torch if all(_admits(need, torch) for need in needs)]
    own = examined.environment.torch
    torch = max(exact, default=own if own in allowed else max(allowed or examined.facts.torch))
    majors = {each.label.cuda_major for each in installed if each.label.cuda_major}
    named = {each.label.cuda for each in installed}
    fitting = [cuda for cuda in _published_cudas(torch, examined) if not majors or cuda.major in majors]
    usual = examined.facts.torch[torch].default_cuda
    best = [cuda for cuda in fitting if cuda in named] or [cuda for cuda in fitting if cuda == usual] or fitting
    return TorchPlace.of(torch, max(best, default=None), examined.environment.platform, examined.facts)


def torch_for_driver(examined: Examined) -> TorchPlace | None:
    """The installed torch for the newest CUDA that the driver runs; None where there is none."""
    torch = examined.environment.torch
    if torch is None or not (older := _published_cudas(torch, examined)):
        return None
    return TorchPlace.of(torch, max(older), examined.environment.platform, examined.facts)


def torch_for_gpus(examined: Examined) -> TorchPlace | None:
    """The installed torch, or else the next newer one, for another CUDA that knows every GPU; None where there is none.

    Of several CUDAs the oldest: it is for newer ones that torch's own builds leave old GPUs out.
    """
    environment, facts = examined.environment, examined.facts
    gpus = {gpu.capability.capability for gpu in environment.gpus}
    for torch in sorted(each for each in facts.torch if environment.torch is None or each >= environment.torch):
        installed = environment.cuda if torch == environment.torch else None
        others = [cuda for cuda in _published_cudas(torch, examined) if cuda != installed]
        if knowing := [cuda for cuda in others if gpus <= facts.cuda[cuda].architectures]:
            return TorchPlace.of(torch, min(knowing), environment.platform, facts)
    return None


def _published_cudas(torch: TorchVersion, examined: Examined) -> list[CudaVersion]:
    """The CUDAs that a torch is published for and the driver runs, as far as they are known."""
    release, driver = examined.facts.torch.get(torch), examined.environment.driver
    return [
        cuda
        for cuda in (cudas_of(release, examined.environment.platform) if release else ())
        if driver is None or Version(driver) >= Version(minimum_driver(cuda, examined.facts) or "0")
    ]


def _admits(need: TorchNeed, torch: TorchVersion) -> bool:
    return torch in need if isinstance(need, StableTorch) else torch == need
