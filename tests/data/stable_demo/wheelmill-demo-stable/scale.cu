#include <Python.h>

#include <cuda_runtime.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

using torch::stable::Tensor;

static __global__ void scale_kernel(float* values, int64_t size, float factor) {
    int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
    if (i < size) values[i] *= factor;
}

static Tensor copy_of(const Tensor& tensor) {
    STD_TORCH_CHECK(tensor.scalar_type() == torch::headeronly::ScalarType::Float && tensor.is_contiguous());
    return torch::stable::clone(tensor);
}

static Tensor scale_cpu(const Tensor& tensor, double factor) {
    Tensor result = copy_of(tensor);
    auto* values = static_cast<float*>(result.mutable_data_ptr());
    for (int64_t i = 0; i < result.numel(); ++i) values[i] *= static_cast<float>(factor);
    return result;
}

static Tensor scale_cuda(const Tensor& tensor, double factor) {
    Tensor result = copy_of(tensor);
    void* stream = nullptr;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(result.get_device_index(), &stream));
    if (int64_t size = result.numel())
        scale_kernel<<<(size + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(
            static_cast<float*>(result.mutable_data_ptr()), size, static_cast<float>(factor));
    return result;
}

STABLE_TORCH_LIBRARY(wheelmill_demo_stable, library) {
    library.def("scale(Tensor tensor, float factor) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(wheelmill_demo_stable, CPU, library) {
    library.impl("scale", TORCH_BOX(&scale_cpu));
}
STABLE_TORCH_LIBRARY_IMPL(wheelmill_demo_stable, CUDA, library) {
    library.impl("scale", TORCH_BOX(&scale_cuda));
}

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1};

// Loading the module registers the operator; the module itself is empty.
PyMODINIT_FUNC PyInit__C() { return PyModule_Create(&definition); }
