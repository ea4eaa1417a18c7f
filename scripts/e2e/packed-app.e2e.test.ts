/**
 * The product as a user gets it: packages from tarballs, scaffolder, npm installation, build, the running application
 * over HTTP, and its data on disk.
 */
import { execFile, spawn } from "node:child_process";
import { scryptSync } from "node:crypto";
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { descendantsOf, isAlive } from "../../packages/cli/e2e/radical-process.ts";
import { argumentsOf, serversOf } from "../../packages/vscode/src/installs.ts";
import { runtimeOf } from "../../packages/vscode/src/runtime.ts";
import { readItem } from "../../packages/cli/e2e/storage.ts";
import type { DevEvent } from "../../packages/cli/src/index.ts";
import { type DevProcess, startDevProcess } from "../dev-process.ts";
import { type Scaffolder, packScaffolder, scaffoldApp, userEnvironment } from "../packed-app.ts";
import { type Registry, startRegistry } from "../registry.ts";

const run = promisify(execFile);
const SOON = { timeout: 100_000, interval: 30 };

interface SocialClient {
  login(args: object): Promise<string | null>;
  follow(args: object, options?: object): Promise<number>;
  post(args: object): Promise<string>;
  timeline(args: object): Promise<{ readonly posts: readonly { readonly id: string; readonly html: string }[] }>;
  profile(args: object, options?: object): Promise<{ readonly followers: number }>;
}

let folder: string;
let scaffolder: Scaffolder;
/** The application that the quickstart has made and installed. */
let installed: string;
/** An application of another template, with what was installed there. */
let app: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "radical-packed-"));
  scaffolder = await packScaffolder(folder);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Of every template. */
const FILES = [
  ".github",
  ".gitignore",
  ".vscode",
  "AGENTS.md",
  "README.md",
  "handlers",
  "package.json",
  "radical.config.ts",
  "tests",
  "tsconfig.json",
  "vitest.config.ts",
];

/** Commands of a page, with what they are to print, as its next block says it. */
interface Step {
  readonly commands: string;
  readonly language: string | undefined;
  readonly expected: string | undefined;
}

function stepsOf(page: string): readonly Step[] {
  const blocks = [...page.matchAll(/^```(\w+)\n([^]*?)\n```$/gm)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
  return blocks.flatMap(({ language, text }, index): readonly Step[] => {
    const next = blocks[index + 1];
    const answer = next !== undefined && /^(?:json|http)$/.test(next.language) ? next : undefined;
    return language === "sh" ? [{ commands: text, language: answer?.language, expected: answer?.text }] : [];
  });
}

/** The environment of a shell whose npm finds our packages as if they were published. It keeps a cache in `home`. */
async function shellWithRegistry(
  home: string,
): Promise<{ readonly env: NodeJS.ProcessEnv; readonly registry: Registry }> {
  // npm keeps packages by their content, so what was downloaded before may be used; what it has run before may not.
  await mkdir(join(home, "cache"), { recursive: true });
  const { stdout: cache } = await run("npm", ["config", "get", "cache"], { env: userEnvironment() });
  await mkdir(join(cache.trim(), "_cacache"), { recursive: true });
  await symlink(join(cache.trim(), "_cacache"), join(home, "cache/_cacache"));
  const { stdout: upstream } = await run("npm", ["config", "get", "registry"], { env: userEnvironment() });
  const registry = await startRegistry(scaffolder.packages, upstream.trim());
  // npm asks a person at a terminal whether it may fetch the scaffolder, as the page says.
  const answer = { npm_config_yes: "true" };
  const own = { npm_config_registry: registry.url, npm_config_cache: join(home, "cache") };
  return { env: { ...userEnvironment(), ...own, ...answer }, registry };
}

test("the quickstart, as a new user copies and pastes it into an empty folder", async () => {
  const [create, fromClone, dev, ...requests] = stepsOf(
    await readFile(new URL("../../docs/quickstart.md", import.meta.url), "utf8"),
  );
  expect(create?.commands).toContain("npm create radical-app");
  // In its place, until that can be done: what is packed here in the same way.
  expect(fromClone?.commands).toContain("pack:all");
  expect(dev?.commands).toBe("npm run dev");
  expect(requests.length).toBeGreaterThan(0);

  const home = join(folder, "new-user");
  const { env, registry } = await shellWithRegistry(home);
  const cwd = join(home, "empty");
  await mkdir(cwd);
  try {
    await run("sh", ["-e", "-c", create?.commands ?? ""], { cwd, env });
    expect(await readdir(cwd)).toEqual(["my-app"]);
    // A shell of its own, as a terminal has it, in the folder to which the commands before went.
    const [, entered = ""] = /^cd (\S+)$/m.exec(create?.commands ?? "") ?? [];
    installed = join(cwd, entered);
    expect((await readdir(installed)).toSorted()).toEqual(
      [...FILES, ".git", "node_modules", "package-lock.json"].toSorted(),
    );
    const server = spawn("sh", ["-c", `exec ${dev?.commands}`], {
      cwd: installed,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = new Promise((resolve) => server.once("close", resolve));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let output = "";
        server.stdout.on("data", (chunk: Buffer) => {
          output += chunk.toString();
          const [found] = /http:\/\/[\d.]+:\d+/.exec(output) ?? [];
          if (found !== undefined) resolve(found);
        });
        void closed.then(() => reject(new Error(`npm run dev ended:\n${output}`)));
      });
      for (const { commands, language, expected } of requests) {
        // The page says that another port is taken if this one is in use.
        const { stdout } = await run(
          "sh",
          ["-e", "-c", commands.replaceAll("localhost:8787", url.replace("http://", ""))],
          { env },
        );
        const lines = stdout.split("\r\n");
        if (language === "json") expect(stdout).toBe(expected);
        else expect(lines).toEqual(expect.arrayContaining(expected?.split("\n") ?? [expect.anything()]));
      }
    } finally {
      server.kill("SIGTERM");
      await closed;
    }
  } finally {
    await registry.close();
  }
});

/** The limit for an application on a late Node, on Linux. The application has 376 today. */
const MOST_MEGABYTES = 420;

test("an application installs no more than what developing takes", async () => {
  const modules = join(installed, "node_modules");
  const { stdout } = await run("du", ["-sk", modules]);
  expect(Number.parseInt(stdout, 10) / 1024).toBeLessThan(MOST_MEGABYTES);
  const names = await readdir(modules);
  // The command brings its compiler, and the developer's Node will do.
  for (const name of ["assemblyscript", "binaryen", "node"]) expect(names).not.toContain(name);
});

test("the pages about deploying and upgrading install packages that are there, in one version", async () => {
  const home = join(folder, "operator");
  const { env, registry } = await shellWithRegistry(home);
  const cwd = join(home, "app");
  await mkdir(cwd);
  await writeFile(join(cwd, "package.json"), '{ "private": true }');
  try {
    for (const page of ["how-to/upgrade.md", "deploy.md"]) {
      const [install] = stepsOf(await readFile(new URL(`../../docs/${page}`, import.meta.url), "utf8"));
      expect(install?.commands).toMatch(/^npm install /);
      // oxlint-disable-next-line no-await-in-loop -- both change the same folder
      await run("sh", ["-e", "-c", install?.commands ?? ""], { cwd, env });
    }
    const { dependencies, devDependencies } = JSON.parse(await readFile(join(cwd, "package.json"), "utf8")) as Record<
      string,
      Record<string, string>
    >;
    expect(Object.keys(dependencies!)).toEqual(["@radical/sdk"]);
    expect(Object.keys(devDependencies!).toSorted()).toEqual(["@radical/cli", "@radical/deploy"]);
    expect(new Set(Object.values({ ...dependencies, ...devDependencies })).size).toBe(1);
    const { stdout } = await run("npx", ["radical", "deploy", "--emit-template", "--help"], { cwd, env });
    expect(stdout).toContain("Usage: radical deploy");
  } finally {
    await registry.close();
  }
});

/** By name; our own are wherever the tarballs are. */
function dependenciesOf(text: string): Readonly<Record<string, string>> {
  const { dependencies, devDependencies } = JSON.parse(text) as Record<string, Record<string, string>>;
  const entries = Object.entries({ ...dependencies, ...devDependencies });
  return Object.fromEntries(entries.map(([name, version]) => [name, name.startsWith("@radical/") ? "" : version]));
}

test("the tarballs hold what is needed and nothing of the workspace", async () => {
  app = await scaffoldApp(scaffolder, folder, "my-network", "social", { install: false });
  expect((await readdir(app)).toSorted()).toEqual(
    [...FILES, ".git", "bench-accounts.ts", "page", "public", "radical.bench.ts", "seed.ndjson", "src"].toSorted(),
  );
  const text = await readFile(join(app, "package.json"), "utf8");
  // The packages that are there are those that it would install.
  expect(dependenciesOf(text)).toEqual(dependenciesOf(await readFile(join(installed, "package.json"), "utf8")));
  await rename(join(installed, "node_modules"), join(app, "node_modules"));
  expect(text).not.toContain("workspace:");
  expect(JSON.parse(text)).toMatchObject({ name: "my-network" });
  // Config and tests are right TypeScript against the published types.
  await run("npm", ["run", "--silent", "check"], { cwd: app, env: userEnvironment() });
});

test("the extension for VS Code finds what is installed, and its language server answers", async () => {
  const { servers } = serversOf([app], null);
  expect(servers).toHaveLength(1);
  const [server] = servers;
  if (server === undefined) throw new Error("there is no server");
  const runtime = await runtimeOf(server.node);
  if (runtime.kind === "missing") throw new Error(runtime.words);
  const child = spawn(runtime.command, argumentsOf(server), {
    cwd: app,
    env: { ...userEnvironment(), ...runtime.env },
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  try {
    const params = { processId: process.pid, rootUri: null, capabilities: {}, workspaceFolders: null };
    const question = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(question)}\r\n\r\n${question}`);
    const answer = await new Promise<string>((resolve) => {
      let output = "";
      const listen = (chunk: Buffer): void => {
        output += chunk.toString();
        if (output.includes('"id":1')) resolve(output);
      };
      child.stdout.on("data", listen);
      child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
      void closed.then(() => resolve(output));
    });
    expect(answer).toContain('"hoverProvider":true');
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
});

test("npm run build, npm run dev, requests, data on disk; Ctrl-C leaves no process", async () => {
  await run("npm", ["run", "--silent", "build"], { cwd: app, env: userEnvironment() });
  const { createClient } = (await import(/* @vite-ignore */ pathToFileURL(join(app, "dist/client.ts")).href)) as {
    readonly createClient: (options: { readonly baseUrl: string; readonly headers?: object }) => SocialClient;
  };

  const events: DevEvent[] = [];
  let dev: DevProcess = await startDevProcess(app, ["--port", "0", "--no-seed"], {
    onEvent: (event) => events.push(event),
  });
  const client = createClient({ baseUrl: dev.url });
  const at = (location: string): object => ({ headers: { "x-radical-location": location } });

  const register = async (name: string, password: string): Promise<{ token: string; as: SocialClient }> => {
    const body = JSON.stringify({ name, password });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${dev.url}/api/register`, { method: "POST", headers, body });
    expect(answer.status).toBe(200);
    const [line = ""] = answer.headers.getSetCookie();
    expect(line).toMatch(/; HttpOnly/i);
    const [cookie = ""] = line.split(";", 1);
    return { token: cookie.split("=")[1] ?? "", as: createClient({ baseUrl: dev.url, headers: { cookie } }) };
  };
  const ada = await register("ada", "correct horse");
  const grace = await register("grace", "battery staple");
  expect(await grace.as.follow({ name: "ada" }, at("JP"))).toBe(1);
  const id = await ada.as.post({ text: "first!" });
  expect(await grace.as.timeline({})).toMatchObject({ posts: [{ id, html: "<p>first!</p>" }] });
  for (const location of ["CA", "CA"])
    expect(await client.profile({ name: "ada" }, at(location))).toMatchObject({ followers: 1 });
  expect(await client.login({ name: "ada", password: "battery staple" })).toBeNull();

  const profiles = (): readonly DevEvent[] =>
    events.filter((event) => event.event === "request" && event.handler === "profile");
  await expect.poll(profiles, SOON).toMatchObject([
    { location: "CA", path: "near-storage" },
    { location: "CA", path: "speculative" },
  ]);

  // The password hash is that of scrypt in Node, and the table does not tell the token.
  const stateFolder = join(app, ".radical");
  await expect.poll(() => readItem(stateFolder, "posts", id), SOON).toMatchObject({ author: "ada", text: "first!" });
  const { passwordHash } = readItem(stateFolder, "accounts", "ada") as { readonly passwordHash: string };
  const [, kind, cost, salt = "", hash = ""] = passwordHash.split("$");
  expect([kind, cost]).toEqual(["scrypt", "ln=14,r=8,p=5"]);
  const expected = scryptSync("correct horse", Buffer.from(salt, "base64"), 32, { N: 2 ** 14, r: 8, p: 5 });
  expect(Buffer.from(hash, "base64").equals(expected)).toBe(true);
  expect(readItem(stateFolder, "sessions", ada.token)).toBeUndefined();

  // Ctrl-C: a terminal sends SIGINT to every process of the group; npm alone gets it here, and is not left behind.
  const children = await descendantsOf(dev.child.pid ?? 0);
  expect(children.length).toBeGreaterThanOrEqual(4);
  await dev.stop();
  await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);

  // The data is there after a restart.
  dev = await startDevProcess(app, ["--port", "0", "--locations", "SYD=1"]);
  expect(await createClient({ baseUrl: dev.url }).profile({ name: "ada" })).toMatchObject({ followers: 1 });
  await dev.stop();
});

test("the scaffolder: refuses folders with content and bad names, asks nothing without a terminal, and tells what is next", async () => {
  const create = async (
    ...args: readonly string[]
  ): Promise<{ readonly code: number | null; readonly output: string }> => {
    // stdin stays open and silent: a prompt would wait forever.
    const child = spawn(scaffolder.command, args, {
      cwd: folder,
      env: userEnvironment(),
      stdio: ["pipe", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, output };
  };
  expect(await create("--help")).toMatchObject({
    code: 0,
    output: expect.stringMatching(/Exit codes:[^]*Examples:/) as unknown,
  });
  expect(await create("my-network", "--no-install")).toMatchObject({
    code: 2,
    output: expect.stringContaining("not empty") as unknown,
  });
  expect(await create("My App")).toMatchObject({
    code: 2,
    output: expect.stringContaining("not a valid application name") as unknown,
  });
  expect(await create("x", "--template", "blog")).toMatchObject({
    code: 2,
    output: expect.stringContaining('The template "blog" does not exist') as unknown,
  });
  expect(await create("x", "y")).toMatchObject({ code: 2 });
  expect(await create("x", "--packages", join(folder, "nowhere"))).toMatchObject({ code: 2 });
  expect(await create("x", "--pm", "cargo")).toMatchObject({
    code: 2,
    output: expect.stringContaining("--pm takes one of npm, pnpm, yarn, bun") as unknown,
  });
  expect(await readdir(folder)).not.toContain("x");

  const made = await create("notes", "--no-install", "--no-git");
  expect(made).toMatchObject({
    code: 0,
    output: expect.stringMatching(/cd notes\n +npm install\n +npm run dev/) as unknown,
  });
  expect(await readFile(join(folder, "notes/.gitignore"), "utf8")).toContain(".radical/");
  expect(await readdir(join(folder, "notes"))).not.toContain(".git");
});

test("the first commit has all files; inside another repository there is none of its own", async () => {
  const identity = Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((who) => [
      [`GIT_${who}_NAME`, "Ann"],
      [`GIT_${who}_EMAIL`, "ann@example.com"],
    ]),
  );
  const env = { ...userEnvironment(), ...identity };
  const create = (name: string): Promise<unknown> =>
    run(scaffolder.command, [name, "-t", "minimal", "-y", "--no-install"], { cwd: folder, env });
  await create("committed");
  const git = async (...args: readonly string[]): Promise<string> =>
    (await run("git", args, { cwd: join(folder, "committed"), env })).stdout.trim();
  expect(await git("log", "--format=%an %s")).toBe("Ann Make a Radical application from the template minimal");
  expect(await git("status", "--porcelain")).toBe("");
  expect((await git("ls-files")).split("\n")).toEqual(
    expect.arrayContaining([".github/workflows/ci.yml", ".gitignore"]),
  );
  await create("committed/inner");
  expect(await readdir(join(folder, "committed/inner"))).not.toContain(".git");
});

test("Ctrl-C while packages are installed takes back all that was made, and leaves no process", async () => {
  const args = ["interrupted/app", "-t", "minimal", "-y", "--packages", scaffolder.packages];
  const child = spawn(scaffolder.command, args, {
    cwd: folder,
    env: userEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await expect.poll(() => output, SOON).toContain("Installing dependencies with npm");
  const isInstalling = async (): Promise<number> => (await descendantsOf(child.pid ?? 0)).length;
  await expect.poll(isInstalling, SOON).toBeGreaterThan(0);
  const children = await descendantsOf(child.pid ?? 0);
  child.kill("SIGINT");
  expect(await closed).toBe(130);
  expect(output).toContain("nothing was made");
  expect(await readdir(folder)).not.toContain("interrupted");
  await expect.poll(() => children.filter(isAlive), SOON).toEqual([]);
});

test("pnpm installs what it is made for, and builds", async () => {
  const env = userEnvironment();
  const args = ["with-pnpm", "-t", "minimal", "-y", "--no-git", "--pm", "pnpm", "--packages", scaffolder.packages];
  const { stdout } = await run(scaffolder.command, args, { cwd: folder, env });
  expect(stdout).toMatch(/cd with-pnpm\n +pnpm run dev/);
  const cwd = join(folder, "with-pnpm");
  expect(await readdir(cwd)).toEqual(expect.arrayContaining(["node_modules", "pnpm-lock.yaml", "pnpm-workspace.yaml"]));
  expect(await readFile(join(cwd, "AGENTS.md"), "utf8")).toContain("pnpm exec radical analyze");
  expect((await run("pnpm", ["run", "build"], { cwd, env })).stdout).toContain("dist/worker.js");
});
