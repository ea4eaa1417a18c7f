import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { LineStream } from "./line-stream.ts";

class FakeResponse extends EventEmitter {
  closed = false;
  writableEnded = false;
  writableLength = 0;
  writeHead(): void {}
  flushHeaders(): void {}
  write(): void {}
}

function streamOn(response: FakeResponse): { readonly stream: LineStream; readonly closed: Promise<unknown> } {
  const events = new EventEmitter();
  const closed = once(events, "closed");
  const options = { heartbeatMs: 1_000_000, onClose: () => void events.emit("closed") };
  return { stream: new LineStream(response as unknown as ServerResponse, options), closed };
}

test("who listens is known to be gone, also if it went before the answer began", async () => {
  const response = new FakeResponse();
  const { closed } = streamOn(response);
  response.emit("close");
  expect(await closed).toEqual([]);

  const gone = new FakeResponse();
  gone.closed = true;
  expect(await streamOn(gone).closed).toEqual([]);
});

test("who does not read loses lines", () => {
  const response = new FakeResponse();
  const { stream } = streamOn(response);
  expect(stream.write("a\n")).toBe(true);
  response.writableLength = 9 * 1024 * 1024;
  expect(stream.write("b\n")).toBe(false);
  response.emit("close");
});
