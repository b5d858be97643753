"""Signatures that everybody can check: Ed25519 (RFC 8032) under a key pair of the ledger.

The chain's own signatures need its secret key to be checked. What an owner publishes is signed with a
private key made from that secret, and checked with the public key, which tells nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.ledger.chain import Chain, canonical

_DOMAIN = b"discreet publication 1\n"


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature over plain data, and the public key it is checked with; both hexadecimal."""

    public_key: str
    value: str

    def is_of(self, plain: Mapping[str, Any]) -> bool:
        """Say whether the holder of the private key signed exactly this."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
            known.verify(bytes.fromhex(self.value), _DOMAIN + canonical(plain))
        except (InvalidSignature, ValueError):
            return False
        return True


def sign(chain: Chain, plain: Mapping[str, Any]) -> Signature:
    """Return the ledger's signature over plain data."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.from_private_bytes(chain.seed())
    public = key.public_key().public_bytes_raw().hex()
    return Signature(public, key.sign(_DOMAIN + canonical(plain)).hex())
