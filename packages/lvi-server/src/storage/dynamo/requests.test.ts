import { expect, test } from "vitest";
import { DEFAULT_REQUEST_OPTIONS, Requests } from "./requests.ts";

/** Requests that are on their way until they are told to be answered. */
class Wire {
  readonly sent: { readonly name: string; readonly answer: () => void; readonly signal: AbortSignal }[] = [];

  send(name: string): (signal: AbortSignal) => Promise<string> {
    return (signal) => new Promise((resolve) => this.sent.push({ name, answer: () => resolve(name), signal }));
  }

  get names(): readonly string[] {
    return this.sent.map(({ name }) => name);
  }
}

/** All that needs nothing from outside has been done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("so many are on their way at once, the others follow in order, and a wait in line is no part of their time", async () => {
  const wire = new Wire();
  const requests = new Requests({ ...DEFAULT_REQUEST_OPTIONS, width: 2 });
  const answers = ["a", "b", "c", "d"].map((name) => requests.read(wire.send(name)));
  await settled();
  expect(wire.names).toEqual(["a", "b"]);
  wire.sent[1]!.answer();
  expect(await answers[1]).toBe("b");
  await settled();
  // Its time begins as it is sent: nobody waits for an answer to what is in line.
  expect(wire.names).toEqual(["a", "b", "c"]);
  wire.sent[0]!.answer();
  wire.sent[2]!.answer();
  await settled();
  wire.sent[3]!.answer();
  expect(await Promise.all(answers)).toEqual(["a", "b", "c", "d"]);
});

test("what is sent at once passes the line, and takes no place in it", async () => {
  const wire = new Wire();
  const requests = new Requests({ ...DEFAULT_REQUEST_OPTIONS, width: 1 });
  const answers = ["a", "b"].map((name) => requests.write(wire.send(name)));
  const leadership = requests.writeAtOnce(wire.send("leadership"));
  await settled();
  expect(wire.names).toEqual(["a", "leadership"]);
  wire.sent[1]!.answer();
  expect(await leadership).toBe("leadership");
  await settled();
  expect(wire.names).toEqual(["a", "leadership"]);
  wire.sent[0]!.answer();
  await settled();
  wire.sent[2]!.answer();
  expect(await Promise.all(answers)).toEqual(["a", "b"]);
});

test("who failed, or pauses before another attempt, keeps nobody waiting", async () => {
  const wire = new Wire();
  const requests = new Requests({ ...DEFAULT_REQUEST_OPTIONS, width: 1, pauseMs: 1, maxPauseMs: 1 });
  let attempts = 0;
  const again = requests.read(() => {
    if (++attempts === 1) return Promise.reject(Object.assign(new Error("throttled"), { name: "ThrottlingException" }));
    return Promise.resolve("again");
  });
  const other = requests.read(wire.send("other"));
  while (wire.names.length === 0) await settled();
  wire.sent[0]!.answer();
  expect([await other, await again, attempts]).toEqual(["other", "again", 2]);
  expect(requests.throttles).toBe(1);
});
