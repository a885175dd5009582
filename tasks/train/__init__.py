"""Training: settings and arithmetic (stage), the loop, what each rank runs (entry), and the Prefect task."""
