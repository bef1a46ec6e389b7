"""Where vendor tests ask: the real dripgate if it has the routes, else the contract server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .contract_server import ContractServer
from .programs import DRIPGATE_BIN, NotReadyError, Program, start_dripgate

# What the README's first lines need, but for the vendor.
README_CONFIG = """
server: { listen: "127.0.0.1:8080" }
store: { sqlite: ./dripgate.db }
policies:
  - { id: api-free, match: { plan: free }, key: [apiKey], algorithm: token-bucket, capacity: 20, refillPerMinute: 100,
      onStoreFailure: local }
streams:
  - { id: payouts, source: { embedded: payouts }, key: "merchant_{merchant_id}", limits: [{ rpm: 100 }], maxDelay: 2h,
      deliver: { topic: out }, overflowTopic: o, deadLetterTopic: d }
"""

MEMORY_CONFIG = 'server: { listen: "127.0.0.1:8080" }\nstore: { memory: {} }\n'


@dataclass
class VendorSite:
    url: str
    real: bool
    stop: Callable[[], None]


def _start_with_vendors(config: str, limit: str) -> tuple[Program, str] | None:
    """None: a dripgate from before vendor limits."""
    vendors = "vendors:\n" + "".join(
        f'  - {{ id: {name}, key: "{name}:{{portal}}", limits: [ {limit} ], onStoreFailure: local }}\n' for name in ("hubspot", "shopify")
    )
    try:
        return start_dripgate(config + vendors)
    except NotReadyError as error:
        if "'vendors'" not in str(error):
            raise
        return None


def start_with_vendors_if_known(config: str, limit: str) -> tuple[Program, str, bool]:
    """The server, its url, and whether it has vendors."""
    started = _start_with_vendors(config, limit)
    return (*started, True) if started else (*start_dripgate(config), False)


def start_vendor_site(limit: str, most: int, window_s: int) -> VendorSite:
    """Vendors `hubspot` and `shopify`, each with this limit of the config (a window, whose starts dripgate spreads evenly, or a bucket,
    which may be emptied at once) for each value of the attribute `portal`. The contract server knows windows only: `most` in `window_s`."""
    if DRIPGATE_BIN:
        started = _start_with_vendors(MEMORY_CONFIG, limit)
        if started:
            return VendorSite(started[1], True, started[0].stop)
    contract = ContractServer(most, window_s)
    return VendorSite(contract.url, False, contract.stop)
