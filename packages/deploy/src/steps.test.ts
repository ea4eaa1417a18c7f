import { expect, test } from "vitest";
import { CommandError } from "@radical/app/command-error";
import { type Change, type Step, type StepEvent, applySteps, planSteps } from "./steps.ts";

const CHANGE: Change = { kind: "make", what: "a thing", detail: "" };

/** A cloud with things that steps make. */
function world(...names: readonly string[]): {
  readonly things: Set<string>;
  readonly steps: readonly Step[];
  failAt: string | null;
} {
  const things = new Set<string>();
  const made = {
    things,
    failAt: null as string | null,
    steps: names.map((name): Step => ({
      name,
      title: name,
      half: "edge",
      ifFailed: "The old one serves.",
      plan: () => Promise.resolve(things.has(name) ? [] : [CHANGE]),
      apply: () => {
        if (made.failAt === name) return Promise.reject(new CommandError("broken", `${name} broke`, "mend it"));
        things.add(name);
        return Promise.resolve(undefined);
      },
    })),
  };
  return made;
}

test("steps are applied in order, and a second run finds nothing to change", async () => {
  const { steps, things } = world("a", "b", "c");
  const events: StepEvent[] = [];
  const outcome = await applySteps(await planSteps(steps), { onEvent: (event) => events.push(event), now: () => 0 });
  expect(outcome.kind).toBe("done");
  expect([...things]).toEqual(["a", "b", "c"]);
  expect(events.map(({ kind, step }) => `${kind} ${step.name}`)).toEqual([
    "begun a",
    "ended a",
    "begun b",
    "ended b",
    "begun c",
    "ended c",
  ]);
  const again = await applySteps(await planSteps(steps), { onEvent: () => undefined });
  expect(again.reports.map((report) => report.outcome)).toEqual(["unchanged", "unchanged", "unchanged"]);
});

test.each(["a", "b", "c"])("a failure at %s ends the run there, and the next one goes on", async (name) => {
  const made = world("a", "b", "c");
  made.failAt = name;
  const failed = await applySteps(await planSteps(made.steps), { onEvent: () => undefined });
  expect(failed).toMatchObject({ kind: "failed", failed: { name }, error: { code: "broken" } });
  expect(failed.reports.at(-1)).toMatchObject({ name, outcome: "failed" });
  made.failAt = null;
  const before = [...made.things];
  const again = await applySteps(await planSteps(made.steps), { onEvent: () => undefined });
  expect(again.kind).toBe("done");
  expect(again.reports.filter(({ outcome }) => outcome === "unchanged").map((report) => report.name)).toEqual(before);
});

test("told to stop, no further step begins", async () => {
  const { steps, things } = world("a", "b", "c");
  const stop = new AbortController();
  const outcome = await applySteps(await planSteps(steps), {
    signal: stop.signal,
    onEvent: ({ kind, step }) => {
      if (kind === "ended" && step.name === "b") stop.abort();
    },
  });
  expect(outcome).toMatchObject({ kind: "stopped", next: { name: "c" }, isBegun: false });
  expect([...things]).toEqual(["a", "b"]);
});

test("told to stop within a step that takes its time, it is not waited for", async () => {
  const { steps, things } = world("a", "b", "c");
  const stop = new AbortController();
  const lasting = steps.map((step) =>
    step.name === "b" ? { ...step, apply: () => (stop.abort(), new Promise<undefined>(() => undefined)) } : step,
  );
  const outcome = await applySteps(await planSteps(lasting), { signal: stop.signal, onEvent: () => undefined });
  expect(outcome).toMatchObject({ kind: "stopped", next: { name: "b" }, isBegun: true, reports: [{ name: "a" }] });
  expect([...things]).toEqual(["a"]);
});

test("what is no error of ours is told as a fault of ours", async () => {
  const [step] = world("a").steps;
  const broken = { ...step!, apply: () => Promise.reject(new TypeError("x is not a function")) };
  const outcome = await applySteps(await planSteps([broken]), { onEvent: () => undefined });
  expect(outcome).toMatchObject({ kind: "failed", error: { code: "internal_error" } });
});
