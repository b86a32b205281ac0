"""What a release is made of: the wheel of Rush Hour, the wheels of kernels, checksums, the bill of materials.

`python -m shipping wheels` and `python -m shipping release` make it (docs/wheels.md).
"""
