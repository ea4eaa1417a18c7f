/** What is looked at before anything is planned: whatever would fail later for a reason that is known by then. */
import { stat } from "node:fs/promises";
import { RadicalError } from "@radical/protocol";
import {
  type AppBuild,
  buildApp,
  countDiagnostics,
  framesOf,
  leftOutLines,
  startCompiler,
  IGNORE_FILE,
  type StaticFile,
  type Project,
  counted,
} from "@radical/app";
import { CommandError, EXIT_FALLBACK } from "@radical/app/command-error";

/**
 * What Cloudflare's pages of November 2026 say that it takes of a Worker with every plan, not compressed. The number may change there,
 * so a larger Worker only gets a hint: Cloudflare refuses it before anything serves.
 */
const STATED_BUNDLE_BYTES = 64 * 1024 * 1024;
/** wrangler itself refuses more. */
const MAX_FILE_BYTES = 25 * 1024 * 1024;
const MAX_FILES = 100_000;
const FREE_FILES = 20_000;

export interface CheckedBuild {
  readonly app: AppBuild;
  readonly handlers: number;
  /** Of the Worker with its modules. */
  readonly bundleBytes: number;
  /** What the developer should know, though it stops nothing. */
  readonly hints: readonly string[];
}

/** Builds for deployment. Throws a CommandError for what can't be deployed. */
export async function checkedBuild(project: Project, isStrict: boolean, colours: boolean): Promise<CheckedBuild> {
  const compiler = await startCompiler({ colours });
  try {
    const { app, report } = await buildApp(project, compiler, { colours });
    if (app === null) {
      const { errors } = countDiagnostics(report.diagnostics);
      const message = `${framesOf(report, "error").join("\n\n")}\n\nthe handlers have ${counted(errors, "error")}`;
      throw new CommandError("build_failed", message, "Correct them. Nothing was deployed.");
    }
    const fallen = report.handlers.filter(({ plan }) => plan.kind === "recorded" || plan.kind === "near-storage");
    if (isStrict && fallen.length > 0) {
      throw new CommandError(
        "strict",
        `The option deploy.strict is set, and these handlers are neither sliced nor given: ${fallen.map(({ name }) => name).join(", ")}.`,
        "See `radical analyze --explain`, or leave out strict.",
        { exitCode: EXIT_FALLBACK },
      );
    }
    await checkDeterminism(app);
    const bundleBytes = sizeOf(app);
    const files = app.assets === null ? 0 : await checkedFiles(app.assets.files);
    const paid =
      files > FREE_FILES ? [`there are ${files} static files: Cloudflare takes that with the paid plan only`] : [];
    const hints = [...sizeHints(bundleBytes), ...paid, ...leftOutLines(app.leftOutFiles)];
    return { app, handlers: report.handlers.length, bundleBytes, hints };
  } finally {
    await compiler.close();
  }
}

/** As the LVI server will check it: metered, within its limits, and under the hash of its bytes. */
async function checkDeterminism({ manifest, content }: AppBuild): Promise<void> {
  // It is large: only who deploys waits for it.
  const { checkModule } = await import("@radical/lvi-server");
  try {
    checkModule(manifest.module, content);
  } catch (error) {
    if (!(error instanceof RadicalError)) throw error;
    throw new CommandError("module_refused", error.message, error.hint, { cause: error });
  }
}

/** Bytes of the Worker with its modules, as they are uploaded. */
function sizeOf({ worker, content, manifest }: AppBuild): number {
  const parts = [worker, content.wasm, content.rwWasm, JSON.stringify(manifest)];
  return parts.map((part) => Buffer.byteLength(part)).reduce((sum, one) => sum + one, 0);
}

export function sizeHints(bytes: number): readonly string[] {
  if (bytes <= STATED_BUNDLE_BYTES) return [];
  return [
    `the Worker has ${megabytes(bytes)}, and by Cloudflare's pages of November 2026 it takes ${megabytes(STATED_BUNDLE_BYTES)}: if it refuses, leave out packages, or move large data into tables or static files`,
  ];
}

/** How many static files there are. Throws a CommandError if Cloudflare would not take them. */
export async function checkedFiles(files: readonly StaticFile[]): Promise<number> {
  // wrangler leaves out what it names.
  if (files.some(({ name }) => name === IGNORE_FILE)) return 0;
  const large: string[] = [];
  for (const { name, path } of files) {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) large.push(`${name} (${megabytes(size)})`);
  }
  if (large.length === 0 && files.length <= MAX_FILES) return files.length;
  throw new CommandError(
    "static_files_too_large",
    large.length === 0
      ? `The application has ${files.length} static files, and Cloudflare takes ${MAX_FILES}.`
      : `Cloudflare takes static files of at most ${megabytes(MAX_FILE_BYTES)} each. These are larger: ${large.join(", ")}.`,
    `Serve them from elsewhere, R2 for example, or leave them out: a file ${IGNORE_FILE} in their folder names them.`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
