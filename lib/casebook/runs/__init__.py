"""Run artefacts: what an experiment leaves behind."""
