"""What is wrong with an environment and with the project that it belongs to, and what mends it."""
