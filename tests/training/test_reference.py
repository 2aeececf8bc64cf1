import numpy as np
import pytest

from tests.training import reference

RNG = np.random.default_rng(3)


def numerical(objective, array, step=1e-6):
    """The gradient by central differences."""
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        above = objective()
        array[place] = kept - step
        below = objective()
        array[place] = kept
        found[place] = (above - below) / (2 * step)
    return found


def check(function, arrays, gradients):
    for array, gradient in zip(arrays, gradients, strict=True):
        np.testing.assert_allclose(gradient, numerical(lambda: function(*arrays).objective, array), atol=1e-7)


@pytest.mark.parametrize("select", ["cosine", "dot"])
@pytest.mark.parametrize("window", [1, 4])
def test_multi_sense(select, window):
    arrays = [RNG.standard_normal(shape) for shape in ((3, 5), (window, 5), (4, 5))]
    found = reference.ms_word2dm(*arrays, select)
    check(lambda *a: reference.ms_word2dm(*a, select), arrays, [found.target, found.contexts, found.noise])


def test_only_the_nearest_sense_moves():
    senses = np.array([[1.0, 0.0], [0.0, 5.0]])
    near = reference.ms_word2dm(senses, np.array([[1.0, 0.5]]), np.zeros((1, 2)), "cosine")
    assert near.target[0].any()
    assert not near.target[1].any()
    assert reference.ms_word2dm(senses, np.array([[1.0, 0.5]]), np.zeros((1, 2)), "dot").target[1].any()


def test_word2dm():
    arrays = [0.5 * RNG.standard_normal(shape) for shape in ((4, 3), (2, 4, 3), (2, 3, 4, 3))]
    found = reference.word2dm(*arrays)
    check(reference.word2dm, arrays, [found.target, found.contexts, found.noise])


def test_word2dm_dies_when_matrices_are_dissimilar():
    """The paper's appendix: orthogonal target and context give no gradient at all, where word2vec's is largest."""
    target, context = np.array([[1.0], [0.0]]), np.array([[[0.0], [1.0]]])
    found = reference.word2dm(target, context, np.zeros((1, 1, 2, 1)))
    assert not found.target.any()
    assert reference.ms_word2dm(target.T, context[:, :, 0], np.zeros((1, 2))).target.any()


@pytest.mark.parametrize("count", [2.0, 50.0])
def test_glove(count):
    w, c, bias = RNG.standard_normal(5), RNG.standard_normal(5), np.array([0.3])

    def sample(w, c):
        return reference.glove(w, c, bias[0], -0.2, count, 10.0, 0.75)

    found = sample(w, c)
    check(sample, [w, c], [found.target, found.contexts[0]])
    np.testing.assert_allclose(found.noise, numerical(lambda: sample(w, c).objective, bias), atol=1e-7)


def test_sigmoid_does_not_overflow():
    assert reference.sigmoid(np.array([-1e4, 0.0, 1e4])).tolist() == [0.0, 0.5, 1.0]
    assert reference.log_sigmoid(np.array([-1e4])).tolist() == [-1e4]
