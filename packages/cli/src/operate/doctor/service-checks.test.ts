import type { ServicesStatus, ServiceStatus } from "@radical/protocol";
import { expect, test } from "vitest";
import { serviceFindings } from "./service-checks.ts";

const charge: ServiceStatus = { name: "charge", breaker: "closed", failures: 0, calling: 1, error: null };
const well: ServicesStatus = { worker: "https://shop.example", areNeeded: true, services: [charge] };

function messagesOf(status: Partial<ServicesStatus>): readonly string[] {
  return serviceFindings({ ...well, ...status }).flatMap(({ problems }) => problems.map(({ message }) => message));
}

test("an older server says nothing, and an application without services has none", () => {
  expect(serviceFindings(null)).toEqual([]);
  expect(serviceFindings({ ...well, areNeeded: false })).toEqual([]);
});

test("services that are called are well", () => {
  expect(serviceFindings(well)).toEqual([{ check: "services", problems: [] }]);
});

test("an open breaker is told with the last failure, and so is a Worker that nobody has named", () => {
  const error = { code: "worker_unreachable", message: "connection refused", atMs: 0 };
  const [words] = messagesOf({ services: [{ ...charge, breaker: "open", failures: 5, error }] });
  expect(words).toMatch(/"charge": 5 calls in a row failed, .* worker_unreachable: connection refused/);
  expect(messagesOf({ worker: null })).toEqual([expect.stringContaining("does not know where")]);
});
