"""What the papers claim, each claim with a verdict and evidence that runs.

```python
import discreet as dc

dc.claims.claims_frame("chaves-2025")
dc.claims.find_claim("chaves-2025-theorem-4-2").run()
```
"""

from discreet.audit.claims.claim import PAPERS, VERDICTS, Claim, Evidence
from discreet.audit.claims.papers import claims_frame, find_claim, register

__all__ = ["PAPERS", "VERDICTS", "Claim", "Evidence", "claims_frame", "find_claim", "register"]
