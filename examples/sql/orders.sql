-- Orders and customers: a join, a total per ten seconds, and a table to ask.
--   headrace sql --local -f examples/sql/orders.sql
SET 'auto.offset.reset' = 'earliest';

CREATE TABLE customers (name STRING PRIMARY KEY, city STRING)
  WITH (kafka_topic = 'customers', value_format = 'JSON', partitions = 1);

CREATE STREAM orders (customer STRING KEY, item STRING, amount INT)
  WITH (kafka_topic = 'orders', value_format = 'JSON', partitions = 1);

INSERT INTO customers VALUES ('ann', 'Basel');
INSERT INTO customers VALUES ('bob', 'Bern');
INSERT INTO customers VALUES ('eve', 'Basel');

CREATE STREAM city_orders AS
  SELECT o.customer AS customer, c.city AS city, o.item AS item, o.amount AS amount
  FROM orders o JOIN customers c ON o.customer = c.name;

CREATE TABLE city_totals AS
  SELECT city, COUNT(*) AS orders, SUM(amount) AS total
  FROM city_orders WINDOW TUMBLING (SIZE 10 SECONDS)
  GROUP BY city;

CREATE TABLE customer_totals AS
  SELECT customer, COUNT(*) AS orders, SUM(amount) AS total
  FROM orders GROUP BY customer;
