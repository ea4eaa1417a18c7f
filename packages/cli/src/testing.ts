/**
 * For an application's own tests: the whole application, with real processes and real HTTP, on a free port and with
 * storage of its own that is gone afterwards.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callPath } from "@radical/protocol";
import { type Location, loadProject, seedFileOf } from "@radical/app";
import type { DevEvent } from "./dev/dev-events.ts";
import { LOCATION_HEADER } from "@radical/local";
import { advanceMs } from "./dev/dev-time.ts";
import { faultsOfTest, type OrderedFaults } from "./dev/service-faults.ts";
import type { DevOptions } from "./dev/dev-options.ts";
import { type DevServer, startDev } from "./dev/start-dev.ts";

export { Refused } from "@radical/runtime/services";

export interface TestAppOptions extends Pick<
  DevOptions,
  | "central"
  | "environment"
  | "link"
  | "vars"
  | "testHooks"
  | "followupTimeoutMs"
  | "readLeaseMs"
  | "services"
  | "workers"
> {
  /** Folder of the application. Default: the working directory. */
  readonly project?: string;
  /** Round trips to the primary in ms by location. Default: `{ near: 0, far: 0 }`. */
  readonly locations?: Readonly<Record<string, number>>;
  /** Whether the storage begins with the project's seed file, as `radical data seed` writes it. */
  readonly seeded?: boolean;
  /** Failures of services to order, by name: `{ charge: { throw: 0.2, lost: 0.2, slow: 3000 } }`. */
  readonly serviceFaults?: Readonly<Record<string, OrderedFaults>>;
  /** Called with everything that happens, after it is kept in {@link TestApp.events}. */
  readonly onEvent?: (event: DevEvent) => void;
}

/** A machine that runs tests may stand still for seconds: an attempt that is given up would show in the path of an answer. */
const ATTEMPT_MS = 15_000;

export interface CallOptions {
  readonly location?: string;
  readonly idempotencyKey?: string;
  /** Sent with the call: a token of who calls, say. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to a call, whatever it is. */
export interface Answer<Result = unknown> {
  readonly status: number;
  /** What the handler returned; undefined if it did not. */
  readonly result: Result | undefined;
  readonly error: { readonly code: string; readonly message: string; readonly hint: string } | undefined;
  readonly headers: Headers;
  /** `speculative`, `leased` or `near-storage`; null if nothing was executed. */
  readonly path: string | null;
  readonly execution: string | null;
}

interface StartedApp extends DevServer {
  /**
   * Moves time ahead: `"3 days"`, `"12h"`, or a number of milliseconds. Tasks, retries and schedules that become due run in order, each at
   * its time. Resolves once all of them have ended. Handlers see the new time from then on.
   */
  advance(time: string | number): Promise<void>;
  /** Everything that has happened so far. */
  readonly events: readonly DevEvent[];
  /** The folder with the storage, `data.sqlite`. */
  readonly stateFolder: string;
}

/** Calls of handlers of which no types are given. */
interface UntypedCalls {
  /** Calls a handler; never throws for an error that is an answer. */
  call(handler: string, args?: unknown, options?: CallOptions): Promise<Answer>;
  /** The result of a call. Throws for any other answer. */
  result<T>(handler: string, args?: unknown, options?: CallOptions): Promise<T>;
}

/** Calls of handlers by the type `Handlers` of the generated client. */
interface TypedCalls<Handlers> {
  /** Calls a handler; never throws for an error that is an answer. */
  call<Name extends keyof Handlers & string>(
    handler: Name,
    ...rest: CallArguments<Handlers[Name]>
  ): Promise<Answer<ResultOf<Handlers[Name]>>>;
  /** The result of a call. Throws for any other answer. */
  result<Name extends keyof Handlers & string>(
    handler: Name,
    ...rest: CallArguments<Handlers[Name]>
  ): Promise<ResultOf<Handlers[Name]>>;
}

type CallArguments<Handler> = Handler extends { readonly arguments: infer Arguments }
  ? IsOptional<Arguments> extends true
    ? readonly [args?: Arguments, options?: CallOptions]
    : readonly [args: Arguments, options?: CallOptions]
  : never;
/** A handler without parameters has a type of arguments with any name and no value. */
type IsOptional<Arguments> = string extends keyof Arguments ? true : object extends Arguments ? true : false;
type ResultOf<Handler> = Handler extends { readonly result: infer Result } ? Result : never;

/** An application that runs. `Handlers`: the type of that name in the generated client; without it any call is taken. */
export type TestApp<Handlers = never> = StartedApp & ([Handlers] extends [never] ? UntypedCalls : TypedCalls<Handlers>);

export async function startTestApp<Handlers = never>(options: TestAppOptions = {}): Promise<TestApp<Handlers>> {
  const {
    project: folder = ".",
    locations = { near: 0, far: 0 },
    vars,
    testHooks,
    seeded = false,
    serviceFaults = {},
    onEvent,
    ...rest
  } = options;
  const faults = faultsOfTest(serviceFaults);
  const project = await loadProject(folder);
  const stateFolder = await mkdtemp(join(tmpdir(), "radical-test-"));
  if (seeded) seedFileOf(project.root);
  const removeState = (): Promise<void> => rm(stateFolder, { recursive: true, force: true });
  const events: DevEvent[] = [];
  try {
    const server = await startDev({
      ...rest,
      project,
      port: 0,
      serviceFaults: faults,
      seed: seeded,
      vars: { RADICAL_ATTEMPT_MS: String(ATTEMPT_MS), ...vars },
      testHooks: { ...testHooks, routesInternal: true },
      locations: Object.entries(locations).map(([name, roundTripMs]): Location => ({ name, roundTripMs })),
      stateFolder,
      onEvent: (event) => {
        events.push(event);
        onEvent?.(event);
      },
    });
    const unwritten = events.find((event) => event.event === "failed" && event.code === "not_seeded");
    if (unwritten?.event === "failed") throw new Error(unwritten.message);
    const call: UntypedCalls["call"] = (handler, args, callOptions) =>
      callHandler(server.url, handler, args ?? {}, callOptions ?? {});
    const app: StartedApp & UntypedCalls = {
      ...server,
      events,
      stateFolder,
      advance: async (time) => void (await server.control.moveTime(milliseconds(time))),
      call,
      result: async <T>(handler: string, args?: unknown, callOptions?: CallOptions) => {
        const answer = await call(handler, args, callOptions);
        if (answer.error !== undefined)
          throw new Error(`${handler}: ${answer.status} ${answer.error.code}: ${answer.error.message}`);
        return answer.result as T;
      },
      stop: async () => {
        await server.stop();
        await removeState();
      },
    };
    return app as TestApp<Handlers>;
  } catch (error) {
    await removeState();
    throw new Error([...framesOf(events), String(error)].join("\n\n"), { cause: error });
  }
}

/** Throws a TypeError. */
function milliseconds(time: string | number): number {
  const ms = advanceMs(time);
  if (ms !== null) return ms;
  const given = typeof time === "number" ? time : JSON.stringify(time);
  throw new TypeError(
    `advance() takes a time up to 3,660 days, and was given ${given}. Write it as "3 days", "12 hours", "90s", or as whole milliseconds.`,
  );
}

function framesOf(events: readonly DevEvent[]): readonly string[] {
  return events.flatMap((event) => (event.event === "build_failed" ? event.frames : []));
}

async function callHandler(url: string, handler: string, args: unknown, options: CallOptions): Promise<Answer> {
  const called = callPath(handler, args);
  const response = await fetch(`${url}${called.path}`, {
    method: "POST",
    // A 64-bit integer may be a bigint, as for the generated client.
    body: JSON.stringify(called.args, (_key, part: unknown) => (typeof part === "bigint" ? part.toString() : part)),
    headers: {
      "content-type": "application/json",
      ...options.headers,
      ...(options.location === undefined ? {} : { [LOCATION_HEADER]: options.location }),
      ...(options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey }),
    },
  });
  const body = (await response.json()) as Pick<Answer, "result" | "error">;
  return {
    status: response.status,
    result: body.result,
    error: body.error,
    headers: response.headers,
    path: response.headers.get("x-radical-path"),
    execution: response.headers.get("x-radical-execution"),
  };
}
