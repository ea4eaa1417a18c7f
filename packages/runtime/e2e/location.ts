/** A location in workerd: the Worker bundled as an application would, with its Durable Object cache. */
import type { Manifest } from "@radical/protocol";
import { build } from "esbuild";
import {
  Log,
  LogLevel,
  Miniflare,
  type Request as ServiceRequest,
  type RequestInit as ServiceInit,
  type Response as ServiceResponse,
  convertV4MiniflareOptions,
} from "miniflare";
import type { LogLine } from "../src/log.ts";
import { EventLog } from "./event-log.ts";
import { buildFixture } from "./fixture/application.ts";
import { KEY, KEY_ID } from "./primary.ts";

/** Longer than this machine may stop for: an attempt that is given up shows in what the primary is asked, and in the path. */
const PATIENCE = { RADICAL_ATTEMPT_MS: "60000", RADICAL_TOTAL_MS: "120000" };

const COMPATIBILITY_DATE = "2026-11-01";
const NAME = "location";

/** What a build writes, but for a cache that lets a test look at it, hold it up and damage it. */
const ENTRY = `
  import { RadicalCache as Base } from "../src/cache/radical-cache.ts";
  import { createWorker } from "../src/worker.ts";
  import f from "./module.wasm";
  import rw from "./module.rw.wasm";
  import manifest from "./manifest.json";

  export class RadicalCache extends Base {
    run(sql) { return this.ctx.storage.sql.exec(sql).toArray(); }
    size() { return this.ctx.storage.sql.databaseSize; }
    breakDown() { this.ctx.abort("broken by the test"); }
    seen = [];
    calls() { return this.seen; }
    held = null;
    hold() { this.held = Promise.withResolvers(); }
    release() { this.held.resolve(); }
    spins = false;
    spin() { this.spins = true; }
    stalled = false;
    stall() { this.stalled = true; }
    getMany(application, units, maxAgeMs) {
      this.seen.push("getMany " + units.join());
      if (this.stalled) return new Promise(() => undefined);
      return super.getMany(application, units, maxAgeMs);
    }
    async putMany(application, puts, manner) {
      this.seen.push("putMany " + puts.map(({ unit }) => unit).join());
      await this.held?.promise;
      if (this.spins) console.log(JSON.stringify({ event: "spins" }));
      while (this.spins);
      return super.putMany(application, puts, manner);
    }
  }

  export default createWorker({ manifest, f, rw });
`;

/** By entry: the same Worker is started many times. */
const bundles = new Map<string, Promise<string>>();

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["source"],
    external: ["*.wasm", "*/manifest.json", "cloudflare:workers"],
    logLevel: "silent",
  });
  return outputFiles[0]!.text;
}

interface CallInit {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function bundled(entry: string): Promise<string> {
  const known = bundles.get(entry) ?? bundle(entry);
  bundles.set(entry, known);
  return known;
}

export interface LocationOptions {
  readonly primaryUrl: string;
  /** Null: the Worker is not told one. */
  readonly location?: string | null;
  /** Services that the Worker is bound to, by the names of the bindings: each by what it answers, or where it listens. */
  readonly services?: Readonly<Record<string, ((request: ServiceRequest) => Promise<ServiceResponse>) | External>>;
  readonly vars?: Readonly<Record<string, string>>;
  readonly manifest?: Partial<Manifest>;
  /** Where the cache is kept; in memory if not set. */
  readonly persistTo?: string;
  readonly entry?: string;
}

/** What the platform has a way to, and the Worker does not know the address of. */
export interface External {
  readonly external: { readonly address: string; readonly http: Record<string, never> };
}

export interface CacheDoor {
  run(sql: string): Promise<Record<string, unknown>[]>;
  /** Bytes of its database. */
  size(): Promise<number>;
  breakDown(): Promise<void>;
  /** What it was called with so far. */
  calls(): Promise<readonly string[]>;
  /** Puts wait until they are released. */
  hold(): Promise<void>;
  release(): Promise<void>;
  /** The next put logs `spins`, and takes the processor for ever. */
  spin(): Promise<void>;
  /** No read is answered any more. */
  stall(): Promise<void>;
}

export class Location {
  readonly #miniflare: Miniflare;
  readonly #name: string;
  readonly #application: string;
  readonly url: URL;
  readonly #log: EventLog<LogLine>;

  private constructor(miniflare: Miniflare, url: URL, log: EventLog<LogLine>, name: string, application: string) {
    this.#miniflare = miniflare;
    this.url = url;
    this.#log = log;
    this.#name = name;
    this.#application = application;
  }

  static async start(options: LocationOptions): Promise<Location> {
    const application = await buildFixture();
    const manifest: Manifest = { ...application.manifest, ...options.manifest };
    const location = options.location === undefined ? "VA" : options.location;
    const log = new EventLog<LogLine>();
    const miniflare = new Miniflare({
      ...convertV4MiniflareOptions({
        host: "127.0.0.1",
        port: 0,
        log: new Log(LogLevel.NONE),
        workers: [
          {
            name: NAME,
            compatibilityDate: COMPATIBILITY_DATE,
            modulesRoot: "/",
            modules: [
              { type: "ESModule", path: "/worker.js", contents: await bundled(options.entry ?? ENTRY) },
              { type: "CompiledWasm", path: "/module.wasm", contents: new Uint8Array(application.wasm) },
              { type: "CompiledWasm", path: "/module.rw.wasm", contents: new Uint8Array(application.rwWasm) },
              { type: "ESModule", path: "/manifest.json", contents: `export default ${JSON.stringify(manifest)}` },
            ],
            bindings: {
              RADICAL_PRIMARY_URL: options.primaryUrl,
              RADICAL_KEY_ID: KEY_ID,
              RADICAL_KEY: KEY,
              ...PATIENCE,
              ...(location === null ? {} : { RADICAL_LOCATION: location }),
              ...options.vars,
            },
            ...(options.services === undefined ? {} : { serviceBindings: options.services }),
            analyticsEngineDatasets: { RADICAL_METRICS: { dataset: "radical" } },
            durableObjects: { RADICAL_CACHE: { className: "RadicalCache", useSQLite: true } },
            kvNamespaces: ["RADICAL_CACHE_KV"],
          },
        ],
      }),
      ...(options.persistTo === undefined ? {} : { resourcePersistencePath: options.persistTo }),
      handleStructuredLogs: ({ message }) => {
        if (message.startsWith("{")) log.push(JSON.parse(message) as LogLine);
        else if (process.env["VERBOSE"]) console.error(message);
      },
    });
    return new Location(miniflare, await miniflare.ready, log, location ?? "unknown", manifest.application);
  }

  /** Resolves with the first such line, logged already or later. */
  logged<Event extends LogLine["event"]>(
    event: Event,
    test: (line: Extract<LogLine, { event: Event }>) => boolean = () => true,
  ): Promise<LogLine> {
    type Wanted = Extract<LogLine, { event: Event }>;
    return this.#log.happened((line): line is LogLine => line.event === event && test(line as Wanted));
  }

  async stop(): Promise<void> {
    await this.#miniflare.dispose();
  }

  /** `POST /api/<handler>` from outside of workerd. */
  call(handler: string, args: unknown, init: CallInit = {}): Promise<Response> {
    return this.request(`/api/${handler}`, {
      method: "POST",
      body: JSON.stringify(args),
      ...init,
      headers: { "content-type": "application/json", ...init.headers },
    });
  }

  request(target: string, init: RequestInit = {}): Promise<Response> {
    return fetch(new URL(target, this.url), init);
  }

  /** The same as the platform has it: with what it says of the request's place. */
  requestFrom(cf: Readonly<Record<string, string>>, target: string, init: ServiceInit): Promise<ServiceResponse> {
    return this.#miniflare.dispatchFetch(new URL(target, this.url), { ...init, cf });
  }

  /** The Durable Object of the cache of this location, or of another one by name. */
  async cache(name = this.#name): Promise<CacheDoor> {
    const namespace = await this.#miniflare.getDurableObjectNamespace("RADICAL_CACHE", NAME);
    return namespace.get(namespace.idFromName(`${this.#application}/${name}`)) as unknown as CacheDoor;
  }
}
