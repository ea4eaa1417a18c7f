import { expect, test } from "vitest";
import { unheardAlarms } from "./unheard-alarms.ts";

const TOPIC = "arn:aws:sns:eu-central-1:123456789012:on-call";

test("production without an address and a topic; other environments need neither", () => {
  const unheard = (environment: string, aws: object): boolean => unheardAlarms({ environment }, { aws }) !== null;
  expect(unheard("production", {})).toBe(true);
  expect(unheard("production", { alarmEmail: "ops@example.com" })).toBe(false);
  expect(unheard("production", { alarmTopic: TOPIC })).toBe(false);
  expect(unheard("staging", {})).toBe(false);
});
