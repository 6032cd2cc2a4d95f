"""What a changed record does; certificates; attacks."""
