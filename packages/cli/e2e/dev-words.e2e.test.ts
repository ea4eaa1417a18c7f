/** The words of `radical dev` about the primary, from the events of a real one: when it is gone, and how far away it is. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { PrimaryLine } from "../src/dev/primary-line.ts";
import { createTerminal } from "../src/terminal/terminal.ts";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { type TemporaryProject, createProject } from "./radical-process.ts";

const FAR_MS = 40;

let project: TemporaryProject;
let app: TestApp;

beforeAll(async () => {
  project = await createProject({
    "radical.config.ts": 'export default { name: "marks" };\n',
    "handlers/mark.ts": `import { Table } from "@radical/sdk";

const marks = new Table<string>("marks");

export function mark(name: string): void {
  marks.put(name, (marks.get(name) ?? "") + "|");
}
`,
  });
  app = await startTestApp({ project: project.folder, locations: { near: 0, far: FAR_MS }, central: true });
});
afterAll(async () => {
  await app?.stop();
  await project?.remove();
});

const markAt = (location: string) => app.call("mark", { name: location }, { location });

test("with a central server, a call is beside the wait for it: the round trip of its place, and the run there", async () => {
  for (const location of ["central", "central", "far", "near"]) expect((await markAt(location)).status).toBe(200);
  const calls = (): readonly (readonly [string, number | undefined])[] =>
    app.events.flatMap((event) => (event.event === "request" ? [[event.location, event.centralMs] as const] : []));
  await expect.poll(() => calls().length, { timeout: 60_000 }).toBe(4);
  const waits = new Map(calls());
  expect(waits.get("central")).toBeUndefined();
  expect(waits.get("far")! - waits.get("near")!).toBeCloseTo(FAR_MS, 0);
});

test("a primary that is gone is one line for all locations and all attempts, and one when it is back", async () => {
  const terminal = createTerminal({ quiet: true });
  const before = app.events.length;
  const lines = (): readonly string[] => {
    const line = new PrimaryLine();
    return app.events.slice(before).flatMap((event) => line.before(event, terminal) ?? []);
  };
  await app.control.change({ primaryDown: true });
  const answers = await Promise.all([markAt("near"), markAt("far"), markAt("central")]);
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
  const missed = () => app.events.slice(before).filter(({ event }) => event === "primary_unanswered").length;
  await expect.poll(missed, { timeout: 60_000 }).toBeGreaterThan(2);
  expect(lines()).toEqual([expect.stringMatching(/^! (near|far|central) gets no answer from the primary: /)]);
  await app.control.change({ primaryDown: false });
  for (const location of ["near", "far", "central"]) expect((await markAt(location)).status).toBe(200);
  await expect
    .poll(lines, { timeout: 60_000 })
    .toEqual([expect.anything(), expect.stringMatching(/^✓ (near|far|central) gets answers from the primary again$/)]);
});
