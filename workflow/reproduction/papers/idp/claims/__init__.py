"""What [idp] claims in words, and the tests that decide it."""
