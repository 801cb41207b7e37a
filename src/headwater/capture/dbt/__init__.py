"""Capture of dbt: what each model read and wrote, from the files that dbt leaves behind. See README.md."""
