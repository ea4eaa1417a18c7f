import { expect, test } from "vitest";
import { Closers } from "./closers.ts";

test("the last that was started ends first, and each once", async () => {
  const closers = new Closers();
  const ended: string[] = [];
  for (const name of ["server", "link", "edge"]) closers.push(() => ended.push(name));
  await closers.close();
  await closers.close();
  expect(ended).toEqual(["edge", "link", "server"]);
});

test("one that fails keeps no other running, and all failures are told", async () => {
  const closers = new Closers();
  const ended: string[] = [];
  closers.push(() => ended.push("server"));
  closers.push(() => Promise.reject(new Error("the link is stuck")));
  closers.push(() => {
    throw new Error("the edge is stuck");
  });
  await expect(closers.close()).rejects.toThrow("the edge is stuck; the link is stuck");
  expect(ended).toEqual(["server"]);
});

test("what is started while all ends is ended too, and whoever asks again waits for the same end", async () => {
  const closers = new Closers();
  const ended: string[] = [];
  const gate = Promise.withResolvers<void>();
  closers.push(() => gate.promise);
  const first = closers.close();
  const second = closers.close().then(() => ended.push("second"));
  closers.push(() => ended.push("late"));
  gate.resolve();
  await Promise.all([first, second]);
  expect(ended).toEqual(["late", "second"]);
});
