/** The page about a front end with Vite, followed: real Vite, with the page's own files, in front of `radical dev`. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createViteServer } from "vitest/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestApp, startTestApp } from "../src/testing.ts";
import { problemsOfTypes } from "./radical-process.ts";

type ViteServer = Awaited<ReturnType<typeof createViteServer>>;

const PAGE = fileURLToPath(new URL("../../../docs/how-to/vite.md", import.meta.url));
const TEMPLATE = fileURLToPath(new URL("../../../templates/minimal", import.meta.url));
/** The port in the page's configuration. */
const DEFAULT_PORT = "8787";

let folder: string;
let app: TestApp;
const servers: ViteServer[] = [];

/** The block of code below the name of a file. */
function fileOf(page: string, name: string): string {
  const below = page.slice(page.indexOf(`\`${name}\``));
  const [, code] = /```\w+\n([^]*?)```/.exec(below) ?? [];
  if (code === undefined) throw new Error(`The page has no ${name}.`);
  return code;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-vite-"));
  await writeFile(join(folder, "radical.config.ts"), 'export default { name: "notes" };\n');
  for (const name of ["handlers", "package.json"])
    await cp(join(TEMPLATE, name), join(folder, name), { recursive: true });
  app = await startTestApp({ project: folder });
  const page = await readFile(PAGE, "utf8");
  for (const name of ["index.html", "web/main.ts", "web/tsconfig.json"]) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), fileOf(page, name));
  }
  const config = fileOf(page, "vite.config.ts")
    // Vite is not installed there.
    .replace('import { defineConfig } from "vite";', "const defineConfig = (config) => config;")
    .replace(`localhost:${DEFAULT_PORT}`, new URL(app.url).host);
  await writeFile(join(folder, "vite.config.mjs"), config);
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Its origin. `proxy`: in place of the page's. */
async function startVite(proxy: object = {}): Promise<string> {
  const server = await createViteServer({
    root: folder,
    configFile: join(folder, "vite.config.mjs"),
    logLevel: "silent",
    // If another program has the port, Vite takes the next.
    server: { host: "127.0.0.1", port: 5173, ...proxy },
    // Nobody looks for packages that are to be bundled.
    optimizeDeps: { noDiscovery: true },
  });
  servers.push(server);
  await server.listen();
  return new URL(server.resolvedUrls!.local[0]!).origin;
}

function addNote(origin: string, as: string): Promise<Response> {
  const headers = { "content-type": "application/json", origin: as };
  return fetch(`${origin}/api/addNote`, { method: "POST", body: JSON.stringify({ text: "from a page" }), headers });
}

test("the page's files are served, with the client that radical dev has written", async () => {
  const origin = await startVite();
  expect(await (await fetch(origin)).text()).toContain("<title>Notes</title>");
  const main = await (await fetch(`${origin}/web/main.ts`)).text();
  expect(main).toContain('from "/.radical/client.ts"');
  expect(await (await fetch(`${origin}/.radical/client.ts`)).text()).toContain("createClient");
});

test("TypeScript finds nothing in the page's script, with the page's configuration, and finds a wrong call", async () => {
  const web = join(folder, "web");
  expect(await problemsOfTypes(web)).toBe("");
  await writeFile(join(web, "wrong.ts"), 'import { createClient } from "#radical";\nvoid createClient().addNot({});\n');
  expect(await problemsOfTypes(web)).toContain("Property 'addNot' does not exist");
  await rm(join(web, "wrong.ts"));
});

test.each([
  ["as the page has it", () => ({})],
  ["that keeps the host", () => ({ proxy: { "/api": { target: app.url, changeOrigin: false } } })],
  ["that changes the host", () => ({ proxy: { "/api": { target: app.url, changeOrigin: true } } })],
])("a proxy %s lets its own pages call, and pages of the web not", async (_, proxy) => {
  const origin = await startVite(proxy());
  const added = await addNote(origin, origin);
  expect([added.status, await added.json()]).toMatchObject([200, { result: expect.anything() as unknown }]);
  const refused = await addNote(origin, "https://evil.example");
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "origin_not_allowed" } }]);
});

test("without a proxy its pages call too, and are sent no permission for cookies", async () => {
  const origin = await startVite();
  const added = await addNote(app.url, origin);
  expect([added.status, added.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
  expect(added.headers.get("access-control-allow-credentials")).toBeNull();
});
