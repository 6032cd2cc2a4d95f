"""Tests that decide the claims of [idp] in words."""
