import { newAdministrationKey } from "@radical/admin";
import { CommandError } from "@radical/app/command-error";
import type { ExecutionId } from "@radical/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { createTerminal } from "../terminal/terminal.ts";
import { type Order, sendParts } from "./orders.ts";

const terminal = createTerminal({ quiet: true });
const PRIMARY = { url: "http://127.0.0.1:9", key: newAdministrationKey("k") };
const ids = Array.from({ length: 7 }, (_, at) => String(at).padStart(32, "0") as ExecutionId);

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

interface Told {
  readonly results: readonly { readonly id: string }[];
  readonly stopped: boolean;
  readonly error?: { readonly code: string };
}

/** Sends parts of two; `before` is called before each, with its number. */
async function sent(before: (part: number) => void, controller = new AbortController()): Promise<Told> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  let part = 0;
  const order: Order<"done"> = {
    noun: "task",
    action: "discard",
    doing: "discarding",
    done: "discarded",
    left: {},
    many: null,
    most: 2,
    send: (_primary, some) => {
      before(part++);
      return Promise.resolve(some.map((id) => ({ id, outcome: "done" as const })));
    },
  };
  await sendParts(order, PRIMARY, [ids.slice(0, 5), ids.slice(5)], {
    json: true,
    signal: controller.signal,
    terminal,
  }).finally(() => vi.restoreAllMocks());
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!) as Told;
}

test("an order goes in parts, and tells all of them", async () => {
  let parts = 0;
  const told = await sent(() => parts++);
  expect(told.results.map(({ id }) => id)).toEqual(ids);
  expect([parts, told.stopped, process.exitCode]).toEqual([4, false, undefined]);
});

test("Ctrl-C ends it behind the part under way, also if that fails then: what was done is told", async () => {
  const controller = new AbortController();
  const stopped = await sent((part) => part === 1 && controller.abort(), controller);
  expect([stopped.results.length, stopped.stopped, process.exitCode]).toEqual([4, true, 1]);
  const other = new AbortController();
  const failed = await sent((part) => {
    if (part < 1) return;
    other.abort();
    throw new Error("broken off");
  }, other);
  expect([failed.results.length, failed.stopped, failed.error]).toEqual([2, true, undefined]);
});

test("a failure leaves what was done before told, and one at the first part is thrown", async () => {
  const away = new CommandError("primary_not_reached", "It is away.", "Start it.");
  const told = await sent((part) => {
    if (part === 2) throw away;
  });
  expect([told.results.length, told.stopped, told.error?.code, process.exitCode]).toEqual([
    4,
    false,
    "primary_not_reached",
    1,
  ]);
  const first = sent(() => {
    throw away;
  });
  await expect(first).rejects.toBe(away);
});
