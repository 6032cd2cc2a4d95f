"""What a release is told; what lanes share."""
