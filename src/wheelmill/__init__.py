"""Tested CUDA wheels from one YAML file, and a static package index that serves them."""
