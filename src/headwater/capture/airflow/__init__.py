"""Airflow tasks that make instances of entities: they wait for their inputs and report their outcome.

`headwater.capture.airflow.entities` is for DAG authors. This module does not import Airflow: `rest` also works without it.
"""
