"""What [rrba] claims in words, and the tests that decide it."""
