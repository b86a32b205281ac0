"""Rush Hour in other people's CI: job files, and a barrier where several machines take part.

jobs       system, settings → the files of a job
barrier    machines wait for each other, and hear at once if one fails
"""

from rushhour.ci.jobs import IMAGES, NEEDS, SYSTEMS, WHEELS, Settings, job_files, write
from rushhour.lab.barrier import Meeting, meet

__all__ = ["IMAGES", "NEEDS", "SYSTEMS", "WHEELS", "Meeting", "Settings", "job_files", "meet", "write"]
