"""The memory and other programs: chats that they export, and agents that ask it."""
