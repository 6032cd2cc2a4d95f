"""The manifest, downloads, surrogates, networks."""
