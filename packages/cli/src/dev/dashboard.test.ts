import { expect, test } from "vitest";
import { Dashboard, type DashboardPorts } from "./dashboard.ts";
import { LifeRing } from "./life-ring.ts";

test("open requests are counted for locations that there are, whatever a client names", () => {
  const ports: Omit<DashboardPorts, "data" | "caches" | "replays" | "tasks" | "workflows" | "records" | "contention"> =
    {
      root: "",
      locations: [{ name: "CA", roundTripMs: 74 }],
      central: false,
      lives: new LifeRing(),
      build: () => ({ kind: "building" }),
      report: () => null,
      app: () => null,
      control: () => null,
      url: () => null,
    };
  let changes = 0;
  const dashboard = new Dashboard(ports as DashboardPorts);
  const { state } = dashboard.options;
  dashboard.changed = () => void changes++;
  const ended = [dashboard.opened("CA"), dashboard.opened(null), dashboard.opened("nowhere")];
  expect(state().locations).toMatchObject([{ name: "CA", open: 2 }]);
  for (const end of ended) end();
  expect(state().locations).toMatchObject([{ name: "CA", open: 0 }]);
  expect(changes).toBe(4);
});
