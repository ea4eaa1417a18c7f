/**
 * A search for items of private tables, in all that the primary sends to locations, and in every file of caches. Real workerd, with its caches in Durable Objects or in KV, and a real LVI server.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AppBuild, buildApp, loadProject, startCompiler } from "@radical/app";
import { newDeploymentKeys } from "@radical/admin";
import {
  bundleRouter,
  type Edge,
  type LviServerProcess,
  registerModule,
  startEdge,
  startLviServer,
} from "@radical/local";
import { createProject } from "./radical-process.ts";

const KEYS = newDeploymentKeys("test");
const SOON = { timeout: 100_000, interval: 50 };

const HANDLERS = `import { abort, Table, Unique } from "@radical/sdk";

export class Account { mail: string = ""; hash: string = ""; }
/** @private */
const accounts = new Table<Account>("accounts");
const byMail = new Unique<Account>(accounts, "mail");
const profiles = new Table<string>("profiles");

export function register(name: string, mail: string, hash: string): void {
  if (accounts.has(name)) abort(409, "taken", "The name is taken.");
  accounts.put(name, { mail, hash });
  profiles.put(name, "words-about-" + name);
}

export function login(name: string, hash: string): bool {
  const account = accounts.get(name);
  return account != null && account.hash == hash;
}

export function isKnown(mail: string): bool { return byMail.find(mail) != null; }

export function howMany(): i32 { return accounts.all().count(); }

export function profile(name: string): string {
  const found = profiles.get(name);
  return found == null ? "" : found;
}
`;

describe.each(["durable-object", "kv"] as const)("with caches in %s", (cache) => {
  let folder: string;
  let app: AppBuild;
  let server: LviServerProcess;
  let edge: Edge;
  /** All that the server has sent to locations, by connection. */
  const sent: Buffer[][] = [];
  /** Each resolves when the server sends no more on its connection. */
  const ends: Promise<void>[] = [];
  let closeTap: () => void;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "radical-private-"));
    const project = await createProject({
      "radical.config.ts": `export default { name: "private", cache: "${cache}" };\n`,
      "handlers/accounts.ts": HANDLERS,
    });
    const compiler = await startCompiler({ colours: false });
    app = (await buildApp(await loadProject(project.folder), compiler, { optimize: false })).app!;
    await compiler.close();
    await project.remove();
    server = await startLviServer({
      stateFolder: folder,
      keys: KEYS,
      followupTimeoutMs: 5_000,
      logLevel: "error",
      onLog: () => undefined,
      onStarted: ({ address }) => registerModule(address, KEYS.administration, app),
      onDied: ({ stderr }) => expect.fail(stderr),
    });
    const tap = createServer((location) => {
      const { host, port } = server.address();
      const primary = connect(port, host);
      const answers: Buffer[] = [];
      sent.push(answers);
      ends.push(new Promise((resolve) => primary.once("close", () => resolve())));
      primary.on("data", (bytes: Buffer) => answers.push(bytes));
      for (const [from, to] of [
        [location, primary],
        [primary, location],
      ] as const) {
        from.on("error", () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((listening) => tap.listen(0, "127.0.0.1", listening));
    closeTap = () => void tap.close();
    const { port } = tap.address() as AddressInfo;
    const { wasm, rwWasm } = app.content;
    edge = await startEdge(
      {
        locations: ["here", "there"].map((name) => ({
          name,
          primaries: [{ host: "127.0.0.1", port }],
          nearStorageOnly: false,
        })),
        vars: { RADICAL_ATTEMPT_MS: "15000" },
        key: KEYS.location,
        routerWorker: await bundleRouter(),
        storageFolder: join(folder, "caches"),
        onLog: () => undefined,
      },
      {
        worker: app.worker,
        wasm,
        rwWasm,
        manifest: JSON.stringify(app.manifest),
        cache: app.manifest.cache.kind,
        assets: null,
      },
    );
  });
  afterAll(async () => {
    await edge?.close();
    closeTap?.();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function call(
    at: string,
    handler: string,
    args: object,
  ): Promise<readonly [result: unknown, path: string | null]> {
    const response = await fetch(`${edge.url}/api/${handler}`, {
      method: "POST",
      body: JSON.stringify(args),
      headers: { "content-type": "application/json", "x-radical-location": at },
    });
    const { result = null } = (await response.json()) as { readonly result?: unknown };
    expect(response.status).toBe(200);
    return [result, response.headers.get("x-radical-path")];
  }

  test("nothing of their items leaves the primary but what handlers answer", async () => {
    const names = ["ann", "bob", "cleo"];
    const mailOf = (name: string): string => `mail-of-${name}-which-nobody-sees`;
    const hashOf = (name: string): string => `hash-of-${name}-which-nobody-sees`;
    for (const [index, name] of names.entries())
      expect(
        await call(index === 0 ? "here" : "there", "register", { name, mail: mailOf(name), hash: hashOf(name) }),
      ).toEqual([null, "near-storage"]);
    for (const at of ["here", "there", "here"])
      for (const name of names) {
        expect(await call(at, "login", { name, hash: hashOf(name) })).toEqual([true, "near-storage"]);
        expect(await call(at, "login", { name, hash: "another" })).toEqual([false, "near-storage"]);
        expect(await call(at, "isKnown", { mail: mailOf(name) })).toEqual([true, "near-storage"]);
        expect((await call(at, "profile", { name }))[0]).toBe(`words-about-${name}`);
      }
    expect(await call("here", "howMany", {})).toEqual([3, "near-storage"]);
    // Locations have what is not private, so the search would find the rest.
    await expect.poll(() => filesWith("words-about-ann"), SOON).not.toEqual([]);
    await expect.poll(async () => (await call("there", "profile", { name: "bob" }))[1], SOON).not.toBe("near-storage");

    // From then on nothing is sent any more.
    await edge.close();
    await Promise.all(ends);
    expect(isSent("words-about-ann")).toBe(true);
    for (const name of names)
      for (const word of [mailOf(name), hashOf(name)]) {
        expect(await filesWith(word)).toEqual([]);
        expect(isSent(word)).toBe(false);
      }
    expect(isSent("accounts/ann")).toBe(false);
  });

  /** The files of caches that hold the word. */
  async function filesWith(word: string): Promise<readonly string[]> {
    const entries = await readdir(join(folder, "caches"), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const contents = await Promise.all(files.map((file) => readFile(file).catch(() => Buffer.alloc(0))));
    return files.filter((_, index) => formsOf(word).some((form) => contents[index]!.includes(form)));
  }

  function isSent(word: string): boolean {
    return sent.some((answers) => {
      const bytes = Buffer.concat(answers);
      return formsOf(word).some((form) => bytes.includes(form));
    });
  }
});

/** As it is, and in base 64 at each of the three places where it may begin: updates bring values so. */
function formsOf(word: string): readonly (Buffer | string)[] {
  const plain = Buffer.from(word);
  const shifted = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), plain]).toString("base64");
    // Characters in which the neighbours have a part are left out.
    return text.slice(shift === 0 ? 0 : 4, Math.floor(((shift + plain.length) * 4) / 12) * 4 - 4);
  });
  return [word, ...shifted];
}
