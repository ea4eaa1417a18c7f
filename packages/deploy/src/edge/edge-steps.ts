/**
 * The edge half of a deployment. The version that serves goes on serving until the new one has answered a request:
 *
 *   cache → module → upload (no requests go to it) → smoke request → switch
 *
 * A first deployment, and one that adds Durable Object classes, serves from its upload on: Cloudflare has no other way.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AppBuild,
  blobVarsOf,
  type Project,
  bucketOf,
  type Target,
  type UserConfig,
  type WranglerConfig,
} from "@radical/app";
import { hasBlobs } from "@radical/protocol";
import { CommandError } from "@radical/app/command-error";
import {
  untilIndexesBuilt,
  type DeploymentKey,
  type AdminAddress,
  hasModule,
  indexStatuses,
  registerModule,
  servicesOf,
  storeModule,
} from "@radical/admin";
import { scheduleChanges } from "../planned-effects.ts";
import type { PrimaryHalf } from "../primary-half.ts";
import type { Change, Step } from "../steps.ts";
import { type CloudflareApi, CloudflareError } from "./cloudflare-api.ts";
import type { Account } from "./credentials.ts";
import { AT_ONCE, type DeploymentRecord, RECORD_VARIABLE, annotationsOf } from "./deployment-record.ts";
import { checkDomains, hasRoutes } from "./routes.ts";
import { smoke } from "./smoke.ts";
import { deployedAssets, deployFolder, digestOf, sha256, writeRedirect, writeWorkerFiles } from "./worker-files.ts";
import {
  type BoundName,
  type VersionDetail,
  type WorkerDeployment,
  leadingVersion,
  workerVersions,
} from "./worker-versions.ts";
import { KEY_SECRET, hasWorkersDev, originsOf, wranglerConfigOf } from "./wrangler-config.ts";
import type { Wrangler, WranglerOutput } from "./wrangler.ts";

export interface EdgeContext {
  readonly project: Project;
  readonly target: Target;
  readonly app: AppBuild;
  /** The application's own wrangler configuration. */
  readonly user: UserConfig | null;
  readonly api: CloudflareApi;
  readonly account: Account;
  readonly wrangler: Wrangler;
  readonly primary: PrimaryHalf;
  /** Origin for the smoke request in place of those that routes and workers.dev give. */
  readonly url: string | null;
  /** Of this run. */
  readonly deployment: string;
  readonly wait: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
  /** Hears how far a step is that takes long, in words. */
  readonly onProgress?: (words: string) => void;
}

/** What serves in the end. */
export interface EdgeState {
  readonly worker: string;
  readonly version: string;
  readonly deployment: string;
  readonly urls: readonly string[];
}

export interface EdgeHalf {
  readonly steps: readonly Step[];
  /** Durable Object classes that the upload brings; known when it is planned. */
  newClasses(): readonly string[];
  /** Null before the steps have ended. */
  state(): EdgeState | null;
}

/** What serves before. */
interface Live {
  readonly deployment: WorkerDeployment;
  /** With those before it, the last first. */
  readonly deployments: readonly WorkerDeployment[];
  /** The version that most requests get. */
  readonly version: VersionDetail;
}

/** A version that is as it shall be. */
interface Ready {
  readonly version: string;
  readonly record: DeploymentRecord;
}

export function edgeHalf(context: EdgeContext): EdgeHalf {
  const { target, app, api, account, primary, wrangler } = context;
  const accountPath = `/accounts/${account.id}`;
  const { module } = app.manifest;
  const folder = deployFolder(context.project.root, target);
  const bucket = hasBlobs(app.manifest.records) ? bucketOf(target, context.project.config.blobs.bucket) : null;
  const isCachedInKv = app.manifest.cache.kind === "kv";
  let namespaceId: string | null = null;
  let subdomain: string | null = null;
  let live: Live | null = null;
  let ready: Ready | null = null;
  /** Whether what is to be uploaded serves from then on. */
  let isAtOnce = false;

  const configOf = (record: DeploymentRecord | null, keyId: string): WranglerConfig =>
    wranglerConfigOf(
      {
        name: target.name,
        folder,
        project: context.project.root,
        entry: context.project.config.worker,
        cache: app.manifest.cache,
        cacheNamespaceId: namespaceId,
        assets: deployedAssets(folder, app),
        blobs: bucket === null ? null : { bucket, vars: blobVarsOf(context.project.config.blobs) },
        primary: primary.way(),
        keyId,
        vars: record === null ? {} : { [RECORD_VARIABLE]: JSON.stringify(record) },
      },
      context.user,
    );
  // Its name depends on nothing that is still to be made.
  const worker = configOf(null, "").name ?? target.name;
  const versions = workerVersions(api, account.id, worker);

  /** Null: something of it is made in this deployment. */
  const recordNow = async (): Promise<DeploymentRecord | null> => {
    const key = primary.key();
    if (key === null || (isCachedInKv && namespaceId === null) || !isComplete(primary)) return null;
    const config = configOf(null, key.id);
    const build = await digestOf(app, config, [wrangler.version, sha256(`${key.id}:${key.secret}`)]);
    return {
      deployment: context.deployment,
      module,
      build,
      primary: primary.description,
      triggers: triggersOf(config),
    };
  };

  const isReady = ({ record, bindings }: VersionDetail, wanted: DeploymentRecord, key: DeploymentKey): boolean =>
    record?.build === wanted.build && driftOf(bindings, configOf(record, key.id)).length === 0;

  const readLive = async (): Promise<Live | null> => {
    const deployments = (await versions.deployments()) ?? [];
    const [deployment] = deployments;
    const leading = deployment === undefined ? null : leadingVersion(deployment);
    return deployment === undefined || leading === null
      ? null
      : { deployment, deployments, version: await versions.detail(leading) };
  };

  /** One that an earlier run has uploaded, whether it serves or not. */
  const findReady = async (wanted: DeploymentRecord, key: DeploymentKey): Promise<Ready | null> => {
    if (live === null) return null;
    const ofVersion = (detail: VersionDetail): Ready | null =>
      detail.record !== null && isReady(detail, wanted, key) ? { version: detail.id, record: detail.record } : null;
    const serving = ofVersion(live.version);
    if (serving !== null) return serving;
    const { message } = annotationsOf(wanted);
    const [uploaded] = (await versions.list()).filter((version) => version.message?.endsWith(message) === true);
    return uploaded === undefined ? null : ofVersion(await versions.detail(uploaded.id));
  };

  /** Makes it reachable for those who name it; all others get the version that serves. */
  const beside = async ({ version, record }: Ready): Promise<void> => {
    if (live === null || live.deployment.versions.some(({ id }) => id === version)) return;
    await versions.serve({ [live.version.id]: 100, [version]: 0 }, `not serving yet: ${record.deployment}`);
  };

  /** In words what serves when a step has failed that uploads, or comes after that. */
  const stateWords = (): string => {
    if (live === null) return "Nothing served before; if the Worker is there, it serves.";
    return isAtOnce
      ? "The new version may serve: one that adds Durable Object classes does from its upload on."
      : STILL_SERVES;
  };

  const cacheStep: Step = {
    name: "cache",
    title: "KV namespace of the caches",
    half: "edge",
    ifFailed: STILL_SERVES,
    plan: async () => {
      const listed = await api.list<{ readonly id: string; readonly title: string }>(
        `${accountPath}/storage/kv/namespaces`,
      );
      namespaceId = listed.find(({ title }) => title === target.cacheNamespace)?.id ?? null;
      return namespaceId === null ? [make(`KV namespace ${target.cacheNamespace}`)] : [];
    },
    apply: async () => {
      namespaceId ??= (
        await api.post<{ readonly id: string }>(`${accountPath}/storage/kv/namespaces`, {
          title: target.cacheNamespace,
        })
      ).id;
      return namespaceId;
    },
  };

  const bucketStep = (name: string): Step => ({
    name: "bucket",
    title: "R2 bucket of the blobs",
    half: "edge",
    ifFailed: STILL_SERVES,
    plan: async () => {
      const found = await api.find<{ readonly name: string }>(`${accountPath}/r2/buckets/${name}`);
      return found === null ? [make(`R2 bucket ${name}`)] : [];
    },
    apply: async (changes) => {
      if (changes.length > 0) await api.post(`${accountPath}/r2/buckets`, { name });
      return name;
    },
  });

  const hasServices = Object.keys(app.content.services ?? {}).length > 0;
  const moduleStep: Step = {
    name: "module",
    title: "Module at the primary",
    half: "edge",
    ifFailed: STILL_SERVES,
    plan: async () => {
      const admin = primary.admin();
      const isThere = admin !== null && (await hasModule(admin, module));
      const { indexes = [] } = app.content;
      const built = admin === null || indexes.length === 0 ? [] : await indexStatuses(admin);
      const isBuilt = (index: string): boolean => built.some(({ name, phase }) => name === index && phase === "ready");
      const lacking = indexes.filter((index) => !isBuilt(index));
      const calledAt = admin === null || !hasServices ? null : ((await servicesOf(admin))?.worker ?? null);
      const [origin = null] = hasServices ? await calledOrigins() : [];
      if (hasServices && origin === null)
        throw new CommandError(
          "no_worker_origin",
          "The application has services, and no route of wrangler.jsonc names a host where the primary could call them.",
          "Give the origin of the Worker with --url, or as deploy.url in radical.config.ts.",
        );
      return [
        ...(isThere ? [] : [make(`module ${module.slice(0, SHOWN)} at the primary`)]),
        ...(calledAt === origin ? [] : [make(`calls of services at ${origin}`, "the primary calls them there")]),
        ...lacking.map((index) => make(`index ${index}`, "the primary builds it before the locations serve it")),
        ...(await scheduleChanges(admin, app.content.tasks ?? {})),
      ];
    },
    apply: async () => {
      const admin = administered(primary);
      const { indexes = [] } = app.content;
      const ask = () => indexStatuses(admin);
      const [calledAt = null] = hasServices ? await calledOrigins() : [];
      // Also a module that is there: tasks, schedules and new workflows run on the one that was registered last.
      await registerModule(admin, module, app.content, calledAt);
      const { onProgress, signal } = context;
      await untilIndexesBuilt({
        indexes,
        ask,
        ...(onProgress === undefined ? {} : { told: onProgress }),
        ...(signal === undefined ? {} : { signal }),
      });
      await storeModule(context.project.root, module, app.content);
      return module.slice(0, SHOWN);
    },
  };

  const uploadStep: Step = {
    name: "upload",
    title: "Upload the Worker",
    half: "edge",
    get ifFailed() {
      return stateWords();
    },
    plan: async () => {
      await checkDomains(api, account.id, worker, configOf(null, ""));
      live = await readLive();
      const key = primary.key();
      const wanted = await recordNow();
      isAtOnce = live === null || hasNewClasses(live.version, configOf(null, ""));
      if (live === null) return [make(`Worker ${worker}`, app.assets === null ? "" : "with its static files")];
      ready = wanted === null || key === null ? null : await findReady(wanted, key);
      isAtOnce &&= ready === null;
      if (ready !== null) return [];
      return [
        changeOf(
          worker,
          live.version,
          wanted,
          key === null ? [] : driftOf(live.version.bindings, configOf(live.version.record, key.id)),
        ),
      ];
    },
    apply: async () => {
      const key = keyOf(primary);
      if (ready !== null) {
        await beside(ready);
        return ready.version;
      }
      const record = await recordNow();
      if (record === null) throw new Error("something that was to be made is not there");
      const config = configOf(record, key.id);
      const path = await writeWorkerFiles(folder, app, config);
      await writeRedirect(context.project.root, path);
      const version = await upload(context, path, record, key, isAtOnce);
      ready = { version, record };
      if (!isAtOnce) await beside(ready);
      return version;
    },
  };

  const smokeStep: Step = {
    name: "smoke",
    title: "Smoke request",
    half: "edge",
    get ifFailed() {
      return stateWords();
    },
    plan: async () => {
      subdomain = await subdomainOf(api, accountPath);
      if (hasWorkersDev(configOf(null, "")) && subdomain === null) {
        throw new CommandError(
          "no_workers_dev",
          "The account has no workers.dev name yet, and wrangler.jsonc has no routes.",
          `Choose one at https://dash.cloudflare.com/${account.id}/workers/onboarding.`,
        );
      }
      return [];
    },
    apply: async () => {
      const { version, record } = done(ready);
      const [origin] = urlsOf();
      if (origin === undefined)
        return "left out: no route of wrangler.jsonc names a host for /api/; give one with --url";
      const { wait, signal } = context;
      const { deployment } = record;
      const answer = await smoke({
        origin,
        worker,
        version,
        deployment,
        key: keyOf(primary),
        wait,
        ...(signal === undefined ? {} : { signal }),
      });
      return `${answer.location}, LVI round trip ${answer.primaryMs} ms`;
    },
  };

  const switchStep: Step = {
    name: "switch",
    title: "Requests go to the new version",
    half: "edge",
    get ifFailed() {
      return live === null || isAtOnce
        ? "The new version serves."
        : "The version that served before may still serve, with the routes and schedules of the new one, which is uploaded and has answered.";
    },
    plan: async () => {
      if (live === null) return [];
      const changes: Change[] = [];
      if (ready === null || !servesAlone(live.deployment, ready.version))
        changes.push({ kind: "change", what: `version that ${worker} serves`, detail: splitWords(live.deployment) });
      const config = configOf(null, "");
      const script = `${accountPath}/workers/scripts/${worker}`;
      const onWorkersDev = (await api.find<{ readonly enabled: boolean }>(`${script}/subdomain`))?.enabled;
      const isRight =
        live.version.record?.triggers === triggersOf(config) &&
        hasTriggers(live) &&
        onWorkersDev === hasWorkersDev(config) &&
        (await hasRoutes(api, account.id, worker, config)) &&
        hasSchedules(await api.find<Schedules>(`${script}/schedules`), config);
      if (!isRight) changes.push({ kind: "repair", what: `routes and schedules of ${worker}`, detail: "" });
      return changes;
    },
    apply: async (changes) => {
      const { version, record } = done(ready);
      // First, so that a version which serves has them: a run that is broken off before makes them again.
      if (changes.some(({ kind }) => kind === "repair")) {
        const path = await writeWorkerFiles(folder, app, configOf(record, keyOf(primary).id));
        await wrangler.run(["triggers", "deploy", "--config", path]);
      }
      const current = await readLive();
      if (current === null || !servesAlone(current.deployment, version) || !hasTriggers(current))
        await versions.serve({ [version]: 100 }, annotationsOf(record).message);
      return version;
    },
  };

  /** Where the primary calls services. */
  const calledOrigins = async (): Promise<readonly string[]> => {
    subdomain ??= await subdomainOf(api, accountPath);
    return urlsOf();
  };

  const urlsOf = (): readonly string[] =>
    context.url === null ? originsOf(configOf(null, ""), subdomain) : [context.url];

  const newClasses = (): readonly string[] => {
    if (ready !== null) return [];
    const bound = new Set(live?.version.bindings.map(({ name }) => name));
    const bindings = configOf(null, "").durable_objects?.bindings ?? [];
    const own = bindings.filter(({ name, script_name: script }) => script === undefined && !bound.has(name));
    return [...new Set(own.map(({ class_name: className }) => className))];
  };

  return {
    newClasses,
    steps: [
      ...(isCachedInKv ? [cacheStep] : []),
      ...(bucket === null ? [] : [bucketStep(bucket)]),
      moduleStep,
      uploadStep,
      smokeStep,
      switchStep,
    ],
    state: () =>
      ready === null ? null : { worker, version: ready.version, deployment: ready.record.deployment, urls: urlsOf() },
  };
}

/** Hexadecimal digits of a hash, for people. */
const SHOWN = 12;
const STILL_SERVES = "The version that served before goes on serving.";

function triggersOf(config: WranglerConfig): string {
  return sha256(JSON.stringify(TRIGGER_FIELDS.map((field) => config[field] ?? null)));
}

/** What of a configuration is no part of a version. */
const TRIGGER_FIELDS = ["routes", "route", "workers_dev", "preview_urls", "triggers", "queues", "workflows"] as const;

async function upload(
  { wrangler, project, signal }: EdgeContext,
  config: string,
  record: DeploymentRecord,
  key: DeploymentKey,
  isAtOnce: boolean,
): Promise<string> {
  signal?.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "radical-secrets-"));
  try {
    const secrets = join(folder, "secrets.json");
    await writeFile(secrets, JSON.stringify({ [KEY_SECRET]: key.secret }), { mode: 0o600 });
    const { tag, message } = annotationsOf(record);
    const command = isAtOnce ? ["deploy"] : ["versions", "upload"];
    const words = isAtOnce ? `${AT_ONCE}${message}` : message;
    const { output } = await wrangler.run(
      [...command, "--config", config, "--secrets-file", secrets, "--tag", tag, "--message", words],
      { cwd: project.root },
    );
    return versionOf(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function versionOf(output: readonly WranglerOutput[]): string {
  for (const line of output) {
    const version = line["version_id"];
    if ((line.type === "deploy" || line.type === "version-upload") && typeof version === "string") return version;
  }
  throw new CommandError(
    "wrangler_failed",
    "wrangler has not said which version it has uploaded.",
    "Run the same command again. `npx wrangler versions list` shows the versions.",
  );
}

/** What of a version's bindings is not as the configuration has it, in words. */
export function driftOf(bindings: readonly BoundName[], config: WranglerConfig): readonly string[] {
  const bound = new Map(bindings.map((binding) => [binding.name, binding]));
  const drift: string[] = [];
  const expect = (name: string, isRight: boolean): void => {
    if (!bound.has(name)) drift.push(`${name} is missing`);
    else if (!isRight) drift.push(`${name} is another one`);
  };
  expect(KEY_SECRET, bound.get(KEY_SECRET)?.type === "secret_text");
  for (const [name, value] of Object.entries(config.vars ?? {}))
    if (typeof value === "string") expect(name, bound.get(name)?.text === value);
  for (const { name } of config.durable_objects?.bindings ?? []) expect(name, true);
  for (const { binding, id } of (config["kv_namespaces"] ?? []) as readonly { binding: string; id?: string }[])
    expect(binding, id === undefined || bound.get(binding)?.namespace_id === id);
  for (const { binding, service_id: id } of (config["vpc_services"] ?? []) as readonly {
    binding: string;
    service_id: string;
  }[])
    expect(binding, bound.get(binding)?.service_id === id);
  for (const { binding, bucket_name: bucket } of (config["r2_buckets"] ?? []) as readonly {
    binding: string;
    bucket_name?: string;
  }[])
    expect(binding, bucket === undefined || bound.get(binding)?.bucket_name === bucket);
  return drift;
}

function changeOf(
  worker: string,
  { record }: VersionDetail,
  wanted: DeploymentRecord | null,
  drift: readonly string[],
): Change {
  const what = `Worker ${worker}`;
  if (record === null) return { kind: "replace", what, detail: "its version was not made by radical deploy" };
  if (record.build === wanted?.build) return { kind: "repair", what, detail: drift.join(", ") };
  const detail =
    wanted === null || record.module === wanted.module
      ? "its Worker, static files or configuration have changed"
      : `module ${record.module.slice(0, SHOWN)} → ${wanted.module.slice(0, SHOWN)}`;
  return { kind: "change", what, detail };
}

/** Only a deployment at once can bring them. */
function hasNewClasses({ migrationTag }: VersionDetail, { migrations = [], exports }: WranglerConfig): boolean {
  return exports !== undefined || (migrations.at(-1)?.tag ?? null) !== migrationTag;
}

function servesAlone({ versions }: WorkerDeployment, version: string): boolean {
  return versions.some(({ id, percentage }) => id === version && percentage === 100);
}

/** Whether the routes and schedules of a version that served from its upload on were made: whoever has made them has deployed it again. */
function hasTriggers({ version, deployments }: Live): boolean {
  if (version.message?.startsWith(AT_ONCE) !== true) return true;
  const finished = version.message.slice(AT_ONCE.length);
  return deployments.some(
    (one) =>
      servesAlone(one, version.id) && one.message?.endsWith(finished) === true && !one.message.startsWith(AT_ONCE),
  );
}

interface Schedules {
  readonly schedules: readonly { readonly cron: string }[];
}

/** Those of a configuration that names none are left alone, as wrangler does it. */
function hasSchedules(found: Schedules | null, { triggers }: WranglerConfig): boolean {
  if (triggers?.crons === undefined) return true;
  const wanted = triggers.crons.toSorted();
  const there = (found?.schedules ?? []).map(({ cron }) => cron).toSorted();
  return JSON.stringify(wanted) === JSON.stringify(there);
}

function splitWords({ versions }: WorkerDeployment): string {
  const serving = versions.filter(({ percentage }) => percentage > 0);
  return serving.length < 2 ? "" : "ends the split between two versions";
}

/** The account's name under workers.dev; null: it has none yet. */
export async function subdomainOf(api: CloudflareApi, accountPath: string): Promise<string | null> {
  try {
    return (await api.get<{ readonly subdomain: string | null }>(`${accountPath}/workers/subdomain`)).subdomain;
  } catch (error) {
    if (error instanceof CloudflareError && error.reason === NO_SUBDOMAIN) return null;
    throw error;
  }
}

/** Cloudflare's code for an account without a name under workers.dev. */
const NO_SUBDOMAIN = 10007;

function isComplete(primary: PrimaryHalf): boolean {
  const way = primary.way();
  return way.kind === "url" || Object.values(way.services).every((id) => id !== null);
}

function administered(primary: PrimaryHalf): AdminAddress {
  const admin = primary.admin();
  if (admin === null) throw new Error("the primary has no administrative address");
  return admin;
}

function keyOf(primary: PrimaryHalf): DeploymentKey {
  const key = primary.key();
  if (key === null) throw new Error("the primary has no key");
  return key;
}

function done(ready: Ready | null): Ready {
  if (ready === null) throw new Error("no version was uploaded");
  return ready;
}

function make(what: string, detail = ""): Change {
  return { kind: "make", what, detail };
}
