"""Validate a table of an SQLite file, the first word, and hand the result to openlineage's action as its own method takes it."""

import sys

import great_expectations as gx
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)
from openlineage.common.provider.great_expectations import OpenLineageValidationAction

context = gx.get_context(mode="ephemeral")
source = context.data_sources.add_sqlite("shop", connection_string=f"sqlite:///{sys.argv[1]}")
asset = source.add_table_asset("totals", table_name="customer_totals")
suite = gx.ExpectationSuite(
    "totals",
    expectations=[
        gx.expectations.ExpectColumnValuesToNotBeNull(column="customer"),
        gx.expectations.ExpectColumnMinToBeBetween(column="total", min_value=0),
        gx.expectations.ExpectTableRowCountToEqual(value=2),
    ],
)
validator = context.get_validator(
    batch_request=asset.build_batch_request(), expectation_suite=context.suites.add(suite)
)
result = validator.validate()
action = OpenLineageValidationAction(name="openlineage", openlineage_namespace="checks", job_name="totals")
identifier = ValidationResultIdentifier(
    ExpectationSuiteIdentifier("totals"), RunIdentifier(), validator.active_batch_id
)
action._run(result, identifier, validator)
