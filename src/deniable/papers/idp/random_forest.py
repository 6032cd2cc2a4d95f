"""The random forest of scikit-learn without what it does beside growing trees.

`sklearn.ensemble.RandomForestClassifier` copies, checks and validates for each tree anew, which for
some hundred records takes as long as the tree. Here its trees are grown and asked with its defaults
and its draws, and nothing else is done: what it predicts is the same to the last digit.
"""

import numpy as np
import sklearn  # type: ignore[import-untyped]
from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

from deniable.arrays import Codes, Floats

TREES = 100  # the default of scikit-learn, as are the other parameters
_LARGEST_SEED = np.iinfo(np.int32).max


def forest_predictions(training: Floats, labels: Codes, test: Floats, seed: int) -> Codes:
    """Return the classes that a random forest predicts.

    Records are finite, shape (records, attributes), labels the classes of the training records; the
    seed is what ``random_state`` is for scikit-learn's forest.
    """
    known, tested = (np.ascontiguousarray(values, dtype=np.float32) for values in (training, test))
    classes, codes = np.unique(labels, return_inverse=True)
    seeds, records = np.random.RandomState(seed), len(known)
    votes = np.zeros((len(tested), classes.size))
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        for tree_seed in seeds.randint(_LARGEST_SEED, size=TREES).tolist():
            # As many records as there are, drawn with replacement.
            drawn = np.random.RandomState(tree_seed).randint(0, records, records)
            weights = np.bincount(drawn, minlength=records).astype(float)
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=tree_seed)
            tree.fit(known, codes, sample_weight=weights, check_input=False)
            votes += tree.tree_.predict(tested)
    # Shares as there: a division may make two numbers of votes equal.
    return np.asarray(classes[np.argmax(votes / TREES, axis=1)])
