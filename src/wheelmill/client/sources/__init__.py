"""Where wheels are: the sources, their pages, and the candidates on them."""
