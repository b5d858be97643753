"""Assign rows to disjoint subsets so that one record touches one subset.

Under replace-one a row's place decides; under add-remove a keyed hash of its id, or of the encoded
row if the schema names no id, so that adding or removing a row moves no other. The id of a record
is read for nothing else.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.privacy.relation import Relation
from discreet.schema.raw import plain_text


def assign_subsets(block: Block, subsets: int, *, relation: Relation, key: bytes) -> NDArray[np.int64]:
    """Return the subset of every row of a block.

    Guarantees:
      - Under replace-one the assignment depends on the row's number alone; under add-remove on the
        row itself alone. [row-to-subset]
    """
    if Relation(relation).keeps_places:
        return (block.start + np.arange(len(block))) % subsets
    if block.ids is not None:
        # As floats: whose ids are missing must not decide where a row goes.
        texts = [str(plain_text(value)).encode("utf-8", "replace") for value in block.ids]
    else:
        texts = [row.tobytes() for row in np.ascontiguousarray(block.values)]
    hashes = [hashlib.blake2b(text, digest_size=8, key=key).digest() for text in texts]
    words = np.frombuffer(b"".join(hashes), dtype="<u8")
    return np.asarray(words % np.uint64(subsets), dtype=np.int64)
