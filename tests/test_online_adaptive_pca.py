import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from eigenstream import OnlineAdaptivePCA


@parametrize_with_checks([OnlineAdaptivePCA(), OnlineAdaptivePCA(alpha=0.01, max_components=2)])
@pytest.mark.filterwarnings("ignore:the rank has reached:UserWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)
