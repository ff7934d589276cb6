"""Networks of neurons: the similarity-matching family as printed, in plain NumPy.

`HebbianNetwork` is the paper's, with one layer. Its siblings of Pehlevan and Chklovskii (2015) have a second
layer of inhibitory interneurons: `HardThresholdNetwork` does not shrink what it transmits, and
`EqualizingNetwork` transmits every mode with the same variance. All of them take the same regularizers.
"""

from .hebbian import HebbianNetwork as HebbianNetwork
from .interneurons import EqualizingNetwork as EqualizingNetwork
from .interneurons import HardThresholdNetwork as HardThresholdNetwork
from .interneurons import InterneuronNetwork as InterneuronNetwork
from .network import INITIAL_GAIN as INITIAL_GAIN
from .network import ConvergenceError as ConvergenceError
from .network import LocalNetwork as LocalNetwork
