"""Few-hot codes of scikit-learn's handwritten digits: fit, then say in plain words what came out. No network needed."""

from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import fewhot as fh
from fewhot.metrics import activity

images, labels = load_digits(return_X_y=True)
train, test, train_labels, test_labels = train_test_split(images / 16, labels, test_size=0.25, random_state=0)

console = Console()
console.print("Fitting sparse codes of 8x8 digits: 64 units to choose from, 4 of them asked for in each image.")
vsc = fh.VSC(n_components=64, l0=4, max_steps=4000, random_state=0, verbose=1).fit(train)

codes = vsc.transform(test)
units = activity(codes)
probe = LogisticRegression(max_iter=2000).fit(vsc.transform(train), train_labels)

table = Table("number", "value", "what it means", title="450 held-out digits")
table.add_row("bound", f"{vsc.score(test):.2f}", "nats an image under exact gates; higher is better")
table.add_row("active", f"{units.active:.2f}", "units that are not zero in an image, on average; 4 were asked for")
table.add_row("used", f"{units.used} of 64", "units active in at least 0.5 % of the images")
table.add_row("always on", f"{units.always_on}", "units active in more than half of the images; 0 is good")
table.add_row("accuracy", f"{probe.score(codes, test_labels):.3f}", "of a linear classifier that sees the codes alone")
console.print(table)

first = vsc.codes(test[:1])
on = first.values.indices
shown = ", ".join(f"unit {j} = {first.values[0, j]:+.2f} (on with p = {first.p_active[0, j]:.2f})" for j in on)
console.print(f"The first held-out image, a {test_labels[0]}, is: {shown or 'all zeros'}.")
vsc.save("runs/demo")
console.print('The fitted model is in runs/demo; fewhot.load("runs/demo") brings it back.')
