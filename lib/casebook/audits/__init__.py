"""Audits of reported tables."""
