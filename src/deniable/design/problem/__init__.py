"""Requirements, losses, the polytope of channels."""
