"""``python -m fewhot`` is the command ``fewhot``."""

from fewhot.cli import main

if __name__ == "__main__":
    main()
