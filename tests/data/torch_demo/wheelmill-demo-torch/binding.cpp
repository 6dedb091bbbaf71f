// What torch/extension.h includes besides takes three times as long.
#include <ATen/core/Tensor.h>
#include <torch/csrc/utils/pybind.h>

void multiply_0(float* values, long size, float factor);

at::Tensor multiply(at::Tensor tensor, double factor) {
    TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous() && tensor.scalar_type() == at::kFloat);
    auto result = tensor.clone();
    multiply_0(result.data_ptr<float>(), result.numel(), static_cast<float>(factor));
    return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
    module.def("multiply", &multiply);
}
