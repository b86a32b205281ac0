"""A Kubernetes of one node for tests: its API as far as Dask's operator and its clients ask for it.

`python -m beds.kube FOLDER` serves `api`, carries out Deployments and pods as processes (`node`), and runs
the real operator. What an image has is the Python that runs this; `images.txt` in the folder names those that
can be pulled. Everything is in the network namespace that it is started in, so port 8786 is free there.
"""

PORT = 8001
