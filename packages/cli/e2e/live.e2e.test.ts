/** Live queries with real processes: subscribers at the locations of `radical dev`, a save, and a server that is killed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { boardHandlers, clientAt, createBoard, runLiveLoad } from "./live/board.ts";
import { type RadicalDev, radicalDev, type TemporaryProject } from "./radical-process.ts";

const LOCATIONS = ["VA", "CA", "IE", "DE", "JP"];

let project: TemporaryProject;
let dev: RadicalDev;

beforeAll(async () => {
  project = await createBoard();
  dev = await radicalDev(project.folder);
});
afterAll(async () => {
  dev?.child.kill("SIGTERM");
  await dev?.closed;
  await project?.remove();
});

test("subscribers at five locations hear of a counter that all write: in order, and of its last state", async () => {
  const { url } = dev;
  const outcome = await runLiveLoad({ project, url, locations: LOCATIONS, subscribersOfLocation: 3, writes: 30 });
  expect(outcome).toMatchObject({ disordered: 0, behind: 0 });
  // Each write has reached each subscriber, by its own result or a later one.
  expect(outcome.lags).toHaveLength(30 * 3 * LOCATIONS.length);
});

test("the server is killed, and the last state arrives all the same", async () => {
  const [near, far] = await Promise.all(["VA", "JP"].map((location) => clientAt(project, dev.url, location)));
  const live = far!.live.read({ key: "killed" });
  expect((await live.next()).value).toBe(0);
  await fetch(`${dev.url}/__radical/faults`, { method: "POST", body: '{"killServer": true}' });
  expect(await near!.add({ key: "killed" })).toBe(1);
  expect((await live.next()).value).toBe(1);
  live.close();
});

test("after a save the stream goes on with the results of the new build", async () => {
  const client = await clientAt(project, dev.url, "IE");
  await client.add({ key: "saved" });
  const live = client.live.read({ key: "saved" });
  expect((await live.next()).value).toBe(1);
  await project.write("handlers/board.ts", boardHandlers(10));
  expect((await live.next()).value).toBe(10);
  live.close();
});
