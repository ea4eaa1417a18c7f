/** Builds for `radical dev`: each is told as it goes, and says which folders it has read. */
import { posix } from "node:path";
import {
  type BuildOutcome,
  buildApp,
  countDiagnostics,
  framesOf,
  plansOf,
  sourceFolders,
  EntryError,
  type AnalysisReport,
  type Compilation,
  type Compiler,
  writeSources,
  DEV_VARS_FILE,
  CONFIG_FILE,
  type Project,
  USER_CONFIG_FILES,
  counted,
} from "@radical/app";
import type { BuildState } from "./build-state.ts";
import type { DevEvent } from "./dev-events.ts";
import type { Built } from "./dev-session.ts";
import { ToldDiagnostics } from "./told-diagnostics.ts";
import { type SourceWatcher, watchSources } from "./watch-sources.ts";

export interface BuilderOptions {
  readonly project: Project;
  readonly compiler: Compiler;
  readonly optimize: boolean;
  readonly colours: boolean;
  readonly onEvent: (event: DevEvent) => void;
}

export class Builder {
  readonly #options: BuilderOptions;
  readonly #told = new ToldDiagnostics();
  /** The folders of the last build, whatever came of it. They are watched. */
  #folders: readonly string[] = [];
  #assetFolders: readonly string[] = [];
  /** Of the last good build. */
  #report: Compilation | null = null;

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  /** Of the last good build; null: there was none. */
  get report(): Compilation | null {
    return this.#report;
  }

  /** `changed` is empty for the first one; `serving`: the module that serves meanwhile. */
  async build(changed: readonly string[], serving: string | null): Promise<Built> {
    const { project, compiler } = this.#options;
    try {
      const outcome = await buildAndTell(project, compiler, changed, this.#told, serving !== null, this.#options);
      ({ folders: this.#folders, assetFolders: this.#assetFolders } = outcome);
      if (outcome.app !== null) this.#report = outcome.report;
      return { app: outcome.app, state: stateOf(outcome, serving) };
    } catch (error) {
      // The application's own Worker or its page can't be bundled, say.
      if (error instanceof EntryError)
        ({ folders: this.#folders, assetFolders: this.#assetFolders } = await sourceFolders(project, error));
      throw error;
    }
  }

  /** Calls for a build on changes of what the last one has read. */
  watch(onSaved: (changed: readonly string[]) => Promise<void>): SourceWatcher {
    const { project, onEvent } = this.#options;
    const watched = (): readonly string[] => [".", ...this.#folders, ...this.#assetFolders];
    const watcher = watchSources(
      project.root,
      // A folder itself: one that was not there is made. Static files are read when they are asked for.
      (path, change) =>
        isReadAtStart(path) ||
        this.#folders.includes(path) ||
        this.#assetFolders.includes(path) ||
        (/\.(ts|tsx|css)$/.test(path) && this.#folders.includes(posix.dirname(path))) ||
        (change === "rename" && this.#assetFolders.includes(posix.dirname(path))),
      (paths) => {
        for (const file of paths.filter(isReadAtStart)) onEvent({ event: "config_changed", file });
        const changed = paths.filter((path) => !isReadAtStart(path));
        if (changed.length === 0) return;
        // A folder that is new is watched before it is read: what comes into it meanwhile is another change.
        watcher.setFolders(watched());
        void onSaved(changed).finally(() => watcher.setFolders(watched()));
      },
    );
    watcher.setFolders(watched());
    return watcher;
  }
}

/** Whether `radical dev` reads the file when it starts, and not again. */
function isReadAtStart(path: string): boolean {
  return [CONFIG_FILE, DEV_VARS_FILE, ...USER_CONFIG_FILES].includes(path);
}

function stateOf({ app, report }: BuildOutcome, serving: string | null): BuildState {
  if (app !== null) return { kind: "good", module: app.manifest.module };
  const { diagnostics } = report;
  const words = counted(countDiagnostics(diagnostics).errors, "error");
  return { kind: "failed", words, serving, diagnostics, frames: framesOf(report, "error") };
}

/** Tells of the build as it goes. `changed` is empty for the first one. */
async function buildAndTell(
  project: Project,
  compiler: Compiler,
  changed: readonly string[],
  told: ToldDiagnostics,
  serving: boolean,
  { onEvent, optimize, colours }: BuilderOptions,
): Promise<BuildOutcome> {
  onEvent({ event: "building", changed });
  const startedAtMs = performance.now();
  const ms = (): number => Math.round(performance.now() - startedAtMs);
  const onAnalyzed = (analysis: AnalysisReport): void => {
    const { diagnostics } = analysis;
    onEvent({ event: "analyzed", plans: plansOf(analysis), ms: ms(), diagnostics, frames: told.untold(analysis) });
  };
  const outcome = await buildApp(project, compiler, {
    optimize,
    isReplaceable: true,
    explain: true,
    colours,
    onAnalyzed,
  });
  if (outcome.app !== null) await writeSources(project, outcome.app);
  const { app, report } = outcome;
  const { diagnostics } = report;
  const frames = told.untold(report);
  if (app === null) {
    onEvent({
      event: "build_failed",
      errors: countDiagnostics(diagnostics).errors,
      serving,
      diagnostics,
      frames,
    });
  } else {
    const leftOut = told.untoldFiles(app.leftOutFiles);
    if (leftOut.length > 0) onEvent({ event: "static_files_left_out", files: leftOut });
    onEvent({
      event: "built",
      module: app.manifest.module,
      plans: plansOf(report),
      ms: ms(),
      diagnostics,
      frames,
    });
  }
  return outcome;
}
