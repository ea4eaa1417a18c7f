/** A primary at AWS: how long a deployment waits for one that does not lead yet, and what it does not begin. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { newAdministrationKey } from "@radical/admin";
import { type AwsHalfContext, awsHalf } from "./aws-half.ts";
import type { CloudflareApi } from "./edge/cloudflare-api.ts";
import { primaryNames } from "./primary/names.ts";
import { KEYS_READ_WITHIN_MS, type PrimaryDeployment, type PrimaryState } from "./primary/primary-deployment.ts";
import { NO_QUOTAS } from "./quotas.ts";
import { planSteps } from "./steps.ts";
import { targetOf } from "@radical/app";

const TARGET = targetOf("visits", "staging");
const ACCESS = { account: "123456789012", region: "eu-central-1", identity: "ann", clockSkewMs: 0 };

let close: (() => void) | null = null;
afterEach(() => close?.());

/** The step that waits, with a relay that answers like this, one answer after the other, the last for good. */
async function leading(...answers: readonly [status: number, code: string][]) {
  let asked = 0;
  const relay = createServer((request, response) => {
    const [status, code] = answers[Math.min(asked++, answers.length - 1)]!;
    request
      .resume()
      .on("end", () => response.writeHead(status).end(JSON.stringify({ error: { code, message: code } })));
  });
  await new Promise<void>((resolve) => {
    relay.listen(0, "127.0.0.1", resolve);
  });
  close = () => relay.close();
  let waitedMs = 0;
  const half = awsHalf({
    ...context(),
    originOf: () => Promise.resolve(`http://127.0.0.1:${(relay.address() as AddressInfo).port}`),
    wait: (ms) => {
      waitedMs += ms;
      return Promise.resolve();
    },
  });
  await planSteps(half.steps);
  const step = half.steps.find(({ name }) => name === "leader")!;
  return { apply: () => step.apply([]), waitedMs: () => waitedMs, asked: () => asked };
}

test("it is waited for until one leads", async () => {
  const { apply, asked } = await leading([502, "primary_unreachable"], [503, "not_leading"], [404, "not_found"]);
  await apply();
  expect(asked()).toBe(3);
});

test("a key that the machines do not take yet is waited for, but not for longer than they need to read it", async () => {
  const { apply, waitedMs } = await leading([401, "unauthorized"]);
  await expect(apply()).rejects.toMatchObject({ code: "primary_refused_key" });
  expect(waitedMs()).toBeLessThanOrEqual(KEYS_READ_WITHIN_MS);
  expect(waitedMs()).toBeGreaterThan(KEYS_READ_WITHIN_MS / 2);
});

test("none leads at last: told is why", async () => {
  const { apply, waitedMs } = await leading([503, "not_leading"]);
  await expect(apply()).rejects.toMatchObject({ code: "primary_not_serving" });
  expect(waitedMs()).toBeGreaterThan(KEYS_READ_WITHIN_MS);
});

test("a quota that would be exceeded ends the plan, unless the primary stays as it is; what was not told is noted", async () => {
  const networks = { what: "networks", used: 5, adds: 1, limit: 5, fix: "ask for more" };
  const quotas = () => Promise.resolve({ uses: [networks], unasked: ["vCPUs (AccessDenied)"] });
  const notes: string[] = [];
  const planned = (only: AwsHalfContext["only"]) =>
    planSteps(
      awsHalf({
        ...context(),
        deployment: { ...DEPLOYMENT, quotas },
        only,
        note: (words) => notes.push(words),
      }).steps,
    );
  await expect(planned(null)).rejects.toMatchObject({
    code: "quota_exceeded",
    hint: expect.stringMatching(/^Ask for more\. Then/),
  });
  expect(notes).toEqual(["quotas that were not told, so not checked: vCPUs (AccessDenied)"]);
  await planned("edge");
});

function context(): AwsHalfContext {
  return {
    project: "/nowhere",
    target: TARGET,
    deployment: DEPLOYMENT,
    access: ACCESS,
    only: null,
    api: API,
    account: { id: "0", name: null },
    wrangler: { version: "0", run: () => Promise.reject(new Error("nothing is uploaded here")) },
    originOf: () => Promise.resolve("http://127.0.0.1:9"),
    wait: () => Promise.resolve(),
    nowMs: 0,
    note: () => undefined,
  };
}

/** Tunnels and services are there, and no relay. */
const API: CloudflareApi = {
  find: () => Promise.resolve(null),
  get: () => Promise.resolve({ deployments: [] } as never),
  list: () =>
    Promise.resolve(
      Object.values(primaryNames(TARGET).tunnels).map((name) => ({ id: name, service_id: name, name })) as never,
    ),
  post: () => Promise.reject(new Error("nothing is made here")),
  put: () => Promise.reject(new Error("nothing is changed here")),
  remove: () => Promise.reject(new Error("nothing is removed here")),
};

const DEPLOYMENT = {
  plan: () => Promise.resolve({ access: ACCESS, artefact: "0", changes: [], template: {}, leader: null }),
  quotas: () => Promise.resolve(NO_QUOTAS),
  storedTunnels: () => Promise.resolve(primaryNames(TARGET).tunnels),
  state: () =>
    Promise.resolve({
      keys: [{ id: "main", secret: "ab".repeat(32) }],
      administration: [newAdministrationKey("admin")],
      keysReadAtMs: 0,
    } as never as PrimaryState),
} as never as PrimaryDeployment;
