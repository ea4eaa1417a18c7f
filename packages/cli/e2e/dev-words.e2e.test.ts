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
  for (let call = 0; call < 4; call++) expect((await markAt("central")).status).toBe(200);
  const waitAt = async (location: string): Promise<number | undefined> => {
    const { execution } = await markAt(location);
    const line = () =>
      app.events.find((event) => event.event === "request" && execution!.endsWith(String(event.execution)));
    await expect.poll(line, { timeout: 60_000 }).toBeDefined();
    return (line() as { readonly centralMs?: number }).centralMs;
  };
  expect(await waitAt("central")).toBeUndefined();
  // The halves of the primary come after the answers, and the shortest of some ways is that of the distance.
  const difference = async (): Promise<number> => (await waitAt("far"))! - (await waitAt("near"))!;
  await expect.poll(difference, { timeout: 60_000 }).toBeCloseTo(FAR_MS, -1);
});

test("a scheduled event that no function takes is answered in words, and logged as what it is", async () => {
  const fired = await fetch(`${app.url}/cdn-cgi/handler/scheduled?cron=*/5+*+*+*+*`);
  expect([fired.status, await fired.json()]).toEqual([
    404,
    {
      error: {
        code: "not_found",
        message: 'nothing has run: the Worker has no function `scheduled` for the event of the cron "*/5 * * * *"',
        hint: expect.stringMatching(/^add the function `scheduled` beside `fetch` to the default export/) as unknown,
      },
    },
  ]);
  const answered = () => app.events.flatMap((event) => (event.event === "answered" ? [event] : []));
  await expect.poll(answered, { timeout: 60_000 }).toMatchObject([{ by: "event", status: 404 }]);
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
