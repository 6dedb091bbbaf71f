"""What wheels are chosen for: an interpreter, its torch and CUDA, the driver and the GPUs."""
