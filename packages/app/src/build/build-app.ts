/** Builds an application: sources → WebAssembly and report → module → manifest, Worker, types and client. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { Analysis, BuildResult, Diagnostic } from "@radical/analyzer";
import {
  BLOB_HANDLERS,
  BLOBS_PATH,
  type HandlerPlan,
  handlersWith,
  hasBlobs,
  type Manifest,
  type ModuleContent,
  secretsAmong,
  SERVICE_PATH,
  terminalText,
} from "@radical/protocol";
import { abiOf, moduleHash } from "@radical/wasm-host";
import type { ResolvedConfig } from "../config/config.ts";
import type { NotFound } from "../config/schema.ts";
import { CommandError, messageOf } from "../command-error.ts";
import type { Project } from "../config/load-config.ts";
import { bundleEntry, EntryError } from "./bundle-entry.ts";
import { bundlePage } from "./bundle-page.ts";
import { bundleAppWorker } from "./bundle.ts";
import { clientForPages, generateClient } from "./client.ts";
import type { AnalysisReport, Compilation, Compiler } from "./compile.ts";
import { discoverSources } from "./discover-sources.ts";
import { generateHandlerTypes } from "./handler-types.ts";
import { generateOpenApi } from "./openapi.ts";
import { findStaticFiles, type LeftOutFile, type StaticFile, type StaticFiles } from "./static-files.ts";
import { withStoredTypes } from "./stored-types-section.ts";
import { generateWorkerTypes } from "./worker-types.ts";

export interface AppBuild {
  readonly manifest: Manifest;
  readonly content: ModuleContent;
  /** The bundle that a location runs. */
  readonly worker: string;
  /** Null: there is no folder with static files. */
  readonly assets: Assets | null;
  /** Files of that folder that are neither served nor deployed. */
  readonly leftOutFiles: readonly LeftOutFile[];
  /** Null: there is no entry of the application's own, and the bundle is the same for all such applications. */
  readonly workerTypes: string | null;
  /** `handlers.d.ts`. */
  readonly types: string;
  /** `client.ts`. */
  readonly client: string;
  /** `openapi.json`. */
  readonly openApi: string;
}

/** Static files, served where no path of the handlers is meant. */
export interface Assets {
  /** Absolute: the application's own folder, or one that stands for it. */
  readonly folder: string;
  readonly notFound: NotFound;
  /** Paths that files never answer. */
  readonly workerFirst: readonly string[];
  readonly files: readonly StaticFile[];
}

export interface BuildOutcome {
  /** Null: the diagnostics tell why. */
  readonly app: AppBuild | null;
  readonly report: Compilation;
  /** Folders with sources, relative to the project. */
  readonly folders: readonly string[];
  /** Folders with static files, likewise: the first one may not be there. */
  readonly assetFolders: readonly string[];
}

export interface BuildOptions {
  /** Default true. A build that is only looked at, or lasts until the next save, needs no fast modules. */
  readonly optimize?: boolean;
  /** Default true; whether the application's own Worker is bundled, if it has one. */
  readonly bundle?: boolean;
  /** Default true; whether the primary hides parameters of the type `Secret`. A benchmark's data has none, and it compares all of it. */
  readonly hidesSecrets?: boolean;
  /** Default false; whether the module of the application's own Worker can be replaced while that runs. */
  readonly isReplaceable?: boolean;
  /** Whether code frames of the Worker's entry have ANSI colours. */
  readonly colours?: boolean;
  /** Default false; whether all that the read/write-set functions keep is to be explained. */
  readonly explain?: boolean;
  /** Default false; whether the reports have the products of the phases that derive the read/write-set functions. */
  readonly emitIr?: boolean;
  /** Called with all that is known before there is WebAssembly, unless there are errors. */
  readonly onAnalyzed?: (analysis: AnalysisReport) => void;
}

/** Throws a CommandError if there is nothing to build. */
export async function buildApp(
  { root, config }: Project,
  compiler: Compiler,
  {
    optimize = true,
    explain = false,
    emitIr = false,
    bundle = true,
    hidesSecrets = true,
    isReplaceable = false,
    colours = false,
    onAnalyzed,
  }: BuildOptions = {},
): Promise<BuildOutcome> {
  const { handlerFiles, sources, folders: handlerFolders } = await discoverSources(root, config.handlers);
  const bundling = bundle ? bundleEntry(root, config.worker, { colours, isReplaceable }) : Promise.resolve(null);
  // It is awaited behind the compiler, also if it fails.
  bundling.catch(() => undefined);
  const report = await compiler.compile(
    { sources, handlerFiles, optimize, explain, emitIr, log: config.log },
    onAnalyzed,
  );
  const findAssets = (): Promise<StaticFiles | null> => findStaticFiles(join(root, config.assets.folder));
  if (!report.ok) {
    const assetFolders = foldersOf(config, await findAssets());
    return { app: null, report, folders: withFoldersOf(config, handlerFolders), assetFolders };
  }
  const entry = await bundling;
  if (bundle && entry === null && report.services.length > 0)
    throw workerLacking(config, report, [posix.dirname(config.worker)]);
  const content = contentOf(config, report, hidesSecrets);
  const manifest = manifestOf(config, report, content);
  const client = generateClient(manifest);
  const { folder: assetFolder, client: clientFile, page: pageEntry } = config.assets;
  const page = bundle && pageEntry !== null ? await bundlePage(root, pageEntry, client, colours) : null;
  // They are static files.
  const made = page === null ? [] : [...page.files];
  if (bundle && clientFile !== null) made.push({ name: clientFile, text: await clientForPages(client) });
  for (const { name, text } of made) await writeForPages(root, posix.join(assetFolder, name), text);
  const folders = withFoldersOf(config, [...handlerFolders, ...(entry?.folders ?? []), ...(page?.folders ?? [])]);
  const staticFiles = await findAssets();
  const assetFolders = foldersOf(config, staticFiles);
  const app: AppBuild = {
    manifest,
    content,
    worker: entry?.worker ?? (await bundleAppWorker()),
    assets: staticFiles === null ? null : assetsOf(root, config, staticFiles, ownPaths(report)),
    leftOutFiles: staticFiles?.leftOut ?? [],
    workerTypes: entry === null ? null : generateWorkerTypes(manifest),
    types: generateHandlerTypes(manifest),
    client,
    openApi: generateOpenApi(manifest),
  };
  return { app, report, folders, assetFolders };
}

/** Writes it only if it has changed, and in its place: a folder of static files is watched for files that come and go. */
async function writeForPages(root: string, file: string, text: string): Promise<void> {
  const path = join(root, file);
  try {
    if ((await readFile(path, "utf8").catch(() => null)) === text) return;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  } catch (error) {
    throw new CommandError(
      "output_not_written",
      `The build can't write ${file}, which pages load: ${messageOf(error)}`,
      "Name another file or folder as assets in radical.config.ts, or make it one that you may write.",
      { cause: error },
    );
  }
}

/** Of a build that has failed by the application's own Worker, or by its page. */
export async function sourceFolders(
  { root, config }: Project,
  { folders: entryFolders }: EntryError,
): Promise<Pick<BuildOutcome, "folders" | "assetFolders">> {
  const { folders } = await discoverSources(root, config.handlers);
  return {
    folders: withFoldersOf(config, [...folders, ...entryFolders]),
    assetFolders: foldersOf(config, await findStaticFiles(join(root, config.assets.folder))),
  };
}

/** Paths that the runtime answers, and static files never. */
function ownPaths({ records, services }: BuildResult): readonly string[] {
  const ofBlobs = hasBlobs(records) ? [BLOBS_PATH, `${BLOBS_PATH}/*`] : [];
  return ["/api/*", ...ofBlobs, ...(services.length > 0 ? [`${SERVICE_PATH}*`] : [])];
}

function assetsOf(root: string, { assets }: ResolvedConfig, { files }: StaticFiles, own: readonly string[]): Assets {
  const { folder, notFound, workerFirst } = assets;
  return { folder: join(root, folder), notFound, workerFirst: [...own, ...workerFirst], files };
}

function foldersOf({ assets: { folder } }: ResolvedConfig, found: StaticFiles | null): readonly string[] {
  return [folder, ...(found?.folders ?? []).map((name) => posix.join(folder, name))];
}

/** One line for each file that is left out. */
export function leftOutLines(leftOut: readonly LeftOutFile[]): readonly string[] {
  return leftOut.map(({ name, reason }) => `the static file ${terminalText(name)} is left out: ${reason}`);
}

/** A Worker or a page may still be written, or be wrong: their folders are looked at in any case. */
function withFoldersOf({ worker, assets: { page } }: ResolvedConfig, folders: readonly string[]): readonly string[] {
  const own = [worker, ...(page === null ? [] : [page])].map((file) => posix.dirname(file));
  return [...new Set([...folders, ...own])].toSorted();
}

/** How the read/write set of a handler is found, in a word. */
export const PLAN_WORDS: Readonly<Record<HandlerPlan, string>> = {
  sliced: "sliced",
  recorded: "record mode",
  given: "given",
  "near-storage": "near storage",
  workflow: "workflow",
};

/** `; record mode: a, b; near storage: c`: the handlers whose set is neither sliced nor given. */
export function fallbackWords(plans: readonly (readonly [name: string, plan: HandlerPlan])[]): string {
  return (["recorded", "near-storage"] as const)
    .map((kind) => [kind, plans.filter(([, plan]) => plan === kind).map(([name]) => name)] as const)
    .filter(([, names]) => names.length > 0)
    .map(([kind, names]) => `; ${PLAN_WORDS[kind]}: ${names.join(", ")}`)
    .join("");
}

/** The diagnostics of a severity, or all, as text with code frames. */
export function framesOf(
  { diagnostics, frames }: AnalysisReport,
  severity?: Diagnostic["severity"],
): readonly string[] {
  return diagnostics
    .filter((found) => severity === undefined || found.severity === severity)
    .map((found) => frames.get(found) ?? found.message);
}

export function countDiagnostics(diagnostics: readonly Diagnostic[]): {
  readonly errors: number;
  readonly warnings: number;
} {
  const count = (severity: Diagnostic["severity"]): number =>
    diagnostics.filter((found) => found.severity === severity).length;
  return { errors: count("error"), warnings: count("warning") };
}

export function plansOf({ handlers }: Analysis): Readonly<Record<string, HandlerPlan>> {
  return Object.fromEntries(handlers.map(({ name, plan }) => [name, plan.kind]));
}

function contentOf({ limits }: ResolvedConfig, report: BuildResult, hidesSecrets: boolean): ModuleContent {
  const { handlers, services, wasm, rwWasm, records } = report;
  const indexes = report.indexes.map(({ name }) => name);
  const rules = [...handlers, ...services].flatMap(({ name, tasks }) =>
    tasks === null ? [] : [[name, tasks] as const],
  );
  const called = services.map(({ name, keyWindowMs, once }) => [name, { keyWindowMs, once }] as const);
  const tasks = rules.length > 0 || handlers.some(({ plan }) => plan.kind === "workflow");
  const secrets = [...handlers, ...services].flatMap(({ name, parameters }) => {
    const names = hidesSecrets ? secretsAmong(parameters) : [];
    return names.length === 0 ? [] : [[name, names] as const];
  });
  const ruled = report.tables.flatMap(({ name, isPrivate, isAudited }) =>
    isPrivate || isAudited ? [[name, { isPrivate, isAudited }] as const] : [],
  );
  const needs = {
    indexes: indexes.length > 0,
    blobs: hasBlobs(records),
    services: services.length > 0,
    tasks,
    secrets: secrets.length > 0,
    tables: ruled.length > 0,
  };
  return {
    abi: abiOf([wasm, rwWasm], needs),
    limits,
    handlers: {
      ...Object.fromEntries(handlers.map(({ name, plan, tables }) => [name, { plan: plan.kind, tables }])),
      ...(hasBlobs(records)
        ? handlersWith(Object.fromEntries(BLOB_HANDLERS.map((name) => [name, "near-storage"])))
        : {}),
    },
    ...(indexes.length > 0 ? { indexes } : {}),
    ...(secrets.length > 0 ? { secrets: Object.fromEntries(secrets) } : {}),
    ...(called.length > 0 ? { services: Object.fromEntries(called) } : {}),
    ...(ruled.length > 0 ? { tables: Object.fromEntries(ruled) } : {}),
    ...(rules.length > 0 ? { tasks: Object.fromEntries(rules) } : {}),
    wasm: withStoredTypes(wasm, { tables: tableTypes(report), records }),
    rwWasm,
  };
}

function servicesOf({ services }: BuildResult): NonNullable<Manifest["services"]> {
  return Object.fromEntries(
    services.map(({ name, description, tasks: _tasks, ...service }) => [
      name,
      { ...service, ...(description === null ? {} : { description }) },
    ]),
  );
}

function workerLacking({ worker }: ResolvedConfig, { services }: BuildResult, folders: readonly string[]): EntryError {
  const names = services.map(({ name }) => name);
  const message = `The application declares services (${names.join(", ")}), and has no Worker of its own that has them: there is no ${worker}. Write it:

  import { createRadical } from "radical:worker";
  export default createRadical({
    services: { ${names[0]}: async (args, { key, env, signal }) => { … } },
  });`;
  return new EntryError("worker_not_bundled", message, worker, folders, undefined);
}

function tableTypes({ tables }: BuildResult): Manifest["tables"] {
  return Object.fromEntries(tables.map(({ name, type }) => [name, type]));
}

function manifestOf({ name, cache }: ResolvedConfig, report: BuildResult, content: ModuleContent): Manifest {
  return {
    format: 1,
    application: name,
    module: moduleHash(content),
    limits: content.limits,
    cache,
    handlers: Object.fromEntries(
      report.handlers.map(({ name: handler, plan, speculative, description, abortCodes, ...rest }) => [
        handler,
        {
          parameters: rest.parameters,
          result: rest.result,
          plan: plan.kind,
          readOnly: rest.readOnly,
          ...(rest.mayEffect ? { mayEffect: true } : {}),
          ...(rest.internal ? { internal: true } : {}),
          ...(rest.tasks === null ? {} : { tasks: rest.tasks }),
          ...(speculative === null ? {} : { speculative: true }),
          ...(description === null ? {} : { description }),
          ...(abortCodes === null ? {} : { abortCodes }),
          file: rest.file,
          line: rest.line,
        },
      ]),
    ),
    ...(report.services.length === 0 ? {} : { services: servicesOf(report) }),
    records: report.records,
    ...(Object.keys(report.named).length === 0 ? {} : { named: report.named }),
    tables: tableTypes(report),
  };
}
