/** The answers of a running `radical dev` to the page of its dashboard. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AccessPattern, HandlerReport, PlanReport } from "@radical/analyzer";
import {
  API_PATH,
  callPath,
  type ContentionReport,
  type DashboardApp,
  type DashboardCalled,
  type DashboardCalls,
  type DashboardHandler,
  type DashboardPattern,
  type DashboardRecords,
  type DashboardState,
  type HandlerManifest,
  objectMethod,
} from "@radical/protocol";
import type { AppBuild, Compilation, Location } from "@radical/app";
import { CommandError, messageOf } from "@radical/app/command-error";
import { LOCATION_HEADER } from "@radical/local";
import type { BuildState } from "./build-state.ts";
import type { Control } from "./control-server.ts";
import type { DashboardCaches } from "./dashboard-caches.ts";
import type { DashboardData } from "./dashboard-data.ts";
import type { DashboardReplays } from "./dashboard-replays.ts";
import type { DashboardOptions } from "./dashboard-server.ts";
import type { DashboardTasks } from "./dashboard-tasks.ts";
import type { DashboardWorkflows } from "./dashboard-workflows.ts";
import { CENTRAL } from "./dev-options.ts";
import type { LifeRing } from "./life-ring.ts";
import { type DevFaults, NO_DEV_FAULTS, NO_SERVICE_FAULTS, readDevFaultChange } from "./service-faults.ts";

const TOKEN_BYTES = 18;
/** How soon a change of the state is told: several are told as one. */
const STATE_MS = 100;

export interface DashboardPorts {
  readonly root: string;
  readonly locations: readonly Location[];
  readonly central: boolean;
  readonly lives: LifeRing;
  readonly build: () => BuildState;
  /** Of the last good build; null: there is none. */
  readonly report: () => Compilation | null;
  /** The build that serves; null: none does. */
  readonly app: () => AppBuild | null;
  readonly control: () => Control | null;
  /** Origin of the application; null: it serves nowhere yet. */
  readonly url: () => string | null;
  readonly data: DashboardData;
  readonly caches: DashboardCaches;
  readonly replays: DashboardReplays;
  readonly tasks: DashboardTasks;
  readonly workflows: DashboardWorkflows;
  readonly records: () => DashboardRecords;
  readonly contention: () => Promise<ContentionReport>;
}

export class Dashboard {
  readonly token = randomBytes(TOKEN_BYTES).toString("base64url");
  readonly #ports: DashboardPorts;
  readonly #watchers = new Set<() => void>();
  /** Calls under way by location. */
  readonly #open = new Map<string, number>();
  #isServerUp = false;
  #restarts = 0;
  /** A change is about to be told. */
  #isChanging = false;

  constructor(ports: DashboardPorts) {
    this.#ports = ports;
  }

  /** The needs of its server. */
  get options(): DashboardOptions {
    const { lives, data, caches, replays, tasks, workflows, records, contention } = this.#ports;
    return {
      token: this.token,
      lives,
      state: () => this.#state,
      onState: (changed) => {
        this.#watchers.add(changed);
        return () => this.#watchers.delete(changed);
      },
      contention,
      records,
      replay: (question) => replays.replay(question),
      tasks,
      workflows,
      dev: {
        app: () => this.#app(),
        changeFaults: (change) => this.#changeFaults(change),
        moveTime: (byMs) => this.#control.moveTime(byMs),
        call: (calls) => this.#call(calls),
        data: (question) => data.page(question, this.#served.manifest),
        write: (change) => data.write(change, this.#served.manifest),
        cached: (question) => caches.look(question),
      },
    };
  }

  /** The state has changed. */
  changed(): void {
    if (this.#isChanging) return;
    this.#isChanging = true;
    const tell = (): void => {
      this.#isChanging = false;
      for (const watcher of this.#watchers) watcher();
    };
    setTimeout(tell, STATE_MS).unref();
  }

  serverChanged(isUp: boolean, restarted: boolean): void {
    this.#isServerUp = isUp;
    if (restarted) this.#restarts++;
    this.changed();
  }

  /** A request has come for a location, or for the first one. Returns what to call at its end. */
  opened(location: string | null): () => void {
    const name = location ?? this.#ports.locations[0]?.name ?? "";
    // A client can name any.
    if (!this.#ports.locations.some((known) => known.name === name)) return () => undefined;
    const count = (by: number): void => {
      this.#open.set(name, (this.#open.get(name) ?? 0) + by);
      this.changed();
    };
    count(1);
    return () => count(-1);
  }

  get #served(): AppBuild {
    const app = this.#ports.app();
    if (app === null)
      throw new CommandError(
        "not_serving",
        "No build serves yet.",
        "Correct the sources: radical dev shows the errors.",
      );
    return app;
  }

  get #control(): Control {
    const control = this.#ports.control();
    if (control === null) throw new CommandError("starting", "radical dev has not started yet.", "Wait a moment.");
    return control;
  }

  get #state(): DashboardState {
    const { locations, central, control, app, build, lives } = this.#ports;
    const faults: DevFaults = control()?.faults() ?? NO_DEV_FAULTS;
    const state = build();
    return {
      v: 1,
      kind: "state",
      source: { kind: "dev" },
      module: app()?.manifest.module ?? null,
      build: { kind: state.kind, words: state.kind === "failed" ? state.words : "" },
      locations: locations.map(({ name, roundTripMs, lossPercent = 0 }) => ({
        name,
        roundTripMs: faults.distances[name]?.roundTripMs ?? roundTripMs,
        lossPercent: faults.distances[name]?.lossPercent ?? lossPercent,
        isCentral: central && name === CENTRAL,
        isCut: faults.partitioned.includes(name),
        open: this.#open.get(name) ?? 0,
      })),
      primary: { down: faults.primaryDown, isUp: this.#isServerUp, restarts: this.#restarts },
      dropFollowups: faults.dropFollowups,
      services: Object.keys(app()?.manifest.services ?? {}).map((name) => ({
        name,
        ...(faults.services[name] ?? NO_SERVICE_FAULTS),
      })),
      time: control()?.time() ?? null,
      livesLeftOut: lives.leftOut,
    };
  }

  async #changeFaults(change: unknown): Promise<DevFaults> {
    const control = this.#control;
    const faults = await control.change(readDevFaultChange(change, control.locations, this.#served.manifest));
    this.changed();
    return faults;
  }

  async #app(): Promise<DashboardApp> {
    const { manifest } = this.#served;
    const { application, module, records, named = {}, tables } = manifest;
    const handlers = Object.entries(manifest.handlers).map(([name, handler]) => this.#handler(name, handler));
    return {
      application,
      module,
      url: this.#ports.url() ?? "",
      handlers: await Promise.all(handlers),
      tables: Object.keys(tables).toSorted(),
      records,
      named,
    };
  }

  async #handler(name: string, handler: HandlerManifest): Promise<DashboardHandler> {
    const report = this.#ports.report()?.handlers.find((known) => known.name === name) ?? null;
    const { parameters, result, plan, readOnly, speculative = false, description = null, file, line } = handler;
    return {
      name,
      parameters,
      result,
      plan,
      readOnly,
      speculative,
      description,
      file,
      line,
      reads: patternsOf(report?.reads ?? []),
      writes: patternsOf(report?.writes ?? []),
      givenBy: report?.plan.kind === "given" ? report.plan.function.name : null,
      transformations: (report?.transformations ?? []).map(({ kind, words, span, steps, makesWriter }) => {
        return { kind, words, place: `${span.file}:${span.line}`, steps, makesWriter };
      }),
      steps: report?.steps ?? { handler: null, readWriteSet: null },
      reason: report === null ? null : reasonOf(report.plan),
      slice: report?.rwSource ?? null,
      source: await declarationIn(join(this.#ports.root, file), line),
      keptLines: report === null || report.rwSource === null ? [] : keptLines(report),
    };
  }

  async #call({ handler, args, sends }: DashboardCalls): Promise<DashboardCalled> {
    const url = this.#ports.url();
    if (url === null) throw new CommandError("starting", "radical dev has not started yet.", "Wait a moment.");
    const { locations } = this.#control;
    const { path, body } = requestOf(handler, args);
    for (const { place } of sends)
      if (!locations.includes(place))
        throw new CommandError(
          "unknown_location",
          `The location "${place}" does not exist.`,
          `Name one of these: ${locations.join(", ")}.`,
        );
    return {
      answers: await Promise.all(
        sends.map(async ({ place, key, authorization }) => {
          const sinceMs = performance.now();
          const took = (): number => Math.round((performance.now() - sinceMs) * 10) / 10;
          try {
            const response = await fetch(url + path, {
              method: "POST",
              body,
              headers: {
                "content-type": "application/json",
                [LOCATION_HEADER]: place,
                ...(key === null ? {} : { "idempotency-key": key }),
                ...(authorization === null ? {} : { authorization }),
              },
            });
            const text = await response.text();
            const tookMs = took();
            const told = (name: string): string | null => response.headers.get(name);
            const execution = told("x-radical-execution");
            return { place, status: response.status, body: text, execution, path: told("x-radical-path"), tookMs };
          } catch (error) {
            return { place, status: 0, body: messageOf(error), execution: null, path: null, tookMs: took() };
          }
        }),
      ),
    };
  }
}

/** The text goes on as it is, so that large numbers keep their digits. The id of an object stands in the path. */
function requestOf(handler: string, args: string): { readonly path: string; readonly body: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(args);
  } catch (error) {
    throw new CommandError(
      "invalid_json",
      `The arguments are not JSON: ${messageOf(error)}`,
      'Write for example {"name": "ann"}',
    );
  }
  if (objectMethod(handler) === null) return { path: `${API_PATH}${encodeURIComponent(handler)}`, body: args };
  const called = callPath(handler, parsed);
  return { path: called.path, body: JSON.stringify(called.args) };
}

/** The lines of a declaration up to the first that begins with its closing bracket; null: the file can't be read. */
async function declarationIn(file: string, line: number): Promise<string | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  const lines = text.split("\n").slice(line - 1);
  const indent = /^\s*/.exec(lines[0] ?? "")?.[0] ?? "";
  const end = lines.findIndex((candidate, at) => at > 0 && candidate.startsWith(`${indent}}`));
  return lines.slice(0, end < 0 ? 1 : end + 1).join("\n");
}

/** Why the handler does not run beside its request to the primary; null: its developer has said so, or it does. */
function reasonOf(plan: PlanReport): string | null {
  if (plan.kind === "recorded") return plan.reason.message;
  return plan.kind === "near-storage" && plan.keptBy !== null ? plan.keptBy.words : null;
}

/** The kept lines of the handler's own file. Functions that it calls may stand in others. */
function keptLines({ file, line, reads, writes, explanations }: HandlerReport): readonly number[] {
  const kept = [...reads, ...writes, ...explanations].filter(({ span }) => span.file === file);
  return [...new Set(kept.map(({ span }) => span.line - line))].filter((at) => at >= 0).toSorted((a, b) => a - b);
}

/** Each once; dependent if one of its accesses is. */
function patternsOf(accesses: readonly AccessPattern[]): readonly DashboardPattern[] {
  const found = new Map<string, boolean>();
  for (const { pattern, dependent } of accesses) found.set(pattern, dependent || found.get(pattern) === true);
  return Array.from(found, ([pattern, isDependent]) => ({ pattern, isDependent }));
}
