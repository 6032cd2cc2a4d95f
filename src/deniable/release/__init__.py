"""Releases: each is counted in a ledger, drawn once, verified, and published.

`making` has the states of a release. `keys` and `key_places` make, check and remove its key.
`records` and `digests` read the original records. `ledger` and `entries` count epsilon, and
`counted` stores entry and journal of a release and compares it with the ledger. `drawing`,
`ordering`, `writing` and `contents` write the public folder, and `risk` the owner's table.
`receipts` verifies published files. `settings` is an entry of the workflow's config.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
