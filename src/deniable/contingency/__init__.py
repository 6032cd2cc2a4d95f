"""Log-linear models, consistent tables, tests of independence that know the channel."""
