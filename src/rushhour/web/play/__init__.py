"""The playground: move a slider, and the kernel under test runs the experiment.

setup      what a visitor asks for, as JSON and as an address's query
scenario   the same as a scenario file, within the server's bounds
desk       runs: as many at once as there are CPUs, equal ones once, unwanted ones ended
answer     what comes back: numbers, words, curves
offers     what a kernel offers
presets    experiments to begin with
borrow     scenarios of the catalogue that the playground can show
views      the pages and the API
"""

from rushhour.web.play.views import section

__all__ = ["section"]
