import { encodeFollowupReply, type Followup } from "@radical/protocol";
import { expect, test } from "vitest";
import { Connections } from "./connections.ts";
import { Primary } from "./primary.ts";

test("a connection is open until it was idle for too long, or one broke", () => {
  const connections = new Connections();
  expect(connections.take(0)).toBe("new");
  expect(connections.take(0)).toBe("new");
  connections.leave(10, true);
  connections.leave(20, true);
  expect(connections.take(4_000)).toBe("open");
  connections.leave(4_000, true);
  // The other one has been idle for longer, and is not taken first.
  expect(connections.take(7_999)).toBe("open");
  expect(connections.take(7_999)).toBe("new");
  connections.leave(8_000, true);
  connections.leave(8_000, false);
  expect([connections.idle, connections.take(8_000)]).toEqual([0, "new"]);
});

test("requests one after the other take one connection, through a binding too", async () => {
  const fetcher = { fetch: () => Promise.resolve(new Response(Buffer.from(encodeFollowupReply("applied")))) };
  const key = { id: "test", secret: new Uint8Array(16) };
  const primary = new Primary([{ kind: "binding", fetcher: fetcher as never }], key);
  const followup = {
    executionId: "0".repeat(32),
    commitId: "00000001-000000000001",
    outcome: { kind: "result", value: Uint8Array.of(0) },
    writes: [],
    effects: [],
  } as unknown as Followup;
  for (let request = 0; request < 3; request++)
    expect(await primary.follow(0, followup, 1_000, null)).toEqual({ kind: "reply", reply: "applied" });
  expect(primary.idleConnections).toBe(1);
});
