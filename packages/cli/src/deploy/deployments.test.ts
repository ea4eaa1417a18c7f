import { expect, test } from "vitest";
import { versionToServe } from "./deployments.ts";
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

test("back goes to the deployment before, whatever changes of secrets have made versions since", async () => {
  const edge = edgeOf(["v4", "second"], ["v3", "second"], ["v2", "second"], ["v1", "first"]);
  expect(await versionToServe(edge, null)).toMatchObject({ live: { id: "v4" }, wanted: { id: "v1" } });
  expect(await versionToServe(edge, "v3")).toMatchObject({ wanted: { id: "v3" } });
});

test("a deployment that was the only one has none before it", async () => {
  await expect(versionToServe(edgeOf(["v2", "first"], ["v1", "first"]), null)).rejects.toMatchObject({
    code: "no_other_version",
    hint: expect.stringContaining("a version of this one is named by its id"),
  });
});
