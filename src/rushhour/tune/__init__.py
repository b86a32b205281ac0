"""Settings for a path: what two ends should be set to, why, whether it helps, and back again.

`advise` judges (pure), `live` measures, applies and reverts, `document` is what is kept and printed as JSON.
"""
