"""Post-randomization of a file within strata; matrices; item sets."""
