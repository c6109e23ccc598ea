"""Published tables and figures run again with fewhot, and the data and models that only they need.

>>> from fewhot_papers.reproduction import entries
>>> entries()["iclr2019-fig2"].source
'Tonolini et al., Variational Sparse Coding, ICLR 2019 submission, figure 2'
"""
