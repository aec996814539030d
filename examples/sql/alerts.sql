-- Three failed logins of one user within a minute.
--   headrace sql --local -f examples/sql/alerts.sql
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM logins (user_name STRING KEY, ok BOOLEAN, address STRING)
  WITH (kafka_topic = 'logins', value_format = 'JSON', partitions = 1);

CREATE TABLE suspicious AS
  SELECT user_name, COUNT(*) AS failures, COLLECT_SET(address) AS addresses
  FROM logins WINDOW TUMBLING (SIZE 1 MINUTE)
  WHERE NOT ok
  GROUP BY user_name
  HAVING COUNT(*) >= 3;
