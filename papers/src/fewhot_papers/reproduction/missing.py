"""What results say of data that entries need and that nobody may pass on."""

from __future__ import annotations


def celeba(used: str = "") -> str:
    """Say why figures on CelebA are not run; ``used`` says which of its images a paper takes."""
    images = f"CelebA (about 200,000 aligned face images{f'; {used}' if used else ''}, cropped to 32 x 32 RGB)"
    return (
        f"{images}: its images are for non-commercial research only and have no stable public address. The dataset "
        "celeba32 reads them from a folder of your own; this entry has no cells for them."
    )
