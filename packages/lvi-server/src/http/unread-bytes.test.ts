import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LineStream } from "./line-stream.ts";
import { UnreadBytes } from "./unread-bytes.ts";

/** A connection whose other side reads when it is told to. */
class SlowResponse extends EventEmitter {
  closed = false;
  writableEnded = false;
  writableLength = 0;
  /** Whether the other side takes everything at once. */
  readsOn = false;
  writeHead(): void {}
  flushHeaders(): void {}
  write(line: string): void {
    if (!this.readsOn) this.writableLength += Buffer.byteLength(line);
  }
  reads(): void {
    this.writableLength = 0;
    this.emit("drain");
  }
  close(): void {
    this.closed = true;
    this.emit("close");
  }
}

const LINE = `${"a".repeat(99)}\n`;

function streamsOn(unread: UnreadBytes, count: number) {
  return Array.from({ length: count }, () => {
    const response = new SlowResponse();
    const options = { heartbeatMs: 1_000_000, unread, onClose: () => {} };
    return { response, stream: new LineStream(response as unknown as ServerResponse, options) };
  });
}

test("slow readers lose lines at the half of the bound, and who keeps up goes on", () => {
  const unread = new UnreadBytes(1_000);
  const [slow, other, fast] = streamsOn(unread, 3);
  fast!.response.readsOn = true;
  for (let lines = 0; lines < 4; lines++) expect(slow!.stream.write(LINE)).toBe(true);
  expect(other!.stream.write(LINE)).toBe(true);
  expect([slow!.stream.write(LINE), other!.stream.write(LINE)]).toEqual([false, false]);
  for (let lines = 0; lines < 100; lines++) expect(fast!.stream.write(LINE)).toBe(true);
  slow!.response.reads();
  expect(unread.all).toBe(100);
  expect([slow!.stream.write(LINE), other!.stream.write(LINE)]).toEqual([true, true]);
  for (const { response } of [slow!, other!, fast!]) response.close();
  expect(unread.all).toBe(0);
});

test("a line counts with its bytes, whatever letters it has", () => {
  const unread = new UnreadBytes(1_000);
  // Of 151 bytes, in 51 units of UTF-16.
  const line = `${"語".repeat(50)}\n`;
  const written = streamsOn(unread, 7).map(({ stream }) => stream.write(line));
  expect(written).toEqual([true, true, true, true, true, true, false]);
  expect(unread.all).toBe(906);
});

test("whatever is written and read, all together stay within the bound, and nothing is left at the end", () => {
  const step = fc.record({ of: fc.nat(19), does: fc.constantFrom("write", "write", "write", "read", "close") });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const unread = new UnreadBytes(1_000);
      const streams = streamsOn(unread, 20);
      for (const { of, does } of steps) {
        const { response, stream } = streams[of]!;
        if (response.closed) continue;
        if (does === "write") stream.write(LINE);
        else if (does === "read") response.reads();
        else response.close();
        const waiting = streams.reduce(
          (all, each) => all + (each.response.closed ? 0 : each.response.writableLength),
          0,
        );
        expect(unread.all).toBe(waiting);
        expect(waiting).toBeLessThanOrEqual(1_000);
      }
      for (const { response } of streams) if (!response.closed) response.close();
      expect(unread.all).toBe(0);
    }),
  );
});
