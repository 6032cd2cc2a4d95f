"""The random forest of scikit-learn without what it does beside growing trees.

`sklearn.ensemble.RandomForestClassifier` copies, checks and validates for each tree anew: for a
file of some hundred records that takes longer than the tree. Here its trees are grown and asked as
it grows and asks them with its defaults, from the same draws, and nothing else is done: what it
predicts is the same to the last digit. Tests hold it to that.
"""

import numpy as np
import numpy.typing as npt
from sklearn.tree._criterion import Gini  # type: ignore[import-untyped]
from sklearn.tree._splitter import BestSplitter  # type: ignore[import-untyped]
from sklearn.tree._tree import DepthFirstTreeBuilder, Tree  # type: ignore[import-untyped]

from deniable.arrays import Codes, Floats

TREES = 100
"""The default of scikit-learn, as are the other parameters."""
_DEEPEST = np.iinfo(np.int32).max


def forest_predictions(training: Floats, labels: Codes, test: Floats, seed: int) -> Codes:
    """Return the classes that a random forest predicts.

    Parameters
    ----------
    training, test : finite, shapes (records, attributes)
    labels : shape (training records,)
        The classes of the training records.
    seed : int
        What ``random_state`` is for scikit-learn's forest.
    """
    known, tested = (np.ascontiguousarray(values, dtype=np.float32) for values in (training, test))
    classes, codes = np.unique(labels, return_inverse=True)
    classified = codes.astype(float)[:, None]
    seeds = np.random.RandomState(seed)
    votes = np.zeros((len(tested), classes.size))
    for _ in range(TREES):
        tree = _tree(known, classified, classes.size, int(seeds.randint(_DEEPEST)))
        votes += tree.predict(tested)
    # Shares as there: a division may make two numbers of votes equal.
    return np.asarray(classes[np.argmax(votes / TREES, axis=1)])


def _tree(training: npt.NDArray[np.float32], labels: Floats, classes: int, seed: int) -> Tree:
    """Return a tree grown from as many records as there are, drawn with replacement."""
    records, attributes = training.shape
    drawn = np.random.RandomState(seed).randint(0, records, records)
    weights = np.bincount(drawn, minlength=records).astype(float)
    looked_at, outputs = max(1, int(np.sqrt(attributes))), np.array([classes])
    # At least one record a leaf, of any weight; splits of at least two, by the drop of impurity.
    splitter = BestSplitter(Gini(1, outputs), looked_at, 1, 0.0, np.random.RandomState(seed), None)
    tree = Tree(attributes, outputs, 1)
    builder = DepthFirstTreeBuilder(splitter, 2, 1, 0.0, _DEEPEST, 0.0)
    builder.build(tree, training, labels, weights)
    return tree
