"""release: tested wheels under a date tag, with one manifest that says what each of them is."""
