-- The carriers compared, month by month: one row a carrier and month, over the three airports together.
-- Shares are made from the sums of the airports; a carrier with fewer than 100 arrivals in a month is not graded on luck.

SET TIME ZONE 'UTC';

CREATE OR REPLACE TEMPORARY VIEW monthly USING parquet OPTIONS (path '${inputs.monthly}');

CREATE OR REPLACE TEMPORARY VIEW airlines USING parquet OPTIONS (path '${inputs.airlines}');

INSERT OVERWRITE DIRECTORY '${outputs.scorecard}' USING parquet
WITH carriers AS (
  SELECT
    month,
    carrier,
    SUM(flights) AS flights,
    SUM(cancelled) / SUM(flights) AS cancelled_share,
    SUM(arr_delay_sum) / SUM(arrived) AS mean_arr_delay,
    SUM(on_time) / SUM(arrived) AS on_time_share
  FROM monthly
  GROUP BY month, carrier
  HAVING SUM(arrived) >= 100
)
SELECT /*+ COALESCE(1) */
  carriers.month,
  carriers.carrier,
  airlines.name AS carrier_name,
  carriers.flights,
  carriers.cancelled_share,
  carriers.mean_arr_delay,
  carriers.on_time_share,
  RANK() OVER (PARTITION BY carriers.month ORDER BY carriers.on_time_share DESC) AS rank,
  CASE
    WHEN carriers.on_time_share >= 0.85 THEN 'A'
    WHEN carriers.on_time_share >= 0.75 THEN 'B'
    ELSE 'C'
  END AS grade
FROM carriers
LEFT JOIN airlines ON airlines.carrier = carriers.carrier;
