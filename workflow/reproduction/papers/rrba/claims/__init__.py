"""Tests of the claims of [rrba]; the sentences are in resources/claims/rrba.csv."""
