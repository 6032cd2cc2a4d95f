"""Studies of estimates and their intervals in [pram]: sections 1 and 4, and (2.7)."""
