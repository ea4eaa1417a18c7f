import { STATUS_PATH, UPGRADE_PATH, type UpgradeStatus } from "@radical/protocol";
import { newDeploymentKeys, type PrimaryAddress } from "@radical/admin";
import { afterEach, expect, test, vi } from "vitest";
import type { PrimaryHalf } from "./primary-half.ts";
import { upgradeNote, upgradeStep } from "./upgrade-step.ts";

const KEYS = newDeploymentKeys("k");

/** `null`: it is of a release before upgrades. `"away"`: nobody answers. */
type Server = UpgradeStatus | null | "away";

let ordered: unknown[] = [];

/** The servers by their hosts, as `fetch` reaches them; the first one leads. */
function primaryOf(servers: Readonly<Record<string, Server>>): PrimaryHalf {
  const now = new Map(Object.entries(servers));
  vi.stubGlobal("fetch", (url: string, { body }: RequestInit) => {
    const { host, pathname } = new URL(url);
    const server = now.get(host);
    if (server === "away" || server === undefined) return Promise.reject(new Error("no way"));
    if (pathname === STATUS_PATH) return Promise.resolve(Response.json({ state: "serving", upgrade: server }));
    expect([pathname, host]).toEqual([UPGRADE_PATH, [...now.keys()][0]]);
    const order = JSON.parse(new TextDecoder().decode(body as Uint8Array)) as { readonly to: number };
    ordered.push(order.to);
    const finished = { ...server!, written: order.to };
    now.set(host, finished);
    return Promise.resolve(Response.json(finished));
  });
  const addresses = [...now.keys()].map((host): PrimaryAddress => ({
    url: `http://${host}`,
    key: KEYS.administration,
  }));
  return {
    steps: [],
    description: "",
    way: () => ({ kind: "url", urls: "" }),
    key: () => KEYS.location,
    admin: () => ({ urls: addresses.map(({ url }) => url), key: KEYS.administration }),
    servers: () => addresses,
  };
}

afterEach(() => {
  vi.unstubAllGlobals();
  ordered = [];
});

const at = (written: number, newest: number): UpgradeStatus => ({ written, newest, release: `0.${newest}.0` });

test("an upgrade is finished if the command is told to, and a second time there is nothing to do", async () => {
  const step = upgradeStep(primaryOf({ a: at(8, 9), b: at(8, 9) }));
  const changes = await step.plan();
  expect(changes).toEqual([
    {
      kind: "change",
      what: "storage of the primary",
      detail: "schema 8 becomes 9; no earlier release can serve it then",
    },
  ]);
  expect(await step.apply(changes)).toBe("schema 9");
  expect(ordered).toEqual([9]);
  expect(await step.plan()).toEqual([]);
  expect(await step.apply([])).toBe("schema 9, and nothing to finish");
  expect(ordered).toEqual([9]);
});

test("otherwise it is only told how far it is, and how to finish", async () => {
  expect(await upgradeNote(primaryOf({ a: at(8, 9) }), "staging")).toMatch(
    /^the storage has schema 8 of 9, so the release before can serve it still; .*radical deploy --env staging --finalize$/,
  );
  expect(await upgradeNote(primaryOf({ a: at(9, 9) }), "staging")).toBe(null);
  expect(ordered).toEqual([]);
});

test.each<readonly [string, Server, string]>([
  [
    "of the release before",
    at(8, 8),
    "the LVI server at http://b is of release 0.8.0, and could not serve a storage of schema 9",
  ],
  ["of a release before upgrades", null, "the LVI server at http://b is of an earlier release"],
])("nothing is finished while a server answers that is %s", async (_, b, message) => {
  const step = upgradeStep(primaryOf({ a: at(8, 9), b }));
  await expect(step.apply(await step.plan())).rejects.toMatchObject({
    code: "servers_differ",
    message: expect.stringContaining(message) as string,
  });
  expect(ordered).toEqual([]);
});

test("a server that is away is not waited for: it looks before it leads", async () => {
  const step = upgradeStep(primaryOf({ a: at(8, 9), b: "away" }));
  expect(await step.apply(await step.plan())).toBe("schema 9");
});

test("a primary that says nothing is not finished", async () => {
  for (const server of [null, "away"] as const) {
    const step = upgradeStep(primaryOf({ a: server }));
    await expect(step.apply(await step.plan())).rejects.toMatchObject({ code: "servers_differ" });
    expect(await upgradeNote(primaryOf({ a: server }), "staging")).toBe(null);
  }
});
