/**
 * Back to a version that served before, with the module that it runs: first the primary has that module again, then the version
 * answers a request, then it serves.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "@radical/app/command-error";
import { type Project, storedTypesOf } from "@radical/app";
import {
  untilIndexesBuilt,
  type AdminAddress,
  type DeploymentKey,
  indexStatuses,
  moduleContent,
  registerModule,
  storedModule,
} from "@radical/admin";
import { checkDeployedTypes } from "./deployed-types.ts";
import { versionToServe } from "./deployments.ts";
import { annotationsOf } from "./edge/deployment-record.ts";
import type { OpenEdge } from "./edge/open-edge.ts";
import { smoke } from "./edge/smoke.ts";
import type { PlannedStep, Step } from "./steps.ts";

export interface RollbackOptions {
  readonly project: Project;
  readonly edge: OpenEdge;
  /** A deployment or a version; null: the one before. */
  readonly to: string | null;
  /** The primary as it is: what a version must have been made for. */
  readonly primary: {
    readonly description: string;
    readonly admin: AdminAddress;
    /** The key that locations sign with. Throws a CommandError if it is not given. */
    readonly key: () => DeploymentKey;
  };
  /** For the smoke request; null: no host is known. */
  readonly origin: string | null;
  /** Whether stored items may misfit the types of that version. */
  readonly acceptMisfits: boolean;
  /** Told what is not known. */
  readonly note: (words: string) => void;
  readonly wait?: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** What a rollback would do. Throws a CommandError if it can't be done. */
export async function planRollback(options: RollbackOptions): Promise<readonly PlannedStep[]> {
  const { project, edge, primary, origin, signal } = options;
  const key = primary.key();
  const { live, wanted } = await versionToServe(edge, options.to);
  const { id, record } = wanted;
  if (record === null) {
    throw new CommandError(
      "not_by_radical",
      `Version ${id} was not made by radical deploy, so its module is not known.`,
      "Choose another one: `radical deployments`.",
    );
  }
  if (record.primary !== primary.description) {
    throw new CommandError(
      "other_primary",
      `Version ${id} was made for another primary, ${record.primary}. The present one is ${primary.description}, so that version would show other data.`,
      "Go back to that primary by `radical deploy`, if it still runs.",
    );
  }
  const kept = await moduleContent(primary.admin, record.module);
  const content = kept ?? (await storedModule(project.root, record.module));
  if (content === null) {
    throw new CommandError(
      "module_gone",
      `The primary has collected the module ${record.module.slice(0, SHOWN)} of version ${id}, and it was not deployed from this machine.`,
      "Check out the sources of that deployment and run `radical deploy`.",
    );
  }
  if (live.id !== id && !options.acceptMisfits) {
    const types = storedTypesOf(content.wasm);
    const serving = live.record?.module ?? null;
    if (types !== null)
      await checkDeployedTypes({
        admin: primary.admin,
        project: project.root,
        serving,
        module: record.module,
        types,
        note: options.note,
      });
  }
  const module: Step = {
    name: "module",
    title: "Module at the primary",
    half: "edge",
    ifFailed: STILL_SERVES,
    plan: () => Promise.resolve([]),
    apply: async () => {
      // Tasks, schedules and new workflows run on the module that was registered last.
      await registerModule(primary.admin, record.module, content, null);
      // An index that no build has named for long is built anew.
      await untilIndexesBuilt({ indexes: content.indexes, ask: () => indexStatuses(primary.admin) });
      return record.module.slice(0, SHOWN);
    },
  };
  const beside: Step = {
    name: "smoke",
    title: "Smoke request",
    half: "edge",
    ifFailed: STILL_SERVES,
    plan: () => Promise.resolve([]),
    apply: async () => {
      if (origin === null) return "left out: no route of wrangler.jsonc names a host for /api/";
      await edge.versions.serve({ [live.id]: 100, [id]: 0 }, `not serving yet: ${record.deployment}`);
      const wait = options.wait ?? ((ms: number) => sleep(ms, undefined, signal === undefined ? {} : { signal }));
      const { deployment } = record;
      const answer = await smoke({
        origin,
        worker: edge.worker,
        version: id,
        deployment,
        key,
        wait,
        ...(signal === undefined ? {} : { signal }),
      });
      return `${answer.location}, LVI round trip ${answer.primaryMs} ms`;
    },
  };
  const serve: Step = {
    name: "switch",
    title: "Requests go to that version",
    half: "edge",
    ifFailed: "The version that served before may still serve.",
    plan: () => Promise.resolve([]),
    apply: async () => {
      await edge.versions.serve({ [id]: 100 }, `rollback: ${annotationsOf(record).message}`);
      return `${record.deployment}, version ${id}`;
    },
  };
  if (live.id === id) return [];
  const what = `version that ${edge.worker} serves`;
  const detail = `${live.record?.deployment ?? live.id} → ${record.deployment}, module ${record.module.slice(0, SHOWN)}`;
  return [
    {
      step: module,
      changes:
        kept !== null
          ? []
          : [{ kind: "make", what: `module ${record.module.slice(0, SHOWN)} at the primary`, detail: "" }],
    },
    { step: beside, changes: [] },
    { step: serve, changes: [{ kind: "change", what, detail }] },
  ];
}

/** Hexadecimal digits of a hash, for people. */
const SHOWN = 12;
const STILL_SERVES = "The version that served before goes on serving.";
