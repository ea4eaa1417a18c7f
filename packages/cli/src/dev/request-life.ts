/** The life of a request of which the location has logged one line only: its phases are sums, and their starts are reckoned. */
import type { ExecutionId, Life, LifeSpan } from "@radical/protocol";
import type { RequestLine } from "./dev-events.ts";

/** Null: it named no handler, or is not an execution. `endedAtMs`: by the clock of this machine. */
export function lifeOfRequest(line: RequestLine, endedAtMs: number): Life | null {
  const { handler, execution, location, trace, path, reason, code, fuel } = line;
  if (handler === null || execution === null) return null;
  const us = (phase: string): number => Math.round((line.ms[phase] ?? 0) * 1_000);
  const [setUs, cacheUs, sendUs, runUs] = [us("rw"), us("cache"), us("lvi"), us("f")];
  // The set comes first, then question and run at once.
  const spans: readonly LifeSpan[] = [
    ["set", 0, setUs],
    ["fetch", setUs, cacheUs],
    ["run", setUs + cacheUs, runUs],
    ["send", setUs + cacheUs, sendUs],
  ];
  return {
    v: 1,
    kind: "life",
    side: "location",
    execution: execution as ExecutionId,
    attempt: sendUs === 0 ? 0 : 1,
    trace,
    place: location,
    handler,
    module: "",
    atMs: endedAtMs - (line.ms["total"] ?? 0),
    tookUs: us("total"),
    path,
    reason,
    code,
    commit: null,
    because: null,
    spans: spans.filter(([, , tookUs]) => tookUs > 0),
    units: [],
    unitsLeftOut: 0,
    waited: [],
    fuel,
  };
}
