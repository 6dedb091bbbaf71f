"""Torch's stable ABI: functions of C and no C++, and its counterparts of the symbols outside of it.

https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from wheelmill.names import TorchVersion
from wheelmill.system.progress import number_of
from wheelmill.system.records import Count
from wheelmill.wheel.findings import some_of
from wheelmill.wheel.torch_symbols import ENTITY, MANGLED, NESTED, TorchSymbols, may_be_torchs, name_in, shipped_symbols

_SHIMS: Final = ("aoti_torch_", "torch_")
"""Prefixes of its functions."""
_OF_RUNTIME: Final = re.compile(rf"{ENTITY}(?:{NESTED})?(?:S[abdiost]|9__gnu_cxx|10__cxxabiv1)|_Z(?:nw|na|dl|da)")
"""``std::`` and its like, and the operators ``new`` and ``delete``. Older systems leave some without a version."""
_OF_TORCH: Final = re.compile(rf"{NESTED}(?:2at|3c10|5torch|6caffe2)")
"""Torch's namespaces, wherever they stand in a name: ``std::vector<at::Tensor>`` is torch's, too."""


@dataclass(frozen=True, kw_only=True)
class ShimsUsed:
    """Functions of torch's stable ABI that a wheel calls."""

    oldest: TorchVersion | None
    """First torch that has all of them; None if it calls none that is known."""
    newest_ones: tuple[str, ...]
    """Functions that no older torch has; empty if that is the first torch with a stable ABI."""
    unknown: tuple[str, ...]
    """Functions of a torch newer than torch-abi-audit."""


def shims_in(symbols: Iterable[str]) -> ShimsUsed:
    """Find the torch that has the shims among a wheel's undefined symbols."""
    from torch_abi_audit import minimum_version  # slow to import, and few wheels use shims

    oldest, newest_ones, unknown = minimum_version(sorted(name for name in symbols if name.startswith(_SHIMS)))
    return ShimsUsed(oldest=TorchVersion(*oldest[:2]) if oldest else None, newest_ones=newest_ones, unknown=unknown)


def beyond_stable_abi(symbols: Iterable[str]) -> tuple[str, ...]:
    """Undefined symbols of a wheel that only torch's C++ can define, by readable names: ``at::_ops::empty::call``.

    These are all names of C++ but those of its own runtime. Names that the wheel and its libraries define are not
    undefined, and CUDA and Python have names of C.
    """
    mangled = (name for name in symbols if name.startswith(MANGLED))
    return tuple(sorted({name_in(name) for name in mangled if _OF_TORCH.search(name) or not _OF_RUNTIME.match(name)}))


_FIRST: Final = TorchVersion(2, 9)
"""First torch that promises the functions of its stable ABI; earlier ones export some of them."""
_DISPATCHER: Final = "torch_call_dispatcher"
_OPERATOR: Final = re.compile(r"at::_ops::(\w+)::call")
_UNBOXED: Final = re.compile(r"(?:6Scalar|7Storage|7Dimname|7QScheme|6Stream)E")
"""Types of arguments that the dispatcher's stack cannot hold."""
_GENERATOR: Final = "9GeneratorE"
"""Type that such a value stands for since torch has a function that makes one."""
_WRAPPED: Final = """
    amax bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_or.Tensor bitwise_right_shift.Tensor clone
    contiguous copy_ empty.memory_format empty_like fill_.Scalar flatten.using_ints floor_divide full
    index_select is_pinned matmul narrow new_empty new_zeros pad permute reshape select.int squeeze.dim
    sort sort.stable subtract.Tensor sum.IntList_out sum.dim_IntList to.dtype_layout transpose.int unsqueeze
    view view.dtype zero_
"""
"""Operators that ``torch/csrc/stable/ops.h`` has as functions, by torch's names of their overloads."""
_WRAPPERS: Final = {name.replace(".", "_"): f"torch::stable::{name.partition('.')[0]}" for name in _WRAPPED.split()}
_DEVICES: Final = ("cpu", "cuda")
"""Devices whose kernels have functions of C of their own, past the dispatcher."""

_COUNTERPARTS: Final = (
    (r"torch::(Library|CppFunction|jit::parseSchema)\w*", "STABLE_TORCH_LIBRARY", "torch_library_impl"),
    (r"c10::(\w+Type::get|IValue|ivalue|detail::infer_schema)", "STABLE_TORCH_LIBRARY", "torch_library_impl"),
    (r"_ZN8pybind116detail11type_casterIN2at6TensorEvE.*", "STABLE_TORCH_LIBRARY", "torch_library_impl"),
    (r"c10::detail::torch(Check|InternalAssert)Fail|c10::([A-Z]\w*)?Error", "STD_TORCH_CHECK", ""),
    (r"c10::(warn|Warning|WarningUtils)", "", "aoti_torch_warn"),
    (r"c10::cuda::(getCurrentCUDAStream|CUDAStream::stream)", "", "aoti_torch_get_current_cuda_stream"),
    (r"c10::cuda::setCurrentCUDAStream", "", "torch_set_current_cuda_stream"),
    (r"c10::cuda::getStreamFromPool", "", "torch_get_cuda_stream_from_pool"),
    (r"c10::cuda::(CUDAStream::synchronize|warn_or_error_on_sync)", "", "torch_cuda_stream_synchronize"),
    (r"c10::cuda::c10_cuda_check_implementation", "STD_CUDA_CHECK", "torch_c10_cuda_check_msg"),
    (r"c10::cuda::(GetDevice|current_device)", "", "aoti_torch_get_current_device_index"),
    (
        r"c10::cuda::(Maybe)?(Set|Exchange)Device|c10::impl::(device_guard_impl_registry|GPUTrace)",
        "torch::stable::accelerator::DeviceGuard",
        "aoti_torch_create_device_guard",
    ),
    (r"at::cuda::getCurrentCUDABlasHandle", "", "torch_get_current_cuda_blas_handle"),
    (r"at::get_num_threads", "torch::stable::get_num_threads", "torch_get_num_threads"),
    (r"at::get_thread_num", "", "torch_get_thread_idx"),
    (r"at::(in_parallel_region|init_num_threads)", "torch::stable::parallel_for", "torch_parallel_for"),
    (r"at::internal::(set_thread_num|invoke_parallel)", "torch::stable::parallel_for", "torch_parallel_for"),
    (r"c10::ParallelGuard", "torch::stable::parallel_for", "torch_parallel_for"),
    (
        r"at::TensorBase::(\w+_)?data_ptr|c10::(impl::cow|throwNullDataPtrError|warnDeprecatedDataPtr|\w+Impl::throw_data\w+)",
        "torch::stable::Tensor::mutable_data_ptr, const_data_ptr",
        "torch_get_mutable_data_ptr torch_get_const_data_ptr",
    ),
    (r"c10::UndefinedTensorImpl", "torch::stable::Tensor", "aoti_torch_new_uninitialized_tensor"),
    (r"c10::Sym(Int|bolicShapeMeta|IntArrayRef)", "torch::stable::Tensor::sizes", "aoti_torch_get_sizes"),
    (r"caffe2::TypeMeta", "torch::stable::Tensor::scalar_type", "aoti_torch_get_dtype"),
    (r"at::TensorBase::__dispatch_contiguous", "torch::stable::contiguous", _DISPATCHER),
    (r"at::TensorMaker", "", "aoti_torch_create_tensor_from_blob_v2"),
    (r"at::(Tensor::item|_ops::(item|_local_scalar_dense)::call)", "aoti_torch_item_DTYPE", "aoti_torch_item_float32"),
    (r"at::_ops::sub_Tensor::call", "torch::stable::subtract", "aoti_torch_aten_subtract_Tensor"),
    (r"c10::Device", "torch::stable::Device", "torch_parse_device_string"),
    (r"c10::GradMode", "", "aoti_torch_grad_mode_is_enabled aoti_torch_grad_mode_set_enabled"),
    (r"c10::(Dispatcher|OperatorHandle|impl::OperatorEntry)", "", _DISPATCHER),
    (
        r"THPVariableClass|_Z\d+THPVariable_(Unpack|Wrap).*",
        "torch::stable::tensor_from_pyobject, tensor_to_pyobject",
        "torch_tensor_from_pyobject torch_tensor_to_pyobject",
    ),
)
"""Patterns of names, what stands for them in ``torch/csrc/stable`` or ``torch/headeronly``, and its functions of C.

Names are readable ones, or mangled. Empty if the functions of C stand for them themselves; no functions if it is in
headers alone. Torch's own inline functions call many of these symbols, and sources do not.
"""
_NAMED: Final = re.compile("|".join(f"(?P<n{row}>(?:{each[0]})(?:::.*)?)" for row, each in enumerate(_COUNTERPARTS)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outside:
    """Symbols outside of torch's stable ABI that have the same counterpart in it, or none."""

    instead: str | None = None
    """``torch::stable::empty``; null if it has no counterpart."""
    shims: tuple[str, ...] = ()
    """Functions of C behind it; empty if it is in headers alone."""
    torch: TorchVersion | None = None
    """First torch from which on each has these functions; null if none is needed."""
    symbols: tuple[str, ...] = ()
    """Mangled, ascending."""

    @property
    def names(self) -> tuple[str, ...]:
        """Readable names of the symbols, ascending: overloads have one."""
        return tuple(sorted(set(map(name_in, self.symbols))))


@dataclass(frozen=True, kw_only=True, slots=True)
class StableAbiReport:
    """Distance of a wheel from torch's stable ABI."""

    symbols: Count
    """Count of torch's symbols that it needs."""
    outside: tuple[Outside, ...]
    """By the torch that has the counterpart; last the symbols without one."""
    oldest: TorchVersion | None
    """First torch with the functions of the stable ABI that it calls; null if it calls none that is known."""
    unknown: tuple[str, ...]
    """Functions named like those of the stable ABI that torch-abi-audit does not know."""

    def __str__(self) -> str:
        """``keeps to torch's stable ABI, from torch 2.10 on``, or how many symbols do not."""
        unknown = f"; torch-abi-audit knows no torch with {some_of(self.unknown)}" if self.unknown else ""
        if not self.symbols:
            return "needs no symbol of torch"
        if not self.outside:
            return f"keeps to torch's stable ABI{f', from torch {self.oldest} on' if self.oldest else ''}{unknown}"
        known = sum(len(group.symbols) for group in self.outside if group.instead)
        none = sum(len(group.symbols) for group in self.outside) - known
        since = max((group.torch for group in self.outside if group.torch), default=None)
        newest = f", the newest from torch {since}" if since else ""
        return (
            f"{number_of(self.symbols, 'symbol')} of torch, {known + none} outside of its stable ABI: "
            f"{known} with a counterpart{newest}; {none} without{unknown}"
        )


def compare_with_stable_abi(symbols: AbstractSet[str]) -> StableAbiReport | None:
    """Find counterparts of symbols in torch's stable ABI; None without a table, UnreadableError for a damaged one."""
    wanted = frozenset(filter(may_be_torchs, symbols))
    candidates = {name: tuple(_candidates(name)) for name in wanted if not name.startswith(_SHIMS)}
    shims = {shim for each in candidates.values() for _, functions in each for shim in functions}
    if (table := shipped_symbols(wanted | shims)) is None:
        return None
    outside = defaultdict[Outside, list[str]](list)
    for name in filter(table.is_torchs, candidates):
        known = (_counterpart(instead, functions, table) for instead, functions in candidates[name])
        outside[next(filter(None, known), Outside())].append(name)
    groups = (replace(group, symbols=tuple(sorted(names))) for group, names in outside.items())
    used = shims_in(wanted)
    return StableAbiReport(
        symbols=len(wanted) - len(candidates) + sum(map(len, outside.values())),
        outside=tuple(sorted(groups, key=lambda each: (not each.instead, each.torch or _FIRST, each.instead or ""))),
        oldest=used.oldest,
        unknown=used.unknown,
    )


def _candidates(symbol: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield possible counterparts of a symbol, the best first, with the functions of C behind each."""
    name = name_in(symbol)
    if (named := _NAMED.fullmatch(name) or _NAMED.fullmatch(symbol)) and named.lastgroup:
        _, instead, shims = _COUNTERPARTS[int(named.lastgroup[1:])]
        yield instead, tuple(shims.split())
    elif operator := _OPERATOR.fullmatch(name):
        wrapper = _WRAPPERS.get(operator[1], "")
        yield wrapper, (f"aoti_torch_aten_{operator[1]}",)
        if not _UNBOXED.search(symbol):
            yield wrapper, (_DISPATCHER, *(("torch_new_generator_handle",) if _GENERATOR in symbol else ()))
        yield "", tuple(f"aoti_torch_{device}_{operator[1]}" for device in _DEVICES)
        yield from (("", (f"aoti_torch_{device}_{operator[1]}",)) for device in _DEVICES)


def _counterpart(instead: str, shims: tuple[str, ...], table: TorchSymbols) -> Outside | None:
    """Return a counterpart with the first torch from which on all export its functions; None if the newest does not."""
    builds = table.summary.builds
    places = [table.places.get(shim, (0, 0))[0] for shim in shims]
    lacking = [number for number in range(len(builds)) if not all(each >> number & 1 for each in places)]
    first = lacking[-1] + 1 if lacking else 0  # some functions were there once, left, and came back
    if first == len(builds):
        return None
    torch = max(builds[first].torch, _FIRST) if shims else None
    return Outside(instead=instead or ", ".join(shims), shims=shims, torch=torch)
