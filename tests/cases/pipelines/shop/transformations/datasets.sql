CREATE MATERIALIZED VIEW totals AS SELECT name, sum(amount) AS total FROM joined GROUP BY name;
CREATE STREAMING TABLE large AS SELECT no, amount * 2 AS twice FROM STREAM orders_seen WHERE amount > 2;
CREATE MATERIALIZED VIEW refused AS SELECT no, raise_error('not today') AS why FROM orders_seen;
