"""Traffic: the one list of the kinds of flows, for scenarios, plans, readings, metrics and the agent."""
