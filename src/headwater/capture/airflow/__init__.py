"""Airflow tasks that make instances of entities: they wait for what they need, and say what became of them.

`headwater.capture.airflow.entities` is for DAG authors. This page imports no Airflow, so that `rest` works where there is none.
"""
