/**
 * The decisions of `radical dev`: when it builds, and which build serves. A session starts nothing itself. It asks its ports, for
 * one thing after the other.
 */
import { isDeepStrictEqual } from "node:util";
import { type AppBuild, EntryError, MisfitError } from "@radical/app";
import { CommandError, messageOf } from "@radical/app/command-error";
import type { BuildState } from "./build-state.ts";
import type { DevEvent } from "./dev-events.ts";

export interface Built {
  /** Null: it has errors. */
  readonly app: AppBuild | null;
  readonly state: BuildState;
}

export interface SessionPorts {
  /** `serving`: the module that serves meanwhile. Throws for what can't be built at all, or must not serve. */
  build(changed: readonly string[], serving: string | null): Promise<Built>;
  /** Saves are told from now on. Called once, after the first build. */
  watch(): void;
  /** Requests are answered with the state of the build from now on. */
  wait(): Promise<void>;
  /** Starts the server, or gives it the module: locations run no module that it does not have. */
  prepare(app: AppBuild): Promise<void>;
  /** Locations serve from now on. Throws a CommandError for a Worker that can't be started. */
  open(app: AppBuild): Promise<void>;
  /** Locations serve this build in place of an earlier one, which goes on serving if this throws. */
  reload(app: AppBuild): Promise<void>;
}

export type SessionState =
  /** No build serves yet; one is being made or started. */
  | { readonly kind: "building" }
  /** No build serves, since the last one has errors. */
  | { readonly kind: "waiting_for_build" }
  | { readonly kind: "serving"; readonly app: AppBuild }
  /** It has ended. */
  | { readonly kind: "failed"; readonly error: unknown };

export interface SessionOptions {
  readonly ports: SessionPorts;
  /** Whether it waits for saves. If not, whatever goes wrong ends it. */
  readonly isWatching: boolean;
  readonly onEvent: (event: DevEvent) => void;
}

export class DevSession {
  readonly #ports: SessionPorts;
  readonly #isWatching: boolean;
  readonly #onEvent: (event: DevEvent) => void;
  readonly #ready = Promise.withResolvers<void>();
  #state: SessionState = { kind: "building" };
  #build: BuildState = { kind: "building" };
  #turn: Promise<unknown> = Promise.resolve();
  #watches = false;

  constructor({ ports, isWatching, onEvent }: SessionOptions) {
    this.#ports = ports;
    this.#isWatching = isWatching;
    this.#onEvent = onEvent;
    // A session that is ended before anybody waits for it has nobody to tell.
    this.#ready.promise.catch(() => undefined);
  }

  get state(): SessionState {
    return this.#state;
  }

  /** How the last build ended. */
  get build(): BuildState {
    return this.#build;
  }

  /** The build that serves. Throws while there is none. */
  get app(): AppBuild {
    if (this.#state.kind !== "serving") throw new Error(`No build serves: the session is ${this.#state.kind}.`);
    return this.#state.app;
  }

  /** Makes the first build. Resolves once requests are served, and rejects if the session ends before. */
  start(): Promise<void> {
    void this.inTurn(() => this.#make([]));
    return this.#ready.promise;
  }

  /** These files have changed. Resolves when what came of it serves, or its errors were told. */
  saved(changed: readonly string[]): Promise<void> {
    return this.inTurn(() => this.#make(changed));
  }

  /** Does this between builds. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Nothing more is told or begun. */
  end(error: unknown): void {
    if (this.#state.kind === "failed") return;
    this.#state = { kind: "failed", error };
    this.#ready.reject(error);
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  async #make(changed: readonly string[]): Promise<void> {
    if (this.#hasEnded()) return;
    const startedAtMs = performance.now();
    const app = await this.#buildOf(changed);
    if (this.#hasEnded()) return;
    this.#watch();
    switch (this.#state.kind) {
      case "serving":
        if (app !== null) await this.#reload(app, this.#state.app, startedAtMs);
        return;
      case "building":
        return app === null ? this.#wait() : this.#open(app);
      case "waiting_for_build":
        return app === null ? undefined : this.#open(app);
      case "failed":
    }
  }

  /** Null: it has errors, which were told. */
  async #buildOf(changed: readonly string[]): Promise<AppBuild | null> {
    const isFirst = this.#state.kind === "building";
    try {
      const { app, state } = await this.#ports.build(changed, this.#serving());
      this.#build = state;
      return app;
    } catch (error) {
      // The developer can correct the application's Worker and page, and types that stored data does not fit. All else is a fault.
      const isCorrectable = error instanceof EntryError || error instanceof MisfitError;
      if (isFirst && !(this.#isWatching && isCorrectable)) this.end(error);
      else this.#tell(error);
      return null;
    }
  }

  async #open(app: AppBuild): Promise<void> {
    this.#state = { kind: "building" };
    try {
      await this.#ports.prepare(app);
    } catch (error) {
      return this.end(error);
    }
    if (this.#hasEnded()) return;
    try {
      await this.#ports.open(app);
    } catch (error) {
      // A Worker of the application's own may have errors that show only now.
      if (!this.#isWatching || !(error instanceof CommandError)) return this.end(error);
      this.#tell(error);
      return this.#wait();
    }
    if (this.#hasEnded()) return;
    this.#state = { kind: "serving", app };
    this.#ready.resolve();
  }

  async #reload(app: AppBuild, current: AppBuild, startedAtMs: number): Promise<void> {
    if (isServed(app, current)) return;
    try {
      await this.#ports.reload(app);
    } catch (error) {
      return this.#tell(error);
    }
    if (this.#hasEnded()) return;
    this.#state = { kind: "serving", app };
    const ms = Math.round(performance.now() - startedAtMs);
    this.#onEvent({ event: "serving", module: app.manifest.module, ms });
  }

  async #wait(): Promise<void> {
    if (!this.#isWatching)
      return this.end(
        new CommandError("build_failed", "The application has errors.", "Correct them, and start radical dev again."),
      );
    this.#state = { kind: "waiting_for_build" };
    try {
      await this.#ports.wait();
    } catch (error) {
      this.end(error);
    }
  }

  #watch(): void {
    if (!this.#isWatching || this.#watches) return;
    this.#watches = true;
    this.#ports.watch();
  }

  #tell(error: unknown): void {
    if (this.#hasEnded()) return;
    this.#build = {
      kind: "failed",
      words: "an error",
      serving: this.#serving(),
      diagnostics: [],
      frames: [messageOf(error)],
    };
    this.#onEvent(eventOfFailure(error));
  }

  #serving(): string | null {
    return this.#state.kind === "serving" ? this.#state.app.manifest.module : null;
  }

  /** Asked again after each wait: a session may end meanwhile. */
  #hasEnded(): boolean {
    return this.#state.kind === "failed";
  }
}

/** Whether locations that run the one need no reload for the other. */
function isServed(built: AppBuild, current: AppBuild): boolean {
  return (
    built.manifest.module === current.manifest.module &&
    built.worker === current.worker &&
    isDeepStrictEqual(built.assets, current.assets)
  );
}

function eventOfFailure(error: unknown): DevEvent {
  if (error instanceof CommandError)
    return { event: "failed", code: error.code, message: error.message, hint: error.hint };
  return {
    event: "failed",
    code: "internal_error",
    message: messageOf(error),
    hint: "The last good build goes on serving.",
  };
}
