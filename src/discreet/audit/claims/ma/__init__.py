"""Claims of Ma, Wu and Yan (2026): entropies of histograms, Mechanism F, private mean curves."""

from discreet.audit.claims.claim import Claim
from discreet.audit.claims.ma import deniability, entropies, figures


def claims() -> list[Claim]:
    """Return every numbered claim of the paper."""
    return [*entropies.claims(), *deniability.claims(), *figures.claims()]
