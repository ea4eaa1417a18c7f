import { expect, test } from "vitest";
import { listDeployments, versionToServe } from "./deployments.ts";
import type { OpenEdge } from "./edge/open-edge.ts";

/** A Worker whose versions served one after the other, the last first: `id` with the name of its deployment. */
function edgeOf(...served: readonly (readonly [id: string, deployment: string])[]): OpenEdge {
  const details = new Map(served.map(([id, deployment]) => [id, { id, record: { deployment } }]));
  const versions = {
    deployments: () =>
      Promise.resolve(served.map(([id]) => ({ createdAt: "", author: null, versions: [{ id, percentage: 100 }] }))),
    detail: (id: string) => Promise.resolve(details.get(id)),
    list: () => Promise.resolve(served.map(([id, tag]) => ({ id, tag }))),
  };
  const edge: Partial<Record<keyof OpenEdge, unknown>> = { worker: "shop", versions };
  return edge as OpenEdge;
}

/** Since when which versions serve, the last first. */
function edgeSince(...served: readonly (readonly [at: string, shares: Readonly<Record<string, number>>])[]): OpenEdge {
  const deployments = served.map(([at, shares]) => ({
    createdAt: at,
    author: null,
    versions: Object.entries(shares).map(([id, percentage]) => ({ id, percentage })),
  }));
  const detail = (id: string) => Promise.resolve({ id, record: null });
  const edge: Partial<Record<keyof OpenEdge, unknown>> = {
    worker: "shop",
    versions: { deployments: () => Promise.resolve(deployments), detail },
  };
  return edge as OpenEdge;
}

test("the same versions one after the other are one deployment, since the first of them; shares count", async () => {
  const edge = edgeSince(
    ["9:00", { v2: 100 }],
    ["8:00", { v2: 100 }],
    ["7:00", { v2: 0, v1: 100 }],
    ["6:00", { v1: 100, v2: 0 }],
    ["5:00", { v1: 90, v2: 10 }],
    ["4:00", { v1: 100 }],
    ["3:00", { v2: 100 }],
    ["2:00", { v1: 100 }],
    ["1:00", { v1: 100 }],
  );
  const listed = await listDeployments(edge);
  expect(listed.map(({ at }) => at)).toEqual(["8:00", "6:00", "5:00", "4:00", "3:00", "1:00"]);
  expect(listed.map(({ live }) => live)).toEqual([true, false, false, false, false, false]);
});

test("back goes to the deployment before, whatever changes of secrets have made versions since", async () => {
  const edge = edgeOf(["v4", "second"], ["v3", "second"], ["v2", "second"], ["v1", "first"]);
  expect(await versionToServe(edge, null)).toMatchObject({ live: { id: "v4" }, wanted: { id: "v1" } });
  expect(await versionToServe(edge, "v3")).toMatchObject({ wanted: { id: "v3" } });
});

test("a deployment that was the only one has none before it", async () => {
  await expect(versionToServe(edgeOf(["v2", "first"], ["v1", "first"]), null)).rejects.toMatchObject({
    code: "no_other_version",
    hint: expect.stringContaining("Name a version of this deployment by its id."),
  });
});
