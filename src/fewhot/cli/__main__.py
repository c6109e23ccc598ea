"""``python -m fewhot.cli``: the program ``fewhot`` without its script."""

from fewhot.cli import main

if __name__ == "__main__":
    main()
