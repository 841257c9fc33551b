"""Neighbors, against a loop over all samples."""

import numpy as np
import torch

from reweigh.data import from_arrays
from reweigh.review import review_run
from reweigh.review.similar import MOST, Similar


def test_the_nearest_of_a_class_against_a_loop():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 5)).astype(np.float32) * [1, 10, 1, 1, 100]
    dataset = from_arrays(inputs.astype(np.float32), torch.arange(40) % 4, class_names=list("abcd"))
    rows = (inputs - inputs.mean(0)) / inputs.std(0)
    for among in (np.arange(40) % 4 == 1, np.ones(40, bool)):
        cosine = {
            other: rows[other] @ rows[5] / np.linalg.norm(rows[other]) / np.linalg.norm(rows[5])
            for other in range(40)
            if among[other] and other != 5
        }
        expected = sorted(cosine, key=lambda other: -cosine[other])[:MOST]
        assert Similar(dataset).of(5, among) == expected


def test_color_images_and_data_that_are_gone_have_none():
    dataset = from_arrays(np.zeros((4, 3, 8, 8), np.uint8), torch.arange(4) % 2, class_names=list("ab"))
    assert Similar(dataset).of(0, np.ones(4, bool)) == []
    assert Similar(None).of(0, np.ones(4, bool)) == []


def test_beside_a_sample_are_those_that_nothing_speaks_against(run):
    review = review_run(run, "ann")
    session, samples = review.session, review.session.subject.samples
    index = session.queue({})[0]
    given = int(samples.given[index])
    for label, found in session.similar(index).items():
        assert len(found) == MOST
        for each in found:
            assert samples.given[each["index"]] == int(label)
            assert not samples.issue[each["index"]]
    nearest = session.similar(index)[str(given)][0]["index"]
    session.decide(nearest, (given + 1) % 10)  # a person says that it is something else
    assert nearest not in [each["index"] for each in session.similar(index)[str(given)]]
    review.stop()
