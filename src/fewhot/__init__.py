"""Few-hot codes: sparse latent representations with a scikit-learn face."""
