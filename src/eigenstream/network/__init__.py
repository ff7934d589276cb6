"""Networks of neurons: the similarity-matching family as printed, in plain NumPy.

`HebbianNetwork` is the paper's, with one layer. Its siblings of Pehlevan and Chklovskii (2015) have a second
layer of inhibitory interneurons: `HardThresholdNetwork` does not shrink what it transmits, and
`EqualizingNetwork` transmits every mode with the same variance. All of them take the same regularizers.

`MinMaxNetwork` is the paper's with two learning rates, `NonnegativeNetwork` the paper's with outputs that
cannot be negative. Without a threshold there are `SimilarityMatchingNetwork` and `FastSimilarityMatching`.
"""

from .hebbian import HebbianNetwork as HebbianNetwork
from .interneurons import EqualizingNetwork as EqualizingNetwork
from .interneurons import HardThresholdNetwork as HardThresholdNetwork
from .interneurons import InterneuronNetwork as InterneuronNetwork
from .min_max import MinMaxNetwork as MinMaxNetwork
from .network import INITIAL_GAIN as INITIAL_GAIN
from .network import ConvergenceError as ConvergenceError
from .network import LocalNetwork as LocalNetwork
from .similarity_matching import FastSimilarityMatching as FastSimilarityMatching
from .similarity_matching import NonnegativeNetwork as NonnegativeNetwork
from .similarity_matching import SimilarityMatchingNetwork as SimilarityMatchingNetwork
