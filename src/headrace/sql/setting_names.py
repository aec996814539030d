"""The names of settings that ksqlDB knows: its own, and those of the clients that Kafka Streams has."""

from __future__ import annotations

_KSQL = """
access.validator.enable admin.request.retry.timeout.ms assert.schema.default.timeout.ms
assert.topic.default.timeout.ms authorization.cache.expiry.time.secs authorization.cache.max.entries
cast.strings.preserve.nulls client.ip_port.configuration.enabled connect.basic.auth.credentials.file
connect.basic.auth.credentials.reload connect.basic.auth.credentials.source connect.request.headers.plugin
connect.request.timeout.ms connect.url connect.worker.config create.or.replace.enabled
create.topic.inherit.source.replicas.enabled deployment.type endpoint.migrate.query error.classifier.regex
extension.dir fail.on.deserialization.error fail.on.production.error fetch.remote.hosts.max.timeout.seconds
headers.columns.enabled hidden.topics insert.into.values.enabled internal.topic.min.insync.replicas
internal.topic.replicas json_sr.converter.deserializer.enabled kafka.client.additional.config.prefixes lambdas.enabled
metastore.backup.location metrics.extension metrics.tags.custom nested.error.set.null new.query.planner.enabled
output.topic.name.prefix persistence.default.format.key persistence.default.format.value
persistence.wrap.single.values persistent.prefix properties.overrides.allowlist properties.overrides.denylist
properties.overrides.log properties.overrides.range.validation.log.enabled properties.overrides.validation.mode
properties.overrides.validation.restore.enabled proxy.protocol.local.mode.enabled pull.queries.enable
query.cleanup.shutdown.timeout.ms query.error.max.queue.size query.persistent.active.limit
query.persistent.max.bytes.buffering.total query.pull.coordinator.queue.capacity query.pull.enable.standby.reads
query.pull.forwarding.timeout.ms query.pull.interpreter.enabled query.pull.limit.clause.enabled
query.pull.max.allowed.offset.lag query.pull.max.concurrent.requests query.pull.max.hourly.bandwidth.megabytes
query.pull.max.qps query.pull.metrics.enabled query.pull.range.scan.enabled query.pull.router.queue.capacity
query.pull.router.thread.pool.size query.pull.stream.enabled query.pull.table.scan.enabled query.pull.thread.pool.size
query.push.v2.alos.enabled query.push.v2.catchup.consumer.msg.window query.push.v2.continuation.tokens.enabled
query.push.v2.enabled query.push.v2.interpreter.enabled query.push.v2.latest.reset.age.ms
query.push.v2.max.catchup.consumers query.push.v2.max.hourly.bandwidth.megabytes query.push.v2.metrics.enabled
query.push.v2.new.latest.delay.ms query.push.v2.registry.installed query.retry.backoff.initial.ms
query.retry.backoff.max.ms query.status.running.threshold.seconds query.transient.max.bytes.buffering.total
queryanonymizer.cluster_namespace queryanonymizer.logs_enabled readonly.topics resource.extension.class
runtime.feature.shared.enabled schema.registry.url security.extension.class service.id shared.runtimes.count
sink.window.change.log.additional.retention source.table.materialization.enabled suppress.buffer.size.bytes
suppress.enabled timestamp.throw.on.invalid transient.prefix transient.query.cleanup.service.enable
transient.query.cleanup.service.initial.delay.seconds transient.query.cleanup.service.period.seconds
udf.collect.metrics udfs.enabled variable.substitution.enable websocket.connection.max.timeout.ms
"""
_CLIENTS = """
acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
bootstrap.servers buffer.memory check.crcs client.dns.lookup client.id client.rack compression.gzip.level
compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms default.api.timeout.ms
delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics fetch.max.bytes
fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor
heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer linger.ms max.block.ms
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
retry.backoff.ms security.protocol security.providers send.buffer.bytes session.timeout.ms
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms transactional.id
value.deserializer value.serializer
"""
KSQL_SETTINGS = frozenset(f"ksql.{name}" for name in _KSQL.split())
"""ksqlDB's own; many of them have no effect here."""
CLIENT_SETTINGS = frozenset(_CLIENTS.split())
"""Those of Kafka's consumers and producers."""
