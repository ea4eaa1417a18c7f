/**
 * Loads a server process whose memory is small with all that takes memory. There are large values, listeners that do not read, big
 * bodies, requests that wait, heavy handlers and tasks. Each turn does all of it at once, and ends when all is answered.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AccessedUnit,
  type Followup,
  type FollowupResult,
  LVI_PATH,
  type LviReply,
  type LviRequest,
  type RunEffect,
  TASKS_PATH,
  type TaskList,
  unitId,
  UPDATES_PATH,
} from "@radical/protocol";
import { tasksOf } from "../owed-work.ts";
import { ABSENT, incrementFollowup, incrementUnits, questionOf, signedHeaders, TestClient } from "../test-client.ts";
import { testModule } from "../test-module.ts";
import { type ServerProcess, startProcess } from "../test-process.ts";

const MB = 1_048_576;

/** That of the server, which must not take more. */
export const SOAK_MEMORY_MB = 700;

const LOCATIONS = 48;
/** Bytes of a large value, and how many there are. */
const VALUE_BYTES = 300_000;
const VALUES = 40;
const BODY_BYTES = 15 * MB;
const BODIES = 6;
/** Bytes of the arguments of one request that waits, and how many of them wait. */
const WAITING_BYTES = 4 * MB;
const WAITING = 32;
const TASK_BYTES = 60_000;
const TASKS = 60;
const HEAVY = ["scatter", "hog", "compute", "trap"] as const;
const SCATTERED = 200_000;

/** As the hosts of a deployment have it: the C library gives memory back that nobody uses. */
const MALLOC = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "32768" };

export interface SoakReport {
  readonly turns: number;
  /** Answers by their kind, refusals by their code. */
  readonly answers: Readonly<Record<string, number>>;
  readonly listeners: number;
  readonly tasks: number;
  /** The most that the process has had, as the kernel says. */
  readonly peakMb: number;
}

/** Refusals of a server that has no room; nothing was done. */
const NO_ROOM: ReadonlySet<string> = new Set(["refused busy", "refused over_budget", "503 primary_busy"]);
/** Answers that each load may get besides. */
const OUTCOMES: ReadonlySet<string> = new Set(["valid", "executed result", "executed trap", "401 unauthorized"]);

export class Soak {
  readonly #folder = mkdtempSync(join(tmpdir(), "radical-soak-"));
  readonly #listening: IncomingMessage[] = [];
  readonly #answers: Record<string, number> = {};
  #server: ServerProcess | null = null;
  #client: TestClient | null = null;
  #turns = 0;
  #tasks = 0;

  async start(): Promise<void> {
    const options = ["--memory-mb", String(SOAK_MEMORY_MB), "--followup-timeout-ms", "600000"];
    const storage = ["--storage", `sqlite:${join(this.#folder, "data.sqlite")}`];
    const environment = { RADICAL_SHED_DELAY_MS: "500", ...MALLOC };
    this.#server = await startProcess([...storage, ...options], environment);
    this.#client = new TestClient(this.#server.url, await testModule());
    await this.#client.register();
    await Promise.all(Array.from({ length: LOCATIONS }, (_, n) => this.#listen(`location ${n}`)));
  }

  /** Throws if an answer is none that a server gives which does its work, or has no room. */
  async turn(): Promise<void> {
    const turn = ++this.#turns;
    const client = this.#the(this.#client);
    // The write is pending, and others wait for it with much in their hands, until the server runs it itself.
    const holder = client.requestOf("increment", `held ${turn}`, incrementUnits(`held ${turn}`, ABSENT));
    const held = await this.#untilTaken(holder);
    if (held.kind !== "valid") throw new Error(`the holder got ${replyWords(held)}`);
    await Promise.all([
      ...Array.from({ length: WAITING }, (_, n) => this.#waiter(turn, n)),
      ...Array.from({ length: BODIES }, () => this.#bigBody()),
      ...HEAVY.map((handler) => this.#ask(client.requestOf(handler, `${handler}:${SCATTERED}`, null))),
      ...Array.from({ length: VALUES }, (_, n) => this.#largeValue(turn, n)),
      this.#manyTasks(turn),
    ]);
  }

  /** Resolves when nothing is left of the load; throws if something was lost. */
  async end(): Promise<SoakReport> {
    const [server, client] = [this.#the(this.#server), this.#the(this.#client)];
    for (let isCalm = false; !isCalm;) {
      // oxlint-disable-next-line no-await-in-loop -- until it is so
      const health = (await (await fetch(`${server.url}/healthz`)).json()) as { executions: number; pending: number };
      // oxlint-disable-next-line no-await-in-loop -- until it is so
      const { all } = await tasksOf(server);
      isCalm = health.executions === 0 && health.pending === 0 && all === 0;
    }
    // Each turn has written two counters once, whatever was refused.
    for (let turn = 1; turn <= this.#turns; turn++) {
      for (const key of [`held ${turn}`, `tasks ${turn}`]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const reply = await this.#untilTaken(client.requestOf("read", key, null));
        const value = reply.kind === "executed" && reply.outcome.kind === "result" ? reply.outcome.value[0] : null;
        if (value !== 1) throw new Error(`the counter ${key} is ${value}`);
      }
    }
    const list = (await (await client.question(TASKS_PATH, { limit: 1 })).json()) as TaskList;
    if (list.tasks.length > 0) throw new Error("tasks are left");
    const { child } = server;
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the server has ended");
    return {
      turns: this.#turns,
      answers: this.#answers,
      listeners: this.#listening.length,
      tasks: this.#tasks,
      peakMb: this.peakMb,
    };
  }

  get peakMb(): number {
    const status = readFileSync(`/proc/${this.#the(this.#server).child.pid}/status`, "utf8");
    return Math.ceil(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024);
  }

  async close(): Promise<void> {
    for (const response of this.#listening) response.destroy();
    if (this.#server?.child.exitCode === null) await this.#server.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  // ── The loads ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Listens, and never reads. */
  #listen(location: string): Promise<void> {
    const body = questionOf({ location, listener: "isolate" });
    const headers = { ...signedHeaders("POST", UPDATES_PATH, body), "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      const sent = httpRequest(this.#the(this.#server).url + UPDATES_PATH, { method: "POST", headers, agent: false });
      sent.on("error", reject);
      sent.on("response", (response) => {
        response.pause();
        response.on("error", () => undefined);
        this.#listening.push(response);
        resolve();
      });
      sent.end(body);
    });
  }

  /** A location writes it, and all the others have read it. */
  async #largeValue(turn: number, n: number): Promise<void> {
    const client = this.#the(this.#client);
    const object = `value ${turn} ${n}`;
    await this.#ask(client.requestOf("workOnWhole", `${object}:${VALUE_BYTES}:1:+0`, null));
    const units: readonly AccessedUnit[] = [{ unit: unitId("bytes", object), mode: "read", version: ABSENT.version }];
    const location = `location ${n % LOCATIONS}`;
    await this.#ask(client.requestOf("workOnWhole", `${object}:${VALUE_BYTES}:1:-0`, units, { location }));
    await this.#ask(client.requestOf("workOnWhole", `${object}:${VALUE_BYTES}:1:+0`, null));
  }

  async #manyTasks(turn: number): Promise<void> {
    const client = this.#the(this.#client);
    const key = `tasks ${turn}`;
    const request = client.requestOf("increment", key, incrementUnits(key, ABSENT), { mayEffect: true });
    const reply = await this.#untilTaken(request);
    if (reply.kind !== "valid" || reply.commitId === null) throw new Error(`who has tasks got ${replyWords(reply)}`);
    const task: RunEffect = {
      kind: "enqueue",
      callee: "nothing",
      args: new Uint8Array(TASK_BYTES),
      delayMs: 0,
      key: null,
    };
    const effects = Array.from({ length: TASKS }, () => task);
    const followup = incrementFollowup(request.executionId, reply.commitId, key, ABSENT);
    const result = await this.#followUp({ ...followup, effects });
    if (result !== "applied") throw new Error(`the followup of turn ${turn} was ${result}`);
    this.#tasks += TASKS;
  }

  /** Waits for the unit that the turn holds, with large arguments. */
  #waiter(turn: number, n: number): Promise<void> {
    const argument = "x".repeat(WAITING_BYTES);
    const units = incrementUnits(`held ${turn}`, ABSENT);
    const location = `location ${n % LOCATIONS}`;
    return this.#ask(this.#the(this.#client).requestOf("nothing", argument, units, { location }));
  }

  /** It is signed with another key, which is known at its end. */
  async #bigBody(): Promise<void> {
    const signing = { secret: new Uint8Array(16) };
    const response = await this.#the(this.#client).send("POST", LVI_PATH, new Uint8Array(BODY_BYTES), signing);
    this.#count(errorWords(response.status, await response.text()));
  }

  async #ask(request: LviRequest): Promise<void> {
    await this.#sent(request);
  }

  /** Asks again for as long as there is no room, as a location does. */
  async #untilTaken(request: LviRequest): Promise<LviReply> {
    for (let attempt = 1; ; attempt += 2) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const reply = await this.#sent({ ...request, attempt });
      if (reply !== null && reply.kind !== "refused") return reply;
    }
  }

  /** Again for as long as there is no room for its body. */
  async #followUp(followup: Followup): Promise<FollowupResult> {
    for (;;)
      try {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        return await this.#the(this.#client).followup(followup);
      } catch (error) {
        this.#refused(error);
      }
  }

  /** Null: it was refused before it was looked at. */
  async #sent(request: LviRequest): Promise<LviReply | null> {
    try {
      const reply = await this.#the(this.#client).lvi(request);
      this.#count(replyWords(reply));
      return reply;
    } catch (error) {
      this.#refused(error);
      return null;
    }
  }

  /** Throws an error that the server has not sent. */
  #refused(error: unknown): void {
    const [, status = "", body = ""] = /^(\d+): (.*)$/s.exec(error instanceof Error ? error.message : "") ?? [];
    if (status === "") throw error;
    this.#count(errorWords(Number(status), body));
  }

  #count(words: string): void {
    if (!NO_ROOM.has(words) && !OUTCOMES.has(words)) throw new Error(`an answer of turn ${this.#turns} was ${words}`);
    this.#answers[words] = (this.#answers[words] ?? 0) + 1;
  }

  #the<T>(what: T | null): T {
    if (what === null) throw new Error("the soak has not started");
    return what;
  }
}

function replyWords(reply: LviReply): string {
  if (reply.kind === "executed") return `executed ${reply.outcome.kind}`;
  return reply.kind === "refused" ? `refused ${reply.code}` : reply.kind;
}

function errorWords(status: number, body: string): string {
  return `${status} ${(JSON.parse(body) as { readonly error: { readonly code: string } }).error.code}`;
}
