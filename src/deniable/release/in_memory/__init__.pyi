from .randomizing import randomize as randomize
