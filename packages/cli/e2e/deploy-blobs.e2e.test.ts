/**
 * `radical deploy` of an application with Blobs: the real wrangler against a fake of Cloudflare's API. The Worker that was uploaded
 * runs in workerd with a bucket of miniflare's, against a real LVI server.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newDeploymentKeys, privateKeyText } from "@radical/admin";
import { loadProject } from "@radical/app";
import { deploy, type DeployOutcome, targetOfProject } from "@radical/deploy";
import { type LviServerProcess, startLviServer } from "@radical/local";
import { type FakeCloudflare, startFakeCloudflare } from "./cloudflare/fake-cloudflare.ts";
import { type FakeEdge, startFakeEdge } from "./cloudflare/fake-edge.ts";
import { createProject, radical, type TemporaryProject } from "./radical-process.ts";

const WORKER = "album-production";
const KEYS = newDeploymentKeys("main");

let cloudflare: FakeCloudflare;
let edge: FakeEdge;
let server: LviServerProcess;
let project: TemporaryProject;
let state: string;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "radical-primary-"));
  cloudflare = await startFakeCloudflare();
  edge = await startFakeEdge(cloudflare, WORKER);
  server = await startLviServer({
    stateFolder: state,
    keys: KEYS,
    followupTimeoutMs: null,
    onStarted: () => Promise.resolve(),
    onDied: () => undefined,
    onLog: () => undefined,
  });
  const { host, port } = server.address();
  project = await createProject({
    "radical.config.ts": `export default { name: "album", blobs: { keepHours: 48 }, cache: "memory", deploy: { url: "${edge.url}", primary: "http://${host}:${port}" } };\n`,
    "handlers/users.ts": `import { Blob, Table } from "@radical/sdk";
export class User { picture: Blob | null = null; }
const users = new Table<User>("users");
export function setPicture(name: string, picture: Blob): void {
  const user = new User();
  user.picture = picture;
  users.put(name, user);
}
`,
    "src/worker.ts": `import { createRadical } from "radical:worker";
export default createRadical({
  authenticate: (request) => request.headers.get("authorization"),
  blobs: { authorize: (request, _env, caller) => caller === "ann" && request.headers.get("content-type") === "image/png" },
});
`,
  });
  environment = {
    CLOUDFLARE_API_BASE_URL: cloudflare.url,
    CLOUDFLARE_API_TOKEN: cloudflare.token,
    CLOUDFLARE_ACCOUNT_ID: undefined,
    RADICAL_KEYS: `${KEYS.location.id}:${KEYS.location.secret}`,
    RADICAL_ADMIN_KEYS: privateKeyText(KEYS.administration),
    XDG_CONFIG_HOME: state,
  };
});
afterAll(async () => {
  await edge?.stop();
  await cloudflare?.stop();
  await server?.stop();
  await project?.remove();
  await rm(state, { recursive: true, force: true });
});

async function deployHere(): Promise<DeployOutcome> {
  const loaded = await loadProject(project.folder);
  return deploy({
    project: loaded,
    target: targetOfProject(loaded, "production"),
    only: null,
    primary: null,
    region: null,
    url: edge.url,
    strandPending: false,
    acceptMisfits: false,
    colours: false,
    environment: { ...process.env, ...environment },
    wait: () => Promise.resolve(),
    onEvent: () => undefined,
    confirm: () => Promise.resolve(true),
  });
}

const put = (caller: string, type = "image/png"): Promise<Response> =>
  fetch(`${edge.url}/blobs`, {
    method: "PUT",
    body: "a picture",
    headers: { authorization: caller, "content-type": type },
  });

test("the first deployment makes the bucket and the schedule, and the second one has nothing to do", async () => {
  const { planned } = await deployHere();
  const made = planned.flatMap(({ changes }) => changes.map(({ kind, what }) => `${kind} ${what}`));
  expect(made).toContain("make R2 bucket album-production-blobs");
  expect([...cloudflare.buckets]).toEqual(["album-production-blobs"]);
  const bindings = cloudflare.workers.get(WORKER)?.versions.at(-1)?.bindings;
  expect(bindings).toContainEqual({ name: "RADICAL_BLOBS", type: "r2_bucket", bucket_name: "album-production-blobs" });
  expect(bindings).toContainEqual({ name: "RADICAL_BLOB_KEEP_MS", type: "plain_text", text: String(48 * 3_600_000) });
  const again = await deployHere();
  expect(again.planned.flatMap(({ changes }) => changes)).toEqual([]);
});

test("the application's own Worker says who may put which bytes", async () => {
  for (const response of [await put("eve"), await put("ann", "text/html")]) {
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: { code: "blob_not_allowed" } });
  }
  const response = await put("ann");
  expect(response.status).toBe(201);
  const picture = (await response.json()) as { readonly hash: string };
  const called = await fetch(`${edge.url}/api/setPicture`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "ann", picture }),
  });
  expect(called.status).toBe(200);
  expect(await (await fetch(`${edge.url}/blobs/${picture.hash}`)).text()).toBe("a picture");
});

test("an application that does not say who may put blobs takes none", async () => {
  await project.write(
    "src/worker.ts",
    'import { createRadical } from "radical:worker";\nexport default createRadical();\n',
  );
  await deployHere();
  const response = await put("ann");
  expect([response.status, await response.json()]).toMatchObject([403, { error: { code: "blob_not_allowed" } }]);
});

test("radical destroy leaves the bucket, and says so", async () => {
  const { code, stderr } = await radical(["destroy", "--plan", "--project", project.folder], { env: environment });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stderr).toContain("R2 bucket album-production-blobs");
});
