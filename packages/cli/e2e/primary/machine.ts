/**
 * The steps of a machine of the stack, run here: the artefact fetched from the bucket by the AWS command line and checked, secrets and settings
 * written by its script, the server started as its unit says, on DynamoDB Local, and asked by signed requests. What needs
 * Amazon Linux (packages, systemd) or the internet (cloudflared) is not run.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { hasDynamoDbLocal, type DynamoDbLocal, startDynamoDbLocal } from "@radical/lvi-server/e2e/dynamodb-local";
import { TestClient } from "@radical/lvi-server/e2e/test-client";
import { type TestModule, testModule } from "@radical/lvi-server/e2e/test-module";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  AwsPrimary,
  bucketName,
  DEFAULT_PRIMARY_SETTINGS,
  type PrimarySettings,
  type PrimaryState,
  type Tool,
  artefactKey,
  fetchArtefact,
  nodeEnvironment,
} from "@radical/deploy/testing";
import type { NodeName } from "@radical/protocol";
import { goingOff, missing } from "./alarm-values.ts";
import { fieldsOf } from "./metric-filter.ts";
import { CREDENTIALS, hasPython, installMoto, type Moto } from "./moto.ts";

const run = promisify(execFile);

const SETTINGS: PrimarySettings = {
  ...DEFAULT_PRIMARY_SETTINGS,
  host: "ec2",
  application: "shop",
  environment: "staging",
  server: { RADICAL_AUDIT_PERCENT: "5", RADICAL_OTLP: "https://otlp.example.com/v1/traces" },
};
const TUNNELS = { a: { id: "1", token: "token-of-a" }, b: { id: "2", token: "token-of-b" } };

interface Machine {
  readonly etc: string;
  readonly installedAt: string;
  readonly environment: NodeJS.ProcessEnv;
}

const before = { ...process.env };
let folder: string;
let dynamo: DynamoDbLocal;
let primary: AwsPrimary;
let state: PrimaryState;
let module: TestModule;
const servers: ChildProcess[] = [];

/** `moto`: that of the file, started by then. */
export function machineTests(moto: () => Moto): void {
  describe.skipIf(!hasPython() || !hasDynamoDbLocal())("a machine of the stack", () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "radical-machine-"));
      [dynamo, module] = await Promise.all([startDynamoDbLocal(), testModule()]);
      Object.assign(process.env, CREDENTIALS, {
        AWS_ENDPOINT_URL: moto().endpoint,
        AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      });
      primary = new AwsPrimary(SETTINGS, { pollMs: 5, cloudflared: toolOf("cloudflared") });
      state = await primary.apply(await primary.plan(), TUNNELS, () => {});
    });
    afterAll(async () => {
      process.env = { ...before };
      for (const server of servers) if (server.exitCode === null) server.kill("SIGKILL");
      await dynamo?.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    test("fetches the artefact, and refuses one with other bytes", async () => {
      const { account, region } = state.access;
      const bucket = bucketName(SETTINGS, account, region);
      const machine = machineOf("a");
      await bash(fetchArtefact(bucket, state.artefact, machine.installedAt), machine);
      expect(readFileSync(join(machine.installedAt, "node/install.sh"), "utf8")).toMatch(/^#!\/bin\/bash\n/);
      const other = "0".repeat(64);
      const s3 = new S3Client({ forcePathStyle: true });
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key: artefactKey(other), Body: "another one" }));
      await expect(bash(fetchArtefact(bucket, other, join(folder, "other")), machine)).rejects.toThrow(
        /FAILED|did NOT match/,
      );
    });

    test("two machines serve as one: one leads, the other takes over; keys are replaced while they run", async () => {
      const [a, b] = (["a", "b"] as const).map(machineOf) as [Machine, Machine];
      for (const machine of [a, b]) {
        await run(join(machine.installedAt, "node/parameters.sh"), [], { env: machine.environment });
      }
      expect(readFileSync(join(b.etc, "tunnel-token"), "utf8").trim()).toBe("token-of-b");
      expect(readFileSync(join(b.etc, "server.env"), "utf8")).toMatch(
        /\nRADICAL_AUDIT_PERCENT=5\nRADICAL_OTLP=https:\/\/otlp\.example\.com\/v1\/traces\n$/,
      );
      // 1,841 MiB, less what all that is beside the server may have.
      expect(readFileSync(join(b.etc, "server.env"), "utf8")).toMatch(/^RADICAL_MEMORY_MB=1393$/m);
      const first = startedAsItsUnitSays(a);
      const url = await first.listening;
      const second = startedAsItsUnitSays(b);
      await second.logged("waiting_for_leadership");

      const client = clientOf(url, state);
      await client.register();
      const reply = await client.lvi(client.requestOf("increment", "visits", null));
      expect(reply).toMatchObject({ kind: "executed", outcome: { kind: "result" } });
      // By what it says of itself, the next plan knows which machine is replaced last.
      expect((await primary.plan()).leader).toBe("a");

      const rotated = await primary.addKey("location");
      await run(join(a.installedAt, "node/parameters.sh"), [], { env: a.environment });
      await first.logged("keys_loaded");
      const withFreshKey = clientOf(url, rotated);
      expect(await withFreshKey.read("visits")).toBe(1);

      // A machine that is stopped.
      first.process.kill("SIGTERM");
      expect((await once(first.process, "exit"))[0]).toBe(0);
      // The other one has not looked for keys since, and takes the old one, which is still there.
      const after = clientOf(await second.listening, state);
      expect(await after.read("visits")).toBe(1);
      expect((await primary.plan()).leader).toBe("b");
      second.process.kill("SIGTERM");
      expect((await once(second.process, "exit"))[0]).toBe(0);
    });

    test("a server that is dead for five minutes ends its machine, with a line of log before", async () => {
      const machine = machineOf("a");
      const runFolder = mkdtempSync(join(folder, "run-"));
      const log = join(machine.etc, "dead.log");
      const called = join(machine.etc, "systemctl.log");
      writeFileSync(called, "");
      const look = async (server: string): Promise<void> => {
        const places = { RADICAL_RUN: runFolder, RADICAL_LOG: log, RADICAL_SERVER: server, RADICAL_TUNNEL: server };
        const env = { ...machine.environment, ...places, RADICAL_LAST_WORDS_SECONDS: "0" };
        await run(join(machine.installedAt, "node/watch.sh"), [], { env });
      };
      const [alive, dead] = [await answering(() => ({ status: 200 })), "http://127.0.0.1:9"];
      writeFileSync(join(runFolder, "dead"), "28\n");
      await look(dead);
      // It answers again in time.
      await look(alive.url);
      expect(readFileSync(join(runFolder, "dead"), "utf8")).toBe("0\n");
      writeFileSync(join(runFolder, "dead"), "29\n");
      expect(readFileSync(called, "utf8")).toBe("");
      await look(dead);
      alive.http.close();
      expect(readFileSync(called, "utf8")).toBe("poweroff\n");
      expect(readFileSync(log, "utf8")).toMatch(/"level":"error","event":"server_dead","node":"a"/);
    });

    test("a standby that is killed is missed, and so is its tunnel: by what the watch says of real servers", async () => {
      const [a, b] = (["a", "b"] as const).map(machineOf) as [Machine, Machine];
      for (const machine of [a, b])
        await run(join(machine.installedAt, "node/parameters.sh"), [], { env: machine.environment });
      const first = startedAsItsUnitSays(a);
      const leader = await first.listening;
      const second = startedAsItsUnitSays(b);
      await second.logged("waiting_for_leadership");
      const standby = await second.http;
      const tunnel = await answering(() => ({ status: 200 }));
      const log = join(folder, "watched.log");
      /** Each machine looks as often as it takes for a line. */
      const watched = async (): Promise<readonly string[]> => {
        writeFileSync(log, "");
        for (const [machine, server] of [
          [a, leader],
          [b, standby],
        ] as const) {
          const runFolder = mkdtempSync(join(folder, "run-"));
          const env = { RADICAL_RUN: runFolder, RADICAL_LOG: log, RADICAL_SERVER: server, RADICAL_TUNNEL: tunnel.url };
          for (let look = 0; look < 6; look++)
            await run(join(machine.installedAt, "node/watch.sh"), [], { env: { ...machine.environment, ...env } });
        }
        return readFileSync(log, "utf8").trim().split("\n");
      };
      const lines = await watched();
      expect(lines.map((line) => fieldsOf(line))).toMatchObject([
        { event: "machine", node: "a", server: 1, serving: 1, standby: 0, tunnel: 1 },
        { event: "machine", node: "b", server: 1, serving: 0, standby: 1, tunnel: 1 },
      ]);
      // Probes come from elsewhere.
      expect(missing(lines, 1)).toEqual(["Probes"]);
      second.process.kill("SIGKILL");
      await once(second.process, "exit");
      expect(missing(await watched(), 1)).toEqual(["Machines", "Standby", "Probes"]);
      tunnel.http.close();
      expect(missing(await watched(), 1)).toEqual(["Leading", "Machines", "Standby", "Probes"]);
      first.process.kill("SIGTERM");
      expect((await once(first.process, "exit"))[0]).toBe(0);
    });

    test("a server that the system has ended: its last line says how", async () => {
      const machine = machineOf("a");
      const log = join(machine.etc, "ended.log");
      const ended = async (result: string, status: string): Promise<readonly string[]> => {
        writeFileSync(log, "");
        await run(join(machine.installedAt, "node/ended.sh"), [], {
          env: { ...machine.environment, RADICAL_LOG: log, SERVICE_RESULT: result, EXIT_STATUS: status },
        });
        return readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
      };
      expect(await ended("success", "0")).toEqual([]);
      // It has said so itself.
      expect(await ended("exit-code", "1")).toEqual([]);
      const lines = await ended("oom-kill", "KILL");
      expect(lines.map((line) => fieldsOf(line))).toMatchObject([
        { level: "error", event: "server_ended", node: "a", result: "oom-kill", exitCode: "KILL" },
      ]);
      expect(goingOff(lines)).toEqual(["Errors"]);
    });

    test("a leader without a tunnel gives up the leadership at the third look; a standby and one that is reached do not", async () => {
      const machine = machineOf("a");
      const looks = async (
        readiness: "ready" | "standby" | "dead",
        tunnel: boolean,
        times: number,
      ): Promise<string> => {
        const [server, way] = await Promise.all([
          answering((path) => ({
            status: readiness === "dead" || (path === "/readyz" && readiness === "standby") ? 503 : 200,
            body: JSON.stringify({ status: readiness }),
          })),
          answering(() => ({ status: tunnel ? 200 : 503 })),
        ]);
        const called = join(machine.etc, "systemctl.log");
        writeFileSync(called, "");
        const log = join(machine.etc, "server.log");
        writeFileSync(log, "");
        const runFolder = mkdtempSync(join(folder, "run-"));
        for (let look = 0; look < times; look++)
          await run(join(machine.installedAt, "node/watch.sh"), [], {
            env: {
              ...machine.environment,
              RADICAL_RUN: runFolder,
              RADICAL_LOG: log,
              RADICAL_SERVER: server.url,
              RADICAL_TUNNEL: way.url,
            },
          });
        server.http.close();
        way.http.close();
        for (const line of readFileSync(log, "utf8").trim().split("\n").filter(Boolean))
          expect(JSON.parse(line)).toMatchObject({ node: "a" });
        return `${readFileSync(called, "utf8")}${readFileSync(log, "utf8").replace(/"time":"[^"]*",/g, "")}`;
      };
      const restarted = "restart radical-lvi-server\n";
      expect(await looks("ready", false, 2)).toBe("");
      expect(await looks("ready", false, 3)).toBe(
        `${restarted}{"level":"error","event":"leader_unreachable","node":"a","server":1,"serving":1,"standby":0,"tunnel":0}\n`,
      );
      expect(await looks("standby", false, 4)).toBe("");
      expect(await looks("ready", true, 6)).toBe(
        '{"level":"info","event":"machine","node":"a","server":1,"serving":1,"standby":0,"tunnel":1}\n',
      );
      const silent = '"node":"a","server":0,"serving":0,"standby":0,"tunnel":1}\n';
      expect(await looks("dead", true, 11)).toBe(`{"level":"info","event":"machine",${silent}`);
      expect(await looks("dead", true, 12)).toBe(
        `${restarted}${`{"level":"info","event":"machine",${silent}`.repeat(2)}{"level":"error","event":"server_silent",${silent}`,
      );
    });
  });
}

/** A program in place of the one that the internet has. */
export function toolOf(text: string): Tool {
  const bytes = Buffer.from(text);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { key: `tools/${text}`, sha256, fetch: () => Promise.resolve(bytes) };
}

/** A machine's files, in folders of this test. `systemctl` writes down how it was called. */
function machineOf(node: NodeName): Machine {
  const root = join(folder, node);
  const [etc, bin] = [join(root, "etc"), join(root, "bin")];
  for (const path of [etc, bin]) mkdirSync(path, { recursive: true });
  writeFileSync(join(etc, "node.env"), nodeEnvironment(SETTINGS, node, "bucket", state.access.region));
  const meminfo = join(root, "meminfo");
  writeFileSync(meminfo, "MemTotal:        1885184 kB\nMemFree:         1201392 kB\n");
  writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >>"${join(etc, "systemctl.log")}"\n`);
  chmodSync(join(bin, "systemctl"), 0o755);
  return {
    etc,
    // The same on both.
    installedAt: join(folder, "radical"),
    environment: {
      ...process.env,
      RADICAL_ETC: etc,
      RADICAL_MEMINFO: meminfo,
      PATH: [bin, join(installMoto(), "bin"), process.env["PATH"]].join(delimiter),
    },
  };
}

async function bash(script: string, machine: Machine): Promise<void> {
  await run("bash", ["-euo", "pipefail", "-c", script], { env: machine.environment });
}

interface Started {
  readonly process: ChildProcess;
  /** Its URL, once it leads. */
  readonly listening: Promise<string>;
  /** Its URL, whether it leads or not. */
  readonly http: Promise<string>;
  /** Resolves when it has logged such an event. */
  logged(event: string): Promise<void>;
}

/** Its command and its environment are those of the unit; only the places are others, and the port is free. */
function startedAsItsUnitSays({ etc, installedAt, environment }: Machine): Started {
  const unit = readFileSync(join(installedAt, "radical-lvi-server.service"), "utf8");
  const setting = (name: string): readonly string[] =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value!);
  const [command] = setting("ExecStart");
  const [file] = setting("EnvironmentFile");
  const placed = (path: string): string =>
    path.replace("/opt/radical", installedAt).replace("/etc/radical", etc).replace("/usr/bin/node", process.execPath);
  const [program, ...args] = command!.split(" ").map(placed) as [string, ...string[]];
  const settings = readFileSync(placed(file!), "utf8").trim().split("\n");
  const child = spawn(program, args, {
    env: {
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("RADICAL_"))),
      ...Object.fromEntries(
        [...setting("Environment"), ...settings].map((line) => line.split(/=(.*)/s) as [string, string]),
      ),
      NODE_OPTIONS: "",
      RADICAL_PORT: "0",
      // A busy machine of tests may stop for longer.
      RADICAL_SHED_DELAY_MS: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  servers.push(child);
  const { promise: http, resolve: listensAt } = Promise.withResolvers<string>();
  const seen = new Set<string>();
  const waiting: { event: string; resolve: () => void; reject: (error: Error) => void }[] = [];
  let errors = "";
  createInterface(child.stderr).on("line", (line) => {
    errors = `${errors}${line}\n`.slice(-4_000);
    if (!line.startsWith("{")) return;
    const { event, port } = JSON.parse(line) as { event: string; port?: number };
    if (event === "http_listening") listensAt(`http://127.0.0.1:${port}`);
    seen.add(event);
    for (const each of waiting) if (each.event === event) each.resolve();
  });
  const ended = once(child, "exit").then(() => new Error(`the server ended: ${errors}`));
  void ended.then((error) => {
    for (const { reject } of waiting) reject(error);
  });
  const listening = new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", (line) => {
      const { host, port } = JSON.parse(line) as { host: string; port: number };
      resolve(`http://${host}:${port}`);
    });
    void ended.then(reject);
  });
  // It may be that nobody asks.
  listening.catch(() => {});
  return {
    process: child,
    listening,
    http,
    logged: (event) =>
      seen.has(event)
        ? Promise.resolve()
        : new Promise((resolve, reject) => void waiting.push({ event, resolve, reject })),
  };
}

function clientOf(url: string, { keys, administration: [admin] }: PrimaryState): TestClient {
  const client = new TestClient(url, module);
  const { application, environment } = SETTINGS;
  const deployment = `${application}-${environment}`;
  client.administration = { keyId: admin!.id, privateHalf: admin!.privateHalf, deployment };
  client.signing = { keyId: keys[0]!.id, secret: Buffer.from(keys[0]!.secret, "hex") };
  return client;
}

async function answering(
  answer: (path: string) => { readonly status: number; readonly body?: string },
): Promise<{ readonly url: string; readonly http: Server }> {
  const http = createServer(({ url = "" }, response) => {
    const { status, body = "" } = answer(url);
    response.writeHead(status, { connection: "close" }).end(body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}
