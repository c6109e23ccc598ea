"""Few-hot codes as a step of a scikit-learn pipeline: a classifier of digits that sees about five numbers a row."""

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import fewhot as fh

images, labels = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(images / 16, labels, test_size=0.25, random_state=0)

codes = fh.VSC(n_components=64, l0=5, max_steps=4000, random_state=0, verbose=1)
classifier = make_pipeline(codes, LogisticRegression(max_iter=3000)).fit(train, y_train)
active = classifier[:-1].transform(test).nnz / len(test)
print(f"{active:.1f} of 64 units are on; {classifier.score(test, y_test):.1%} of the held-out digits are recognised.")
