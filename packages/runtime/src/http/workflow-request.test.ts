import { type HandlerManifest, type Manifest, RadicalError } from "@radical/protocol";
import { describe, expect, test } from "vitest";
import { MethodNotAllowed } from "./call.ts";
import { MAX_WORKFLOW_WAIT_MS, mayNameWorkflow, waitMsOf, workflowPath, workflowRequest } from "./workflow-request.ts";

const handler: HandlerManifest = {
  parameters: [],
  result: null,
  plan: "workflow",
  readOnly: false,
  file: "handlers/h.ts",
  line: 1,
};
const manifest = {
  handlers: { buy: handler, hidden: { ...handler, internal: true }, order: { ...handler, plan: "sliced" } },
} as unknown as Manifest;
const ID = "8a".repeat(16);

const request = (path: string, method = "GET", headers: Readonly<Record<string, string>> = {}): Request =>
  new Request(`https://example.com${path}`, { method, headers });

function refusalOf(action: () => unknown): RadicalError {
  try {
    action();
  } catch (error) {
    if (error instanceof RadicalError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("the path of a workflow", () => {
  test("is asked for with GET, and cancelled with DELETE", () => {
    const path = `/api/buy/${ID}`;
    expect(workflowPath("buy", ID as never)).toBe(path);
    expect(workflowRequest(request(path), manifest)).toEqual({ handler: "buy", workflow: ID, cancels: false });
    expect(workflowRequest(request(`${path}?x=1`, "DELETE"), manifest)).toMatchObject({ cancels: true });
  });

  test.each(["POST", "PUT"])("is not for %s", (method) => {
    const refusal = refusalOf(() => workflowRequest(request(`/api/buy/${ID}`, method), manifest));
    expect(refusal).toBeInstanceOf(MethodNotAllowed);
    expect(refusal).toMatchObject({ status: 405, allow: "GET, DELETE" });
  });

  test.each(["", "A", ID.toUpperCase(), `${ID}0`, `execution-${ID}`])("with the id %j is unknown", (id) => {
    expect(refusalOf(() => workflowRequest(request(`/api/buy/${id}`), manifest))).toMatchObject({
      code: "unknown_workflow",
      status: 404,
    });
  });

  test.each([
    "/api/buy",
    `/api/buy/${ID}/more`,
    `/api/order/${ID}`,
    `/api/hidden/${ID}`,
    `/api/nothing/${ID}`,
    `/api/toString/${ID}`,
    `/buy/${ID}`,
  ])("is not %s", (path) => {
    expect(workflowRequest(request(path), manifest)).toBeNull();
  });

  test("of a workflow without a route is one for tests", () => {
    const open = { ...manifest, testHooks: { routesInternal: true } } as Manifest;
    expect(workflowRequest(request(`/api/hidden/${ID}`), open)).toMatchObject({ handler: "hidden" });
  });
});

test.each([
  ["wait=10", 10_000],
  ["wait=0", 0],
  ["respond-async, wait=7", 7_000],
  ['Wait = "3"', 3_000],
  ["wait=5; foo=1", 5_000],
  ["wait=100000", MAX_WORKFLOW_WAIT_MS],
  ["wait=soon", null],
  ["wait=-1", null],
  ["await=3", null],
  ["wait=1.5", null],
  ["", null],
])("the preference %j waits for %j ms", (prefer, ms) => {
  expect(waitMsOf(request("/api/buy", "POST", { prefer }))).toBe(ms);
});

test("a request without a preference does not say", () => {
  expect(waitMsOf(request("/api/buy", "POST"))).toBeNull();
});

test("only a path that goes on behind a handler is looked at further", () => {
  expect(mayNameWorkflow(`https://example.com${workflowPath("buy", ID as never)}`)).toBe(true);
  for (const path of ["/api/buy", "/api/buy?to=x", "/", "/page/of/mine.html"])
    expect([path, mayNameWorkflow(`https://example.com${path}`)]).toEqual([path, false]);
});
