"""Tables collected from clients: design, estimates, independence, check, audit."""
