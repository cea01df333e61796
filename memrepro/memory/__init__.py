"""The tiered memory as a store: HOT in memory, WARM and COLD in one folder a user."""
