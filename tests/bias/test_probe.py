import torch
from sklearn.datasets import load_digits

from reweigh.bias.feature_dependent import feature_dependent, out_of_fold


def test_posteriors_of_digits_are_good_and_usable():
    pixels, labels = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
    posteriors = out_of_fold(pixels, labels, 10, 0, components=20)
    torch.testing.assert_close(posteriors.sum(1), torch.ones(len(labels)).double(), atol=1e-5, rtol=0)
    assert 0.9 < (posteriors.argmax(1) == labels).double().mean() < 1
    assert torch.equal(posteriors, out_of_fold(pixels, labels, 10, 0, components=20))
    assert abs(feature_dependent(labels, 10, 0, posteriors, rate=0.35, kind="II").rate - 0.35) < 0.06


def test_no_sample_is_judged_by_a_probe_that_saw_it():
    generator = torch.Generator().manual_seed(0)
    inputs, labels = torch.randn(400, 80, generator=generator), torch.randint(0, 2, (400,), generator=generator)
    right = (out_of_fold(inputs, labels, 2, 0).argmax(1) == labels).double().mean()
    assert right < 0.62  # pure chance; a probe that had seen them would know nearly 0.7


def test_a_class_smaller_than_the_folds():
    labels = torch.tensor([0] * 30 + [1] * 30 + [3])
    posteriors = out_of_fold(torch.randn(61, 4, generator=torch.Generator().manual_seed(0)), labels, 5, 0)
    assert posteriors.shape == (61, 5)
    assert posteriors[:, [2, 4]].abs().max() == 0
