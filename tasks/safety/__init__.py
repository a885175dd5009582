"""What may be used at all: licences and blocked places."""
