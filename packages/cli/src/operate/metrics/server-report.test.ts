import { expect, test } from "vitest";
import { metricLines } from "./metric-lines.ts";
import { samplesOf } from "./prometheus-text.ts";
import { serverReport } from "./server-report.ts";

function text(requests: number, refused: number, started = 100): string {
  return `process_start_time_seconds ${started}
process_resident_memory_bytes 104857600
radical_memory_bound_bytes 1048576000
radical_event_loop_delay_seconds 0.0012
radical_serving 1
radical_epoch 4
radical_replies_total{kind="valid",reason="read_only"} ${requests}
radical_replies_total{kind="refused",reason="busy"} ${refused}
radical_http_request_seconds_bucket{le="0.001",route="lvi",status="200"} ${requests}
radical_http_request_seconds_bucket{le="0.01",route="lvi",status="200"} ${requests + refused}
radical_http_request_seconds_bucket{le="+Inf",route="lvi",status="200"} ${requests + refused}
radical_intents_pending 3
radical_intent_oldest_seconds 61
radical_tasks_dead 2
radical_signed_requests_total{key="k0123abcd"} 9
radical_alarms_total{alarm="determinism"} 0
radical_alarms_total{alarm="lost_write"} 1
`;
}

const style = (_: string, words: string): string => words;

test("rates and quantiles are those of the time between", () => {
  const report = serverReport(samplesOf(text(1_000, 0)), samplesOf(text(1_190, 10)), 10, 700_000);
  expect(report.requests).toMatchObject({ rate: 20, valid: 19, executed: 0, refused: 1 });
  expect(report.requests.seconds.p50).toBeCloseTo(0.000526, 5);
  expect(report.requests.seconds.p99).toBeCloseTo(0.0082, 3);
  expect(report).toMatchObject({
    serves: true,
    epoch: 4,
    upSeconds: 600,
    alarms: { lost_write: 1 },
    signed: { k0123abcd: 9 },
  });
  expect(report.storage.seconds).toEqual({ p50: null, p90: null, p99: null });
});

test("a server that was started meanwhile has counted from 0", () => {
  const report = serverReport(samplesOf(text(1_000, 0)), samplesOf(text(50, 0, 200)), 10, 700_000);
  expect(report.requests.rate).toBe(5);
});

test("as people read it: the server that serves in full, the others in a line", () => {
  const report = serverReport(samplesOf(text(1_000, 0)), samplesOf(text(1_190, 10)), 10, 700_000);
  const lines = metricLines(
    [
      { server: "machine a", report },
      { server: "machine b", report: { ...report, serves: false } },
      { server: "machine c", failure: "the connection\u001b was lost" },
    ],
    style,
  );
  expect(lines).toEqual([
    "machine a  serves, epoch 4, up for 10m",
    "  requests      20/s, valid 19, executed 0, refused 1",
    "                p50 0.53 ms  p90 0.95 ms  p99 8.2 ms",
    "  followups     0/s",
    "  intents       3 pending, the oldest for 61 s",
    "  executions    0 under way, 0 wait, 0 run here",
    "  workers       0 of 0 busy, 0 runs wait",
    "  storage       0/s, failed 0, throttled 0",
    "                p50 –  p90 –  p99 –",
    "  tasks         0 kept, 0 ready, the oldest for 0 s, 0 running, 2 dead",
    "  workflows     0 running, 0 waiting, 0 stuck",
    "  read leases   0 units in 0 sessions, granted 0/s, revoked 0/s, lapsed 0/s",
    "  process       100 of 1,000 MiB of memory (10 %), event loop 1.2 ms late (p99)",
    "  alarm         lost_write 1 since the start",
    "machine b  does not serve, up for 10m; 100 of 1,000 MiB of memory (10 %), event loop 1.2 ms late (p99)",
    String.raw`machine c  not reached: the connection\u001b was lost`,
  ]);
});
