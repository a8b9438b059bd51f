"""Which mutant has to be caught by which scenario, and by what name. Typed by hand from the
specification of the suite; nothing in the suite itself reads it, so that the two can disagree.

Scenarios stand primary first. A mutant is killed where one of its scenarios gives the level (F: FAIL,
W: WARN) and names one of the invariants. `race`: a kill is wanted in four of five runs, not in all.
"""

# no, mutant, scenarios, invariants, level
ROWS = """
M01 | early-ack | base.ack-after-effect; std.crash-after-receive; poison.crashes-consumer | ACK-AFTER-EFFECT / NO-LOSS | F
M02 | ack-on-dispatch | base.ack-after-effect; std.crash-mid-work | ACK-AFTER-EFFECT | F
M03 | ack-always | retry.transient-then-success; batch.one-failure-is-isolated; poison.reaches-dlq-exactly | NO-ACK-ON-FAIL / NO-LOSS | F
M04 | no-idempotency | std.duplicate-after-delete; std.delete-lost; std.crash-after-effect-before-delete; chaos.soak | ONCE | F
M05 | key-is-message-id | std.duplicate-producer; dlq.redrive-replay | ONCE | F
M06 | key-is-receipt-handle | std.duplicate-after-delete; std.crash-after-effect-before-delete | ONCE | F
M07 | check-then-act | std.duplicate-two-workers; std.duplicate-while-inflight | ONCE | F race
M08 | memory-only-dedupe | std.crash-after-effect-before-delete; std.duplicate-two-workers; lambda.duplicate-batch | ONCE | F
M09 | mark-before-effect | std.crash-mid-work; poison.crashes-consumer | NO-LOSS | F
M10 | inbox-outside-tx | std.crash-after-effect-before-delete | ONCE | F
M11 | stuck-processing | std.crash-mid-work | DRAINED / DLQ-EXACT | F
M12 | skip-without-delete | std.duplicate-after-delete; std.delete-lost | DRAINED / DLQ-EXACT | F
M13 | batch-id-is-message-id | std.duplicate-in-one-batch | distinct ids | F
M14 | batch-over-10 | batch.partial-delete-failure-retried; backpressure.bounded-inflight | DRAINED | F
M15 | ignore-batch-failed | batch.partial-delete-failure-retried | retried before V | W
M16 | no-heartbeat | lease.heartbeat-extends | LEASE-COVER | F
M17 | heartbeat-too-late | lease.heartbeat-extends | LEASE-COVER | F
M18 | heartbeat-dies-on-error | lease.heartbeat-call-fails | LEASE-COVER | W
M19 | heartbeat-crashes-process | lease.heartbeat-call-fails; lease.lost-mid-work | SURVIVES | F
M20 | heartbeat-leak | lease.heartbeat-stops | NO-GHOST-EXTEND | F
M21 | heartbeat-forever | lease.hung-handler-released | second lease | W
M22 | stale-handle | lease.newest-handle | NEWEST-HANDLE | F
M23 | buffer-expiry | lease.buffer-protected; backpressure.full-means-no-receive | START-LIVE | F
M24 | hoarder | lease.buffer-protected | idle hold | W
M25 | lease-too-long | std.crash-after-receive | recovery time | W
M26 | unbounded-dispatch | backpressure.bounded-inflight; backpressure.full-means-no-receive | BOUNDED | F
M27 | drop-on-full | base.drain-and-profile; backpressure.bounded-inflight | NO-LOSS | F
M28 | batch-barrier | batch.slow-message-does-not-block; poison.does-not-block-others | PROGRESS | F
M29 | one-tx-batch | batch.one-failure-is-isolated | one lease per ok | F
M30 | short-poll-busy-loop | poll.idle-cost; poll.long-polling-used | call rate | F
M31 | exit-on-empty | poll.false-empty | SURVIVES / DRAINED | F
M32 | no-client-timeout | poll.stalled-connection; ambiguous.effect-timeout | PROGRESS | F
M33 | dies-on-error | std.delete-error; error.backoff-on-5xx; server.crash-and-restart | SURVIVES | F
M34 | dead-poller | poll.response-lost; error.backoff-on-throttle | DRAINED | F
M35 | tight-error-loop | error.backoff-on-throttle; error.backoff-on-5xx | BACKOFF | F
M36 | hot-retry | retry.not-hot; backpressure.downstream-outage | spacing / DLQ-EXACT | W
M37 | give-up-and-delete | poison.reaches-dlq-exactly; retry.transient-then-success | NO-LOSS | F
M38 | retry-everything | poison.invalid-not-retried | attempts <= 2 | W
M39 | poison-forever | poison.reaches-dlq-exactly | DLQ-EXACT / DRAINED | F
M40 | inline-retry-forever | poison.does-not-block-others; poison.reaches-dlq-exactly | PROGRESS | F
M41 | inline-retry-past-lease | retry.transient-then-success; lease.heartbeat-extends | LEASE-COVER | F
M42 | crash-on-bad-message | poison.invalid-not-retried | SURVIVES | F
M43 | crash-on-odd-body | base.strange-bodies | NO-LOSS | F
M44 | ignores-schema-version | poison.unknown-schema | no effect for unknown | F
M45 | quarantine-after-delete | poison.quarantine-before-ack | NO-LOSS | F
M46 | new-key-per-attempt | ambiguous.effect-response-lost; std.delete-lost | ONCE | F
M47 | ack-ambiguous | ambiguous.effect-timeout | ACK-AFTER-EFFECT | F
M48 | publish-no-outbox | outbox.publish-atomic | output missing | F
M49 | publish-before-commit | outbox.publish-atomic | output without effect | F
M50 | retry-queue-delete-first | retry.delayed-queue | NO-LOSS | F
M51 | wrong-variable | base.drain-and-profile | NO-LOSS / ONCE | F
M52 | last-writer-wins | std.reorder | newest version | W
M53 | fifo-parallel | fifo.order; fifo.serial-in-group; fifo.contiguous-ack | GROUP-SERIAL | F
M54 | fifo-continue-after-failure | fifo.stop-after-first-failure | GROUP-ORDER | F
M55 | fifo-gap-ack | fifo.contiguous-ack | NO-GAP-ACK | F
M56 | fifo-global-serial | fifo.poison-blocks-only-its-group; fifo.parallel-across-groups | PROGRESS | F
M57 | fifo-fail-whole-batch | fifo.poison-blocks-only-its-group | PROGRESS / DLQ-EXACT | F
M58 | retry-dead-handle-forever | fifo.expired-handle-delete | <= 5 calls | F
M59 | exit-now-on-sigterm | shutdown.sigterm-drains; shutdown.unfinished-work-released | run finishes | F
M60 | ignores-sigterm | shutdown.sigterm-drains; shutdown.receive-in-flight | EXIT-IN-GRACE | F
M61 | keeps-polling | shutdown.stops-polling | QUIET | F
M62 | strands-last-receive | shutdown.receive-in-flight | NO-STRAND | W
M63 | heartbeat-stops-at-sigterm | shutdown.heartbeat-while-draining | LEASE-COVER | F
M64 | delete-unfinished | shutdown.unfinished-work-released; shutdown.sigterm-drains | ACK-AFTER-EFFECT | F
M65 | ack-buffer-lost | shutdown.sigterm-drains | deleted at exit | F
M66 | hangs-when-sqs-down | shutdown.while-sqs-is-down | EXIT-IN-GRACE | F
M67 | lambda-throw | lambda.bad-record-does-not-throw; lambda.partial-batch; lambda.poison-to-dlq | one lease per ok | F
M68 | lambda-swallow | lambda.partial-batch; lambda.poison-to-dlq | NO-LOSS | F
M69 | lambda-wrong-id | lambda.response-shape; lambda.partial-batch | ids in batch | F
M70 | lambda-wrong-key | lambda.response-shape | shape | F
M71 | lambda-fifo-skips | lambda.fifo-stop-and-return-rest | GROUP-ORDER | F
M72 | lambda-ignores-deadline | lambda.timeout | remaining returned | W
M73 | payload-logger | log.no-payload | canary | W
M74 | zero-visibility | scale.competing-consumers; base.drain-and-profile | one lease per message | F
M75 | local-journal-replay | std.crash-after-delete | START-LIVE | F
M76 | lambda-misconfigured | lambda.config-audit | audit lines | W
"""

# What the catalogue of scenarios says beyond the table: a scenario, and the mutants that it catches too.
# These do not count for the mutant (that takes one of its own row), but for the scenario.
MORE = """
std.crash-mid-work | early-ack
std.duplicate-while-inflight | no-idempotency; skip-without-delete
std.duplicate-two-workers | no-idempotency
std.duplicate-producer | no-idempotency
std.delete-response-lost | dies-on-error
std.delete-error | no-idempotency
lease.lost-mid-work | no-idempotency
error.backoff-on-throttle | dies-on-error
error.backoff-on-5xx | dead-poller
error.backoff-on-auth | tight-error-loop
error.queue-missing | tight-error-loop
error.resets-and-truncation | dies-on-error; dead-poller; no-idempotency
server.crash-and-restart | dead-poller
server.crash-after-commit | no-idempotency; skip-without-delete
ambiguous.effect-response-lost | no-idempotency
backpressure.slow-downstream | unbounded-dispatch; hot-retry
backpressure.downstream-outage | give-up-and-delete
fifo.crash-mid-group | no-idempotency
fifo.expired-handle-delete | dies-on-error; no-idempotency
scale.join-leave | memory-only-dedupe; no-idempotency; exit-now-on-sigterm
shutdown.unfinished-work-released | ignores-sigterm
lambda.duplicate-batch | no-idempotency
lambda.timeout | no-idempotency
"""

# Cells that the catalogue, or the nature of the scenario, wants in another way than the row of the
# mutant: their level and the names of their invariants.
OTHERWISE = {
    # It may be polled ten times a second there, and that is a must of poll.idle-cost.
    ("short-poll-busy-loop", "poll.long-polling-used"): ("W", ["LONG-POLL"]),
    # Two hands hang, two go on: no progress is missing but that of the poison.
    ("inline-retry-forever", "poison.reaches-dlq-exactly"): ("F", ["DRAINED", "DLQ-EXACT"]),
    # Between two attempts nothing runs: the next one begins on a lease that is over.
    ("inline-retry-past-lease", "retry.transient-then-success"): ("F", ["START-LIVE"]),
    # The work is five times the grace period: nobody could finish it.
    ("exit-now-on-sigterm", "shutdown.unfinished-work-released"): ("W", ["NO-STRAND"]),
    # What it left comes back and is done: lost is only the time.
    ("exit-now-on-sigterm", "scale.join-leave"): ("W", ["NO-STRAND"]),
    ("fifo-global-serial", "fifo.parallel-across-groups"): ("W", ["PARALLEL*", "PROGRESS"]),
    ("tight-error-loop", "error.backoff-on-auth"): ("W", ["BACKOFF"]),
    ("tight-error-loop", "error.queue-missing"): ("W", ["BACKOFF"]),
    # All of these scenarios is a should.
    ("unbounded-dispatch", "backpressure.full-means-no-receive"): ("W", ["BOUNDED"]),
    ("buffer-expiry", "backpressure.full-means-no-receive"): ("W", ["START-LIVE"]),
    ("unbounded-dispatch", "backpressure.slow-downstream"): ("W", ["BOUNDED"]),
    # What is never deleted circles until it is a dead letter, or the time is over.
    ("batch-over-10", "backpressure.bounded-inflight"): ("F", ["DRAINED", "DLQ-EXACT"]),
}

# Cells of the tables that this worker cannot fill, and why.
NOT_SHOWN = {
    ("no-idempotency", "std.delete-error"): "the worker repeats its deletes while the lease lasts",
    ("no-idempotency", "error.resets-and-truncation"): "the worker repeats its deletes while the lease lasts",
    ("dead-poller", "server.crash-and-restart"): "the client's own attempts outlast the outage",
    ("batch-barrier", "poison.does-not-block-others"): "the worker quarantines poison at once: no batch waits",
}

# What the table says in words, as the JSON verdict names it (shell patterns).
NAMES = {
    "distinct ids": ["DISTINCT-IDS"],
    "retried before V": ["RETRIED-BEFORE-V"],
    "second lease": ["SECOND-LEASE"],
    "idle hold": ["IDLE-HOLD"],
    "recovery time": ["RECOVERY*"],
    "one lease per ok": ["ONE-LEASE*", "leases(k-000) == 1 and leases(k-001) == 1*"],
    "call rate": ["CALL-RATE"],
    "spacing": ["SPACING"],
    "attempts <= 2": ["ATTEMPTS*"],
    "no effect for unknown": ["NO-EFFECT*"],
    "output missing": ["OUTPUT-MISSING", "OUTPUT*"],
    "output without effect": ["OUTPUT-WITHOUT-EFFECT", "OUTPUT*"],
    "newest version": ["NEWEST-VERSION"],
    "<= 5 calls": ["DEAD-HANDLE*", "AT-MOST-5*"],
    "run finishes": ["RUN-FINISHES", "RUNS-FINISH*"],
    "deleted at exit": ["DELETED-AT-EXIT"],
    "canary": ["CANARY"],
    "ids in batch": ["IDS-IN-BATCH"],
    "shape": ["SHAPE"],
    "remaining returned": ["REST-RETURNED"],
    "audit lines": ["AUDIT"],
    "one lease per message": ["ONE-LEASE*", "max(leases) == 1"],
}

# What a scenario needs to be told before it applies: to the check, to the worker.
DECLARED = {
    # What is learned of a consumer that works on all at once is no limit.
    "backpressure.bounded-inflight": (["--concurrency", "4"], []),
    "batch.slow-message-does-not-block": (["--concurrency", "4"], []),
    "lease.heartbeat-extends": (["--heartbeat", "yes"], []),
    "lease.heartbeat-stops": (["--heartbeat", "yes"], []),
    "lease.heartbeat-call-fails": (["--heartbeat", "yes"], []),
    "lease.buffer-protected": (["--heartbeat", "yes"], []),
    "backpressure.full-means-no-receive": (["--heartbeat", "yes"], []),
    "shutdown.heartbeat-while-draining": (["--heartbeat", "yes"], []),
    "fifo.parallel-across-groups": (["--concurrency", "4"], []),
    "outbox.publish-atomic": (["--output-queue", "output"], ["--publish"]),
    "retry.delayed-queue": (["--retry-queue", "retry"], ["--retry-queue", "{retry_queue_url}"]),
    "std.reorder": ([], ["--state"]),
}

# Mistakes that are none of the code: what the check is told, in place of a bug.
MISTOLD = {
    "lambda-misconfigured": ["--esm", "{consumers}/lambda/misconfigured.json"],
}
# What is tested by it is not the function.
SELF_TESTS = ["lambda.concurrency-cap"]


class Mutant:
    def __init__(self, line, more):
        number, name, scenarios, invariants, level = (part.strip() for part in line.split(" | "))
        self.number = number
        self.name = name
        self.scenarios = [one.strip() for one in scenarios.split(";")]
        self.more = more.get(name, [])
        self.invariants = [one.strip() for one in invariants.split(" / ")]
        self.level = level[0]
        self.is_race = level.endswith("race")

    def wanted(self, scenario):
        """The level and the names of invariants by which the scenario has to catch it."""
        patterns = [name for one in self.invariants for name in NAMES.get(one, [one])]
        return OTHERWISE.get((self.name, scenario), (self.level, patterns))


def _more():
    found = {}
    for line in MORE.strip().splitlines():
        scenario, mutants = line.split(" | ")
        for mutant in mutants.split(";"):
            found.setdefault(mutant.strip(), []).append(scenario)
    return found


MUTANTS = [Mutant(line, _more()) for line in ROWS.strip().splitlines()]


def profile_of(scenario):
    family = scenario.split(".")[0]
    return family if family in ("fifo", "lambda") else "standard"
