import { expect, test } from "vitest";
import { type Effects, effectsThatWait } from "./effects-watch.ts";

const WELL: Effects = {
  tasks: { dead: 0, oldestReadyMs: 59_999 },
  workflows: { stuck: 0 },
  services: [{ name: "charge", breaker: "closed" }],
};

test("a server whose effects are well says nothing, and so does one that has not counted its tasks", () => {
  expect(effectsThatWait(WELL)).toBe(null);
  expect(effectsThatWait({ ...WELL, tasks: { dead: null, oldestReadyMs: 0 } })).toBe(null);
});

test.each([
  ["a dead task", { tasks: { dead: 1, oldestReadyMs: 0 } }, { deadTasks: 1 }],
  ["a task that waits", { tasks: { dead: 0, oldestReadyMs: 61_500 } }, { oldestReadySeconds: 61 }],
  ["a stuck workflow", { workflows: { stuck: 2 } }, { stuckWorkflows: 2 }],
  [
    "services that can't be called",
    {
      services: [
        { name: "charge", breaker: "open" },
        { name: "rate", breaker: "closed" },
        { name: "sendMail", breaker: "probing" },
      ],
    },
    { servicesDown: 2, services: "charge sendMail" },
  ],
] as const)("%s is a line with all numbers", (_, trouble, told) => {
  const fields = effectsThatWait({ ...WELL, tasks: { dead: 0, oldestReadyMs: 0 }, ...trouble });
  expect(fields).toEqual({ deadTasks: 0, oldestReadySeconds: 0, stuckWorkflows: 0, servicesDown: 0, ...told });
});
