"""Audits of labels and of reported tables."""
