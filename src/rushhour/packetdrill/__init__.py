"""packetdrill's scripts in virtual kernels: `.pkt` files → outcomes, the same each time.

A script sends packets into a kernel's TCP and says which ones have to come out, when. In real time a busy
machine makes it fail; in virtual time what it says is exact.
"""
