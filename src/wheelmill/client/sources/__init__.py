"""Sources of wheels: their pages, and the candidates on them."""
