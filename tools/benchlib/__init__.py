"""What tools/bench is made of."""
