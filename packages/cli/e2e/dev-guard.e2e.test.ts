/** Pages of the web can't reach `radical dev`, neither by a name of theirs that points to this machine, nor by headers. */
import { mkdir, readFile, readdir, readlink, symlink } from "node:fs/promises";
import { request as send } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRunning, type RunningDev } from "@radical/local";
import { type RadicalDev, type TemporaryProject, createProject, descendantsOf, radicalDev } from "./radical-process.ts";

const EVIL = "evil.example";

const WORKER = `import { createRadical } from "radical:worker";

const radical = createRadical();

export default {
  async fetch(request: Request, env: never, context: never): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.headers.get("upgrade") === "websocket") {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener("message", ({ data }) => server.send(\`\${request.url} \${data}\`));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (pathname === "/echo") {
      const body = await request.text();
      return Response.json({ url: request.url, method: request.method, body, headers: [...request.headers], cf: request.cf ?? null });
    }
    return radical.fetch(request, env, context);
  },
};
`;

interface Answer {
  readonly status: number;
  readonly body: string;
}

interface Echo {
  readonly url: string;
  readonly method: string;
  readonly body: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly cf: unknown;
}

let project: TemporaryProject;
let dev: RadicalDev;
let running: RunningDev;

/** As a client may send it, also what `fetch` would not let it set. */
function ask(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  options: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> {
  const { hostname, port, host } = new URL(url);
  const { method = "GET", body = "" } = options;
  return new Promise((resolve, reject) => {
    const sent = send(
      { host: hostname.replace(/^\[(.*)\]$/, "$1"), port, path, method, headers: { host, ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
      },
    );
    sent.on("error", reject);
    // Told as no answer.
    sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error("no answer")));
    sent.end(body);
  });
}

/** The status of what is sent as it stands. */
function rawStatus(url: string, text: string): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let answered = "";
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.end(text));
    socket.on("data", (bytes) => (answered += bytes.toString("latin1")));
    socket.on("error", reject);
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answered)?.[1] ?? 0)));
  });
}

const PATIENCE_MS = 20_000;
const JSON_TYPE = { "content-type": "application/json" };
const KILL = { method: "POST", body: '{"wipeCaches":"all","killServer":true}' };
const GREET = { method: "POST", body: '{"name":"ada"}' };

function newProject(): Promise<TemporaryProject> {
  return createProject({
    "radical.config.ts": 'export default { name: "greetings", dev: { locations: { A: 0, B: 0 } } };\n',
    "handlers/greet.ts": 'export function greet(name: string): string {\n  return "hello " + name;\n}\n',
  });
}

beforeAll(async () => {
  project = await newProject();
  await project.write("src/worker.ts", WORKER);
  await project.write("public/page.txt", "a page");
  await project.write("public/.hidden", "hidden");
  await project.write("public/.git/config", "hidden");
  await project.write("public/.well-known/security.txt", "well known");
  await project.write("secret.txt", "secret");
  await mkdir(join(project.folder, "public/deep"));
  await symlink("../../secret.txt", join(project.folder, "public/deep/outside"));
  await symlink("nowhere", join(project.folder, "public/dangling"));
  await symlink("page.txt", join(project.folder, "public/inside"));
  dev = await radicalDev(project.folder, ["--no-watch"]);
  running = (await readRunning(join(project.folder, ".radical")))!;
});
afterAll(async () => {
  dev?.child.kill("SIGTERM");
  await dev?.closed;
  await project?.remove();
});

describe("another host's name", () => {
  const PATHS = [
    "/",
    "/page.txt",
    "/api/greet?name=ada",
    "/openapi.json",
    "/echo",
    "/__radical/faults",
    "/__radical/log",
    "/__radical/build",
    "/cdn-cgi/local/platform-proxy",
  ];
  test.each(PATHS)("%s is refused, and the answer says what to do", async (path) => {
    for (const host of [EVIL, `${EVIL}:80`, "localhost.evil.example", "0.0.0.0"]) {
      const { status, body } = await ask(dev.url, path, { host });
      expect({ status, host }).toEqual({ status: 403, host });
      expect(JSON.parse(body)).toMatchObject({
        error: { code: "host_not_allowed", hint: expect.stringContaining("--host") as unknown },
      });
    }
  });

  test("no header of miniflare's makes it another one", async () => {
    const { port } = new URL(dev.url);
    const forged = {
      host: `${EVIL}:${port}`,
      origin: `http://${EVIL}:${port}`,
      "mf-original-url": "http://127.0.0.1/__radical/faults",
      ...JSON_TYPE,
    };
    expect(await ask(dev.url, "/anything", forged, KILL)).toMatchObject({ status: 403 });
    for (const worker of ["router", "location-A"])
      expect(await ask(dev.url, "/api/greet", { ...forged, "mf-route-override": worker }, GREET)).toMatchObject({
        status: 403,
      });
    expect(dev.events.filter(({ event }) => event === "server_died" || event === "caches_wiped")).toEqual([]);
  });

  test("two Host headers, none, or a URL in place of the path are refused", async () => {
    const { host } = new URL(dev.url);
    expect(await rawStatus(dev.url, `GET /page.txt HTTP/1.1\r\nHost: ${host}\r\nHost: ${EVIL}\r\n\r\n`)).toBe(403);
    expect(await rawStatus(dev.url, "GET /page.txt HTTP/1.0\r\n\r\n")).toBe(403);
    expect(
      await rawStatus(dev.url, `GET http://localhost/page.txt HTTP/1.1\r\nHost: ${EVIL}\r\nConnection: close\r\n\r\n`),
    ).toBe(403);
    expect(
      await rawStatus(dev.url, `GET http://${EVIL}/page.txt HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    ).toBe(400);
  });

  test("a WebSocket by that name is refused; by this machine's own it passes, with the URL that was asked for", async () => {
    const upgrade = (host: string): string =>
      `GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nMF-Original-URL: http://127.0.0.1/forged\r\n\r\n`;
    expect(await rawStatus(dev.url, upgrade(EVIL))).toBe(403);
    const url = `${dev.url.replace("http:", "ws:")}/socket?a=1`;
    const socket = new WebSocket(url);
    const said = new Promise((resolve, reject) => {
      socket.addEventListener("message", ({ data }) => resolve(data));
      socket.addEventListener("error", reject);
    });
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    socket.send("hello");
    expect(await said).toBe(`${url.replace("ws:", "http:")} hello`);
    socket.close();
  });

  test("the ports behind it refuse it too, and serve nobody who comes around", async () => {
    expect(await ask(running.control, "/__radical/faults", { host: EVIL, ...JSON_TYPE }, KILL)).toMatchObject({
      status: 403,
    });
    // Of the LVI server everything but its health is signed.
    expect(await ask(running.lviServer, "/v1/status", { host: EVIL })).toMatchObject({ status: 401 });
    for (const url of await portsOf(dev.child.pid!)) {
      if ([dev.url, running.control].includes(url)) continue;
      for (const headers of [
        {},
        { "mf-route-override": "location-A" },
        { "mf-route-override": "router" },
        { "mf-original-url": `${dev.url}/page.txt` },
      ])
        for (const path of ["/page.txt", "/api/greet?name=ada", "/cdn-cgi/local/explorer"])
          expect({ url, path, headers, status: (await ask(url, path, headers)).status }).not.toMatchObject({
            status: 200,
          });
    }
  });
});

test("by this machine's names everything is served; the Worker sees what was asked, and no header of miniflare's", async () => {
  const { port } = new URL(dev.url);
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, `shop.localhost:${port}`]) {
    expect(await ask(dev.url, "/page.txt", { host })).toEqual({ status: 200, body: "a page" });
    const forged = {
      "mf-original-url": "http://127.0.0.1/__radical/faults",
      "mf-cf-blob": '{"colo":"EVIL"}',
      "mf-route-override": "nobody",
      "mf-sec-fetch-mode": "x",
    };
    const answer = await ask(
      dev.url,
      "/echo?a=%2Fb&c",
      { host, "x-mine": "1", ...forged },
      { method: "PUT", body: "the body" },
    );
    const { url, method, body, headers, cf } = JSON.parse(answer.body) as Echo;
    expect({ url, method, body }).toEqual({ url: `http://${host}/echo?a=%2Fb&c`, method: "PUT", body: "the body" });
    expect(JSON.stringify(cf)).not.toContain("EVIL");
    const names = headers.map(([name]) => name);
    expect(names).toContain("x-mine");
    expect(headers).toContainEqual(["cf-connecting-ip", "127.0.0.1"]);
    expect(names.filter((name) => /^mf-|token/.test(name))).toEqual([]);
  }
  expect(await ask(dev.url, "/openapi.json")).toMatchObject({ status: 200 });
});

describe("the control of radical dev", () => {
  test("is refused to pages of other origins, on both of its ports", async () => {
    for (const url of [dev.url, running.control]) {
      const { port } = new URL(url);
      for (const origin of [`http://${EVIL}`, "null", "http://localhost:3", `http://localhost:${port}`]) {
        const refused = await ask(url, "/__radical/faults", { origin, ...JSON_TYPE }, KILL);
        expect({ origin, status: refused.status }).toEqual({ origin, status: 403 });
        expect(JSON.parse(refused.body)).toMatchObject({ error: { code: "not_local" } });
      }
    }
    const same = { origin: dev.url, ...JSON_TYPE };
    expect(
      await ask(dev.url, "/__radical/faults", same, { method: "POST", body: '{"primaryDown": false}' }),
    ).toMatchObject({ status: 200 });
  });
});

test("files that are hidden, and links that lead out of the folder or nowhere, are not served, and that is said", async () => {
  for (const path of ["/.hidden", "/%2ehidden", "/.git/config", "/deep/outside", "/dangling"]) {
    expect({ path, status: (await ask(dev.url, path)).status }).toEqual({ path, status: 404 });
  }
  expect(await ask(dev.url, "/inside")).toEqual({ status: 200, body: "a page" });
  expect(await ask(dev.url, "/.well-known/security.txt")).toEqual({ status: 200, body: "well known" });
  expect(dev.events.find(({ event }) => event === "static_files_left_out")).toMatchObject({
    files: [
      { name: ".git", reason: "its name begins with a dot" },
      { name: ".hidden", reason: "its name begins with a dot" },
      { name: "dangling", reason: "it is a link that leads nowhere" },
      { name: "deep/outside", reason: "it is a link that leads out of the folder" },
    ],
  });
});

test("--host opens it to that name, or to every address in digits, and to no other; the control stays closed", async () => {
  const open = await newProject();
  const listening = await radicalDev(open.folder, ["--no-watch", "--host", "0.0.0.0"]);
  try {
    const url = `http://127.0.0.1:${new URL(listening.url).port}`;
    for (const host of ["192.0.2.7:8787", "localhost", ...addresses()])
      expect({ host, status: (await ask(url, "/api/greet?name=ada", { host })).status }).toEqual({ host, status: 200 });
    expect(await ask(url, "/api/greet?name=ada", { host: EVIL })).toMatchObject({ status: 403 });
    expect(await ask(url, "/__radical/faults")).toMatchObject({ status: 404 });
  } finally {
    listening.child.kill("SIGTERM");
    await listening.closed;
    await open.remove();
  }
});

function addresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).filter(({ family }) => family === "IPv4").map(({ address }) => address),
  );
}

/** Origins of all ports that a process and those below it listen on. */
async function portsOf(pid: number): Promise<readonly string[]> {
  const sockets = new Set<string>();
  for (const one of [pid, ...(await descendantsOf(pid))]) {
    for (const fd of await readdir(`/proc/${one}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(await readlink(`/proc/${one}/fd/${fd}`).catch(() => ""))?.[1];
      if (inode !== undefined) sockets.add(inode);
    }
  }
  const LISTENING = "0A";
  const lines = (await readFile("/proc/net/tcp", "utf8")).trim().split("\n").slice(1);
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTENING || !sockets.has(inode)) return [];
    return [`http://127.0.0.1:${Number.parseInt(local.split(":")[1] ?? "", 16)}`];
  });
}

describe("files beside those of the application", () => {
  const statusOf = async (path: string): Promise<number> => (await ask(dev.url, path)).status;

  test.each([
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/..%5csecret.txt",
    "/deep/..%2f..%2fsecret.txt",
  ])("%s finds nothing", async (path) => {
    expect([await statusOf("/page.txt"), await statusOf("/deep/../page.txt")]).toEqual([200, 200]);
    expect(await statusOf(path)).toBe(404);
  });
});

test("a body that is packed is refused, and the same body unpacked is taken", async () => {
  const call = (body: Buffer, more: Readonly<Record<string, string>> = {}): Promise<number> =>
    fetch(new URL("/api/greet", dev.url), {
      method: "POST",
      headers: { ...JSON_TYPE, ...more },
      body: new Uint8Array(body),
    }).then(({ status }) => status);
  const body = Buffer.from(GREET.body);
  expect(await call(body)).toBe(200);
  expect(await call(gzipSync(body), { "content-encoding": "gzip" })).toBe(400);
});
