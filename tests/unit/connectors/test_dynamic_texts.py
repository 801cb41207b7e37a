"""Tables in the strings of SQL that a function of PostgreSQL puts together and runs."""

import pytest

from headwater.connectors.dynamic_texts import dynamic_names

CREATE = (
    "CREATE OR REPLACE FUNCTION shop.f()\n RETURNS void\n LANGUAGE plpgsql\nAS $function$ begin {} end $function$\n"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("execute 'delete from shop.orders where note = ''x''';", {("shop", "orders")}),
        ("EXECUTE 'truncate table only Orders';", {("orders",)}),
        ("execute format('select * from %I.%I', 'shop', 'orders');", {("shop",), ("orders",)}),
        ("""execute 'update "Odd"."Orders" set a = 1';""", {("Odd", "Orders")}),
        ("execute $q$insert into shop.a select * from shop.b join c using (id)$q$;", {("shop", "a"), ("shop", "b"), ("c",)}),
        ("execute 'drop table if exists shop.orders';", {("shop", "orders")}),
        ("-- It isn't there.\nexecute 'delete from a';", {("a",)}),
        ("raise notice 'rows from shop.orders';", set()),
        ("perform 1 from shop.orders;", set()),
        ("/* execute 'delete from a' */ perform 'from b';", set()),
        ("raise notice 'execute'; perform 'from b';", set()),
        ("execute 'select 1'; raise notice 'the orders are old';", set()),
    ],
)  # fmt: skip
def test_a_string_names_tables(body: str, expected: set[tuple[str, ...]]) -> None:
    assert dynamic_names(CREATE.format(body)) == expected


def test_a_definition_in_another_form_names_none() -> None:
    assert dynamic_names("create function f() returns int return (select 1)") == set()
