"""``python -m flows``: the command line without the installed script."""

from flows.cli import main

if __name__ == "__main__":
    main()
