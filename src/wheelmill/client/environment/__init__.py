"""The target of wheels: an interpreter, its torch and CUDA, the driver and the GPUs."""
