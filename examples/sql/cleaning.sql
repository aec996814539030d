-- From a raw topic to one that others can use: names, types, and nothing that is not valid.
--   headrace sql --local -f examples/sql/cleaning.sql
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM raw_readings (sensor STRING, reading STRING, taken_at STRING)
  WITH (kafka_topic = 'raw-readings', value_format = 'JSON', partitions = 1);

CREATE STREAM readings WITH (kafka_topic = 'readings', partitions = 1) AS
  SELECT LCASE(TRIM(sensor)) AS sensor,
         CAST(reading AS DOUBLE) AS celsius,
         PARSE_TIMESTAMP(taken_at, 'yyyy-MM-dd HH:mm:ss') AS taken_at
  FROM raw_readings
  WHERE sensor IS NOT NULL AND CAST(reading AS DOUBLE) BETWEEN -60 AND 60
  PARTITION BY LCASE(TRIM(sensor));

CREATE TABLE latest_readings AS
  SELECT sensor, LATEST_BY_OFFSET(celsius) AS celsius, COUNT(*) AS readings
  FROM readings GROUP BY sensor;
