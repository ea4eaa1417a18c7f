/** Lives for tests. */
import type { Life } from "@radical/protocol";

export function life(more: Partial<Life>): Life {
  return {
    v: 1,
    kind: "life",
    side: "location",
    execution: "0".repeat(32) as Life["execution"],
    attempt: 1,
    trace: null,
    place: "JP",
    handler: "like",
    module: "m",
    atMs: 0,
    tookUs: 0,
    path: null,
    reason: null,
    code: null,
    commit: null,
    because: null,
    spans: [],
    units: [],
    unitsLeftOut: 0,
    waited: [],
    fuel: null,
    ...more,
  };
}
