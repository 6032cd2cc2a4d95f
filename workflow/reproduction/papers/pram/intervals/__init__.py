"""Studies of what [pram] says of estimates and their intervals: sections 1 and 4, and (2.7)."""
