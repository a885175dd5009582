"""The only place that opens files, sockets and subprocesses, or talks to MLflow."""
