"""RobustClassifier keeps scikit-learn's contract, check by check."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from reweigh import RobustClassifier

STOCHASTIC = "batches are drawn at random, and a repeated sample falls into other batches than one that counts twice"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": STOCHASTIC,
    "check_sample_weight_equivalence_on_sparse_data": STOCHASTIC,
}


@parametrize_with_checks(
    [RobustClassifier(epochs=4, batch_size=8, lr=0.02)], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn_s_own_check(estimator, check):
    check(estimator)
