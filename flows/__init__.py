"""Order and fan-out: the Prefect flows and the command line."""
