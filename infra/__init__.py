"""How Glassworks is put to work on machines: deployments of the flows."""
