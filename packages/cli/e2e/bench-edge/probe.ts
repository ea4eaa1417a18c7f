/**
 * What a location does, one part at a time and with nothing around it, for `pnpm bench:edge`: a Worker behind the same
 * client, router and link, with the same module and server. `/lvi` hands a signed LVI request on and answers with the
 * reply; `/f` runs the handler alone and answers with its result.
 */
import {
  encodeArguments,
  entryOf,
  LVI_PATH,
  type Manifest,
  NO_COMMIT,
  type UnitId,
  valueToJson,
  NO_EXECUTION,
} from "@radical/protocol";
import { type CompiledModule, type HandlerModule, runHandler } from "@radical/wasm-host";

interface ProbeParts {
  readonly manifest: Manifest;
  readonly f: CompiledModule;
  readonly rw: CompiledModule;
}

interface Env {
  readonly RADICAL_PRIMARY_A: { readonly fetch: typeof fetch };
}

/** It reads one item, and writes it. */
const HANDLER = "change";

export function createProbe({ manifest, f, rw }: ProbeParts): { fetch(request: Request, env: Env): Promise<Response> } {
  const module: HandlerModule = { hash: manifest.module, f, rw, limits: manifest.limits };
  const { parameters } = manifest.handlers[HANDLER]!;

  const lvi = async (request: Request, { RADICAL_PRIMARY_A: primary }: Env): Promise<Response> => {
    const headers = [...request.headers].filter(([name]) => name.startsWith("x-radical-") || name === "content-type");
    const body = await request.arrayBuffer();
    const reply = await primary.fetch(`http://primary${LVI_PATH}`, { method: "POST", headers, body });
    return new Response(await reply.arrayBuffer(), { status: reply.status });
  };

  const runOnce = async (request: Request): Promise<Response> => {
    const args = encodeArguments(parameters, manifest.records, await request.json());
    if (args.kind === "problem") throw new Error(args.problem.message);
    const environment = { timeMs: Date.now(), seed: new Uint8Array(16), caller: null };
    const unit = "items/own" as UnitId;
    const units = new Set([unit]);
    const absent = entryOf(NO_COMMIT, null);
    const invocation = { executionId: NO_EXECUTION, handler: HANDLER, args: args.bytes, environment };
    const run = runHandler(module, invocation, () => absent, { reads: units, writes: units });
    if (run.kind !== "completed" || run.outcome.kind !== "result") throw new Error(`f alone: ${run.kind}`);
    const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };
    return new Response(`{"result":${valueToJson(run.outcome.value)}}`, { headers });
  };

  return { fetch: (request, env) => (new URL(request.url).pathname === "/lvi" ? lvi(request, env) : runOnce(request)) };
}
