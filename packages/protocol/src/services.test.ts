/** Services on the wire: golden bytes, and messages that are refused. */
import { expect, test } from "vitest";
import type { ExecutionId } from "./ids.ts";
import { MalformedError } from "./malformed-error.ts";
import {
  decodeServiceAnswer,
  decodeServiceCall,
  encodeServiceAnswer,
  encodeServiceCall,
  MAX_SERVICE_RESULT_BYTES,
} from "./messages/service-call.ts";
import { decodeModuleContent, encodeModuleContent, leastAbi, UnknownSectionError } from "./module-content.ts";
import { outcomeOfService, serviceKeyOf, UNKNOWN } from "./services.ts";
import { module, serviceAnswers, serviceCall, serviceRules } from "./testing/messages.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

test("golden bytes of a call and of its answers", () => {
  expect({
    call: hex(encodeServiceCall(serviceCall)),
    answers: serviceAnswers.map((answer) => hex(encodeServiceAnswer(answer))),
  }).toMatchSnapshot();
  expect(decodeServiceCall(encodeServiceCall(serviceCall))).toEqual(serviceCall);
  for (const answer of serviceAnswers) expect(decodeServiceAnswer(encodeServiceAnswer(answer))).toEqual(answer);
});

test("golden bytes of a module with services, which rules of tasks may name", () => {
  const content = { ...module, abi: 11, services: serviceRules, tasks: { charge: { attempts: 3 } } };
  expect(hex(encodeModuleContent(content))).toMatchSnapshot();
  expect(decodeModuleContent(encodeModuleContent(content))).toEqual(content);
  expect(() => decodeModuleContent(encodeModuleContent({ ...content, abi: 10 }))).toThrow(UnknownSectionError);
  expect(leastAbi(["get"], { services: true })).toBe(11);
});

test("golden bytes of a module with secrets of a handler and of a service", () => {
  const secrets = { a: ["password", "token"], charge: ["card"] };
  const content = { ...module, abi: 11, secrets, services: serviceRules };
  expect(hex(encodeModuleContent(content))).toMatchSnapshot();
  expect(decodeModuleContent(encodeModuleContent(content))).toEqual(content);
  expect(() => decodeModuleContent(encodeModuleContent({ ...content, abi: 10 }))).toThrow(UnknownSectionError);
  for (const wrong of [{ nobody: ["x"] }, { a: [] }])
    expect(() => decodeModuleContent(encodeModuleContent({ ...content, secrets: wrong }))).toThrow(MalformedError);
  expect(leastAbi(["get"], { secrets: true })).toBe(11);
});

test.each([
  ["with the name of a handler", { a: serviceRules["charge"]! }],
  ["with a window that is shorter than a call may take", { charge: { keyWindowMs: 1_000, once: false } }],
])("a section of services %s is refused", (_what, services) => {
  expect(() => decodeModuleContent(encodeModuleContent({ ...module, services }))).toThrow(MalformedError);
});

test("the messages of answers are cut, and a result that nothing could store is refused", () => {
  const failed = { kind: "failed", code: "Error", message: "x".repeat(5_000) } as const;
  expect(decodeServiceAnswer(encodeServiceAnswer(failed))).toEqual({ ...failed, message: "x".repeat(1_000) });
  const large = { kind: "value", bytes: new Uint8Array(MAX_SERVICE_RESULT_BYTES + 1) } as const;
  expect(() => decodeServiceAnswer(encodeServiceAnswer(large))).toThrow(/at most/);
});

test("the key of a task is a UUID, the same for each call, and another one for another task", () => {
  const keys = [0, 1, 2].map((n) => serviceKeyOf(`${n}`.repeat(32) as ExecutionId));
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(keys).size).toBe(3);
  expect(serviceKeyOf("0".repeat(32) as ExecutionId)).toBe(keys[0]);
});

test("a refusal is an answer, and a failure is none", () => {
  expect(outcomeOfService({ kind: "value", bytes: Uint8Array.of(1) })).toEqual({
    kind: "result",
    value: Uint8Array.of(1),
  });
  expect(outcomeOfService({ kind: "refused", code: "declined", message: "no" })).toMatchObject({ status: 422 });
  expect(outcomeOfService({ kind: "failed", code: "Error", message: "no" })).toMatchObject({ status: 502 });
  expect(outcomeOfService({ kind: "unknown", message: "no" })).toMatchObject({ status: 504, code: UNKNOWN });
});
