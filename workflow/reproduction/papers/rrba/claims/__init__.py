"""Tests of the claims of [rrba]; their sentences are in resources/claims/rrba.csv."""
