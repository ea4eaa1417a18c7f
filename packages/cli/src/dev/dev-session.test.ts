import { describe, expect, test } from "vitest";
import { type AppBuild, EntryError } from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import type { DevEvent } from "./dev-events.ts";
import { type Built, DevSession, type SessionPorts } from "./dev-session.ts";

const appOf = (module: string, worker = "worker"): AppBuild =>
  ({ manifest: { module }, worker, assets: null }) as unknown as AppBuild;

const good = (module: string, worker?: string): Built => ({
  app: appOf(module, worker),
  state: { kind: "good", module },
});
const bad = (serving: string | null = null): Built => ({
  app: null,
  state: { kind: "failed", words: "1 error", serving, diagnostics: [], frames: ["frame"] },
});
const notBundled = new EntryError("worker_not_bundled", "it can't be bundled", "src/worker.ts", [], null);
const notStarted = new CommandError("worker_not_started", "it throws", "correct it");

/** A session whose ports answer what is given, and write down what they were asked for. */
class Harness {
  readonly asked: string[] = [];
  readonly events: DevEvent[] = [];
  /** Answers of the port `build`, in order. */
  readonly builds: (Built | Error | Promise<Built>)[] = [];
  readonly failures = new Map<"prepare" | "open" | "reload" | "wait", Error>();
  readonly session: DevSession;

  constructor({ isWatching = true }: { readonly isWatching?: boolean } = {}) {
    const perform = (name: "prepare" | "open" | "reload" | "wait", detail = ""): Promise<void> => {
      this.asked.push(`${name} ${detail}`.trim());
      const failure = this.failures.get(name);
      this.failures.delete(name);
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    const ports: SessionPorts = {
      build: async (changed, serving) => {
        this.asked.push(`build ${changed.join()} beside ${serving}`);
        const next = await this.builds.shift();
        if (next === undefined) throw new Error("No build was given.");
        if (next instanceof Error) throw next;
        return next;
      },
      watch: () => void this.asked.push("watch"),
      wait: () => perform("wait"),
      prepare: ({ manifest }) => perform("prepare", manifest.module),
      open: ({ manifest }) => perform("open", manifest.module),
      reload: ({ manifest }) => perform("reload", manifest.module),
    };
    this.session = new DevSession({ ports, isWatching, onEvent: (event) => void this.events.push(event) });
  }

  /** The names of the events since the last time. */
  told(): readonly string[] {
    return this.events.splice(0).map((event) => (event.event === "failed" ? `failed ${event.code}` : event.event));
  }
}

/** All that can begin has begun. */
function underWay(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function servingHarness(...builds: readonly (Built | Error)[]): Promise<Harness> {
  const harness = new Harness();
  harness.builds.push(good("m1"), ...builds);
  await harness.session.start();
  harness.asked.length = 0;
  return harness;
}

describe("the first build", () => {
  test("is good: server first, then locations; saves are told before", async () => {
    const { session, asked, builds } = new Harness();
    expect(session.build).toEqual({ kind: "building" });
    builds.push(good("m1"));
    await session.start();
    expect(asked).toEqual(["build  beside null", "watch", "prepare m1", "open m1"]);
    expect(session.state.kind).toBe("serving");
    expect(session.app.manifest.module).toBe("m1");
    expect(session.build).toEqual({ kind: "good", module: "m1" });
  });

  test("has errors: it waits, and the next good build serves", async () => {
    const harness = new Harness();
    const { session, asked, builds } = harness;
    builds.push(bad(), bad(), good("m3"));
    const ready = session.start();
    await session.settled();
    expect(session.state).toEqual({ kind: "waiting_for_build" });
    await session.saved(["a.ts"]);
    expect(asked).toEqual(["build  beside null", "watch", "wait", "build a.ts beside null"]);
    await session.saved(["b.ts"]);
    await ready;
    expect(asked.slice(4)).toEqual(["build b.ts beside null", "prepare m3", "open m3"]);
    expect(harness.told()).toEqual([]);
  });

  test("has errors and nobody watches: it ends", async () => {
    const { session, asked, builds } = new Harness({ isWatching: false });
    builds.push(bad());
    await expect(session.start()).rejects.toMatchObject({ code: "build_failed" });
    expect(asked).toEqual(["build  beside null"]);
    expect(session.state.kind).toBe("failed");
  });

  test("the Worker can't be bundled: it is told, and awaited", async () => {
    const harness = new Harness();
    harness.builds.push(notBundled, good("m2"));
    const ready = harness.session.start();
    await harness.session.settled();
    expect(harness.told()).toEqual(["failed worker_not_bundled"]);
    expect(harness.session.build).toMatchObject({ kind: "failed", serving: null, frames: ["it can't be bundled"] });
    expect(harness.session.state.kind).toBe("waiting_for_build");
    await harness.session.saved(["src/worker.ts"]);
    await ready;
  });

  test("the Worker can't be bundled and nobody watches: it ends", async () => {
    const { session, builds } = new Harness({ isWatching: false });
    builds.push(notBundled);
    await expect(session.start()).rejects.toBe(notBundled);
  });

  test("a fault of the build ends it, watched or not", async () => {
    const { session, builds, asked } = new Harness();
    builds.push(new Error("the disk is full"));
    await expect(session.start()).rejects.toThrow("the disk is full");
    expect(asked).toEqual(["build  beside null"]);
  });
});

describe("the start", () => {
  test("a server that does not come up ends it", async () => {
    const { session, builds, failures, asked } = new Harness();
    builds.push(good("m1"));
    failures.set("prepare", new CommandError("server_failed", "it died", "see above"));
    await expect(session.start()).rejects.toMatchObject({ code: "server_failed" });
    expect(asked.at(-1)).toBe("prepare m1");
  });

  test("a Worker that can't be started is told, and awaited; each time anew", async () => {
    const harness = new Harness();
    const { session, asked, builds, failures } = harness;
    builds.push(good("m1"), good("m2"), good("m3"));
    failures.set("open", notStarted);
    const ready = session.start();
    await session.settled();
    expect(session.state.kind).toBe("waiting_for_build");
    expect(session.build).toMatchObject({ kind: "failed", serving: null, frames: ["it throws"] });
    failures.set("open", notStarted);
    await session.saved(["a.ts"]);
    await session.saved(["b.ts"]);
    await ready;
    expect(harness.told()).toEqual(["failed worker_not_started", "failed worker_not_started"]);
    expect(asked.filter((name) => name === "wait")).toHaveLength(2);
    expect(session.app.manifest.module).toBe("m3");
  });

  test("a Worker that can't be started ends it if nobody watches; a fault ends it anyway", async () => {
    for (const [isWatching, failure] of [[false, notStarted] as const, [true, new Error("a fault")] as const]) {
      const { session, builds, failures } = new Harness({ isWatching });
      builds.push(good("m1"));
      failures.set("open", failure);
      await expect(session.start()).rejects.toBe(failure);
    }
  });

  test("a save meanwhile is built afterwards, and served", async () => {
    const { session, asked, builds } = new Harness();
    const first = Promise.withResolvers<Built>();
    builds.push(first.promise, good("m2"));
    const ready = session.start();
    const saved = session.saved(["a.ts"]);
    first.resolve(good("m1"));
    await Promise.all([ready, saved]);
    expect(asked.slice(3)).toEqual(["open m1", "build a.ts beside m1", "reload m2"]);
    expect(session.app.manifest.module).toBe("m2");
  });
});

describe("a save while it serves", () => {
  test("is served in place", async () => {
    const harness = await servingHarness(good("m2"));
    await harness.session.saved(["a.ts"]);
    expect(harness.asked).toEqual(["build a.ts beside m1", "reload m2"]);
    expect(harness.told()).toEqual(["serving"]);
  });

  test("that changes nothing is not served again; another Worker of the same module is", async () => {
    const harness = await servingHarness(good("m1"), good("m1", "another worker"));
    await harness.session.saved(["a.ts"]);
    expect(harness.told()).toEqual([]);
    await harness.session.saved(["src/worker.ts"]);
    expect(harness.asked.at(-1)).toBe("reload m1");
    expect(harness.told()).toEqual(["serving"]);
  });

  test("with errors leaves the last good build serving", async () => {
    const harness = await servingHarness(bad("m1"), good("m1"));
    await harness.session.saved(["a.ts"]);
    expect(harness.session.app.manifest.module).toBe("m1");
    expect(harness.session.build).toMatchObject({ kind: "failed", serving: "m1" });
    await harness.session.saved(["a.ts"]);
    expect(harness.session.build).toEqual({ kind: "good", module: "m1" });
  });

  test("that can't be built or taken is told, whatever it was, and the last good build serves on", async () => {
    const harness = await servingHarness(notBundled, new Error("a fault"), good("m4"));
    await harness.session.saved(["a.ts"]);
    await harness.session.saved(["a.ts"]);
    expect(harness.told()).toEqual(["failed worker_not_bundled", "failed internal_error"]);
    harness.failures.set("reload", notStarted);
    await harness.session.saved(["a.ts"]);
    expect(harness.told()).toEqual(["failed worker_not_started"]);
    expect(harness.session.app.manifest.module).toBe("m1");
    expect(harness.session.build).toMatchObject({ kind: "failed", serving: "m1", frames: ["it throws"] });
  });

  test("waits for work that is done between builds", async () => {
    const harness = await servingHarness(good("m2"));
    const wiping = Promise.withResolvers<void>();
    const wiped = harness.session.inTurn(async () => {
      await wiping.promise;
      harness.asked.push("wiped");
    });
    const saved = harness.session.saved(["a.ts"]);
    wiping.resolve();
    await Promise.all([wiped, saved]);
    expect(harness.asked).toEqual(["wiped", "build a.ts beside m1", "reload m2"]);
  });
});

describe("the end", () => {
  test("calls a start off; what fails because of it is not told", async () => {
    const harness = new Harness();
    const building = Promise.withResolvers<Built>();
    harness.builds.push(building.promise);
    const ready = harness.session.start();
    await underWay();
    harness.session.end(new Error("stopped"));
    await expect(ready).rejects.toThrow("stopped");
    building.reject(new Error("the compiler's thread has ended"));
    await harness.session.settled();
    expect(harness.told()).toEqual([]);
    expect(harness.asked).toEqual(["build  beside null"]);
  });

  test("during a rebuild: nothing is told, nothing is reloaded, and later saves are not built", async () => {
    const harness = await servingHarness();
    const building = Promise.withResolvers<Built>();
    harness.builds.push(building.promise);
    const saved = harness.session.saved(["a.ts"]);
    await underWay();
    harness.session.end(new Error("stopped"));
    building.resolve(good("m2"));
    await saved;
    await harness.session.saved(["b.ts"]);
    expect(harness.asked).toEqual(["build a.ts beside m1"]);
    expect(harness.told()).toEqual([]);
  });
});
