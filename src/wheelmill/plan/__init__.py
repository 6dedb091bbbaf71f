"""plan: the wanted wheels, and the reasons for skipping the others."""
