/**
 * A location's Worker in `radical dev`, whose module is replaced while it runs. A new workerd for each save would take
 * longer than the build, and end requests under way. In production a Worker is deployed with its module.
 *
 * It lets `radical dev` look into its cache too. A Worker in production has no such route.
 */
import { BLOB_CRON, CborReader, hasBlobs, type Manifest, type UnitId } from "@radical/protocol";
import type * as Runtime from "@radical/runtime";
import {
  heldItems,
  type Isolate,
  type Radical,
  type RadicalOptions,
  type RadicalWorker,
  type WorkerParts,
} from "@radical/runtime";
import { AHEAD_PATH, CACHED_PATH, DEV_TOKEN_HEADER, HAS_SCHEDULED_PATH, MODULE_PATH } from "./internal-requests.ts";

/** workerd's binding that compiles WebAssembly at run time. */
interface UnsafeEval {
  newWasmModule(bytes: Uint8Array): WorkerParts["f"];
}

interface DevEnv {
  readonly RADICAL_DEV_TOKEN: string;
  readonly RADICAL_DEV_EVAL: UnsafeEval;
}

/** A request under way goes on with the module that it began with. Two modules never share a memory cache. */
export function replaceable(createWorker: (parts: WorkerParts) => RadicalWorker, parts: WorkerParts): RadicalWorker {
  const worker = new Replaceable(parts, createWorker);
  return {
    fetch: (request, env, context) => worker.answerDev(request, env) ?? worker.current.fetch(request, env, context),
    scheduled: async (event, env, context) => worker.current.scheduled?.(event, env, context),
  };
}

/** The replaceable runtime of an application's own Worker: its entry imports `createRadical`, and `entry` makes the Worker. */
export function replaceableRuntime(
  { bindRadical, entryOf }: Pick<typeof Runtime, "bindRadical" | "entryOf">,
  parts: WorkerParts,
): { readonly createRadical: ReturnType<typeof bindRadical>; readonly entry: (application: unknown) => unknown } {
  const runtime = new Replaceable(parts, (bound) => ({ parts: bound, create: bindRadical(bound) }));
  return {
    createRadical: <Bindings>(options?: RadicalOptions<Bindings>): Radical<Bindings> => {
      let { create } = runtime.current;
      let radical = create(options);
      const current = (): Radical<Bindings> => {
        if (create !== runtime.current.create) radical = ({ create } = runtime.current).create(options);
        return radical;
      };
      return Object.assign<Radical<Bindings>, Pick<Radical<Bindings>, "fetch">>(
        ((env, context) => current()(env, context)) as Radical<Bindings>,
        { fetch: (request, env, context) => current().fetch(request, env, context) },
      );
    },
    entry: (application) => {
      const own = entryOf(application, parts);
      // A class takes no modules.
      if (typeof own === "function") return own;
      runtime.hasScheduled = typeof (application as Partial<RadicalWorker>).scheduled === "function";
      const current = (): RadicalWorker => entryOf(application, runtime.current.parts) as RadicalWorker;
      return tellingFaults<RadicalWorker>({
        ...(own as RadicalWorker),
        fetch: (request, env, context) => runtime.answerDev(request, env) ?? current().fetch(request, env, context),
        scheduled: async (event, env, context) => current().scheduled?.(event, env, context),
      });
    },
  };
}

/** The platform's; the compiler's typings have a smaller one of that name. */
const log = console as unknown as { readonly error: (words: string) => void };

/** Logs what the application throws: else the platform alone knows it. */
function tellingFaults<Handlers extends object>(handlers: Handlers): Handlers {
  const telling = Object.entries(handlers as Record<string, (...args: unknown[]) => unknown>).map(([name, handle]) => [
    name,
    async (...args: unknown[]): Promise<unknown> => {
      try {
        return await handle(...args);
      } catch (error) {
        log.error(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        throw error;
      }
    },
  ]);
  return Object.fromEntries(telling) as Handlers;
}

/** The thing that is made of a module, until there is another module. */
class Replaceable<Made> {
  /** Shared by the requests of the current module; null: none has come yet. */
  #isolate: Isolate | null = null;
  readonly #make: (parts: WorkerParts) => Made;
  #made: Made;
  #manifest: Manifest;
  /** Whether the application's own Worker has a function for scheduled events. */
  hasScheduled = false;
  /** Counts the modules: streams of an earlier one are to end. */
  #modules = 0;
  /** Of the time of handlers. */
  #aheadMs = 0;
  /** The module to compile when somebody asks: not every location is asked between two saves. */
  #next: (() => WorkerParts) | null = null;

  constructor(parts: WorkerParts, make: (parts: WorkerParts) => Made) {
    this.#make = make;
    this.#manifest = parts.manifest;
    this.#made = this.#makeOf(parts);
  }

  #makeOf(parts: WorkerParts): Made {
    const module = this.#modules;
    const isReplaced = (): boolean => module !== this.#modules;
    const onIsolate = (isolate: Isolate): void => void (isReplaced() || (this.#isolate = isolate));
    return this.#make({ ...parts, isReplaced, onIsolate, aheadMs: () => this.#aheadMs });
  }

  get current(): Made {
    if (this.#next !== null) {
      this.#made = this.#makeOf(this.#next());
      this.#next = null;
    }
    return this.#made;
  }

  /** Null: the request is none of `radical dev`. */
  answerDev(request: Request, env: unknown): Promise<Response> | null {
    const { RADICAL_DEV_TOKEN: token, RADICAL_DEV_EVAL: compiler } = env as DevEnv;
    if (request.headers.get(DEV_TOKEN_HEADER) !== token) return null;
    if (request.url.endsWith(MODULE_PATH)) return this.#take(request, compiler);
    if (request.url.endsWith(AHEAD_PATH)) return this.#moveTime(request);
    if (request.url.endsWith(HAS_SCHEDULED_PATH)) return this.#tellScheduled(request, token);
    return request.url.endsWith(CACHED_PATH) ? this.#look(request) : null;
  }

  async #take(request: Request, compiler: UnsafeEval): Promise<Response> {
    const reader = new CborReader(new Uint8Array(await request.arrayBuffer()));
    reader.array();
    const manifest = JSON.parse(reader.text()) as Manifest;
    this.#manifest = manifest;
    const [f, rw] = [reader.bytes().slice(), reader.bytes().slice()];
    this.#modules++;
    this.#isolate = null;
    this.#next = () => ({ manifest, f: compiler.newWasmModule(f), rw: compiler.newWasmModule(rw) });
    return new Response(null, { status: 204 });
  }

  async #moveTime(request: Request): Promise<Response> {
    this.#aheadMs = (await request.json()) as number;
    return new Response(null, { status: 204 });
  }

  async #tellScheduled(request: Request, token: string): Promise<Response> {
    const isOfBlobs = (await request.text()) === BLOB_CRON && hasBlobs(this.#manifest.records);
    return Response.json(this.hasScheduled || isOfBlobs, { headers: { [DEV_TOKEN_HEADER]: token } });
  }

  async #look(request: Request): Promise<Response> {
    const units = (await request.json()) as readonly UnitId[];
    if (this.#isolate === null) return new Response(null, { status: 204 });
    return Response.json(await heldItems(this.#isolate, units, performance.now()));
  }
}
