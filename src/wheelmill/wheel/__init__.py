"""What a wheel is: its name, its archive, its metadata and the machine code in it."""
