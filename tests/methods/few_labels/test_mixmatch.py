"""MixMatch against its formula, sample by sample."""

import numpy as np
import pytest
import torch

from reweigh.errors import DataError


def test_the_guess_is_sharpened_as_the_paper_says(few):
    it = few("mixmatch", temperature=0.5)
    other = it.batch.inputs.flip(3)
    mean = (it.model(it.batch.inputs).softmax(1) + it.model(other).softmax(1)) / 2
    expected = mean**2 / (mean**2).sum(1, keepdim=True)
    torch.testing.assert_close(it.method._guess([it.batch.inputs, other]), expected.detach())


def test_a_step_is_the_paper_s(few):
    it = few("mixmatch", factor=20.0, ramp_epochs=2, mixup=0.75, views=2).fixed()
    it.method.start_epoch(1, warm_up=False)
    before = it.setup.generator.get_state()
    seed = int(torch.randint(2**62, (), generator=it.setup.generator))
    shares = np.random.default_rng(seed).beta(0.75, 0.75, 30)
    partner = torch.randperm(30, generator=it.setup.generator)
    it.setup.generator.set_state(before)
    guess = it.method._guess([it.batch.inputs] * 2)
    pool = torch.cat([it.labeled.inputs, it.batch.inputs, it.batch.inputs])
    targets = torch.cat([torch.eye(3).double()[it.labeled.labels], guess, guess])

    def loss(model):
        supervised, unlabeled = 0.0, 0.0
        for i in range(30):
            share = max(shares[i], 1 - shares[i])
            logits = model((share * pool[i] + (1 - share) * pool[partner[i]])[None])[0]
            target = share * targets[i] + (1 - share) * targets[partner[i]]
            if i < 6:
                supervised = supervised - (target * logits.log_softmax(0)).sum() / 6
            else:
                unlabeled = unlabeled + (logits.softmax(0) - target).square().sum() / 3 / 24
        return supervised + 20.0 / 2 * unlabeled

    expected = it.expected(loss)
    it.step()
    it.check(expected)


def test_integers_cannot_be_mixed(few):
    it = few("mixmatch").fixed()
    words = type(it.batch)(it.batch.inputs.long(), it.batch.labels, it.batch.index)
    with pytest.raises(DataError, match=r"cannot mix inputs of torch.int64; set method.mixup = 0"):
        it.method.step(words)
