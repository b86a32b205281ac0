"""The kernel's traffic control: the one list of queue disciplines, for plans, records and the agent."""
