"""Double-blind human evaluation: forms, returned answers, blinding, analysis."""
