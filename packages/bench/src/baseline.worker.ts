/**
 * The Worker of the systems that Radical is compared with. Its variables say where its data is: `BENCH_STORE` is the address of a
 * storage; empty, the data is in this isolate's memory, and nobody else's.
 */
import {
  encodeArguments,
  errorBody,
  type Manifest,
  OBJECT_ID,
  type Outcome,
  readCallPath,
  SEED_BYTES,
  valueToJson,
} from "@radical/protocol";
import type { CompiledModule, HandlerModule } from "@radical/wasm-host";
import { type Ended, execute, type Reading, type Surroundings } from "./baseline.ts";
import { callerIn, EXECUTION_HEADER, FILL_PATH } from "./bench-requests.ts";
import { LocalStore } from "./local-store.ts";
import { pace, takePace } from "./paced.worker.ts";
import { type Access, type Accessed, decodeAccess, decodeAccessed, encodeAccess } from "./store-messages.ts";

interface Env {
  readonly BENCH_STORE: string;
  /** The way to it. */
  readonly RADICAL_PRIMARY_A?: { readonly fetch: typeof fetch };
  readonly BENCH_READING: Reading;
}

interface Parts {
  readonly manifest: Manifest;
  readonly f: CompiledModule;
  readonly rw: CompiledModule;
}

export function createBaselineWorker({ manifest, f, rw }: Parts): {
  fetch(request: Request, env: Env): Response | Promise<Response>;
} {
  const module: HandlerModule = { hash: manifest.module, f, rw, limits: manifest.limits, pace };
  const local = new LocalStore();

  const call = async (
    request: Request,
    { BENCH_STORE: store, BENCH_READING: reading, RADICAL_PRIMARY_A: way }: Env,
  ): Promise<Response> => {
    const { handler, id } = readCallPath(new URL(request.url).pathname)!;
    const { parameters } = manifest.handlers[handler]!;
    const given = (await request.json()) as object;
    const args = encodeArguments(parameters, manifest.records, id === null ? given : { ...given, [OBJECT_ID]: id });
    if (args.kind === "problem") return Response.json(args.problem, { status: 400 });
    const seed = crypto.getRandomValues(new Uint8Array(SEED_BYTES));
    const environment = { timeMs: Date.now(), seed, caller: callerIn(request) };
    const access: Surroundings["access"] = (one) => (way === undefined ? local.access(one) : accessAt(way, store, one));
    const surroundings = { module, reading, access, now: () => performance.now() };
    const ended = await execute(surroundings, handler, args.bytes, environment);
    return responseOf(ended, environment.timeMs, seed);
  };

  return {
    fetch: (request, env) => {
      if (request.url.endsWith(FILL_PATH)) return fill(request, local);
      return takePace(request) ?? call(request, env);
    },
  };
}

async function fill(request: Request, local: LocalStore): Promise<Response> {
  local.fill(decodeAccess(new Uint8Array(await request.arrayBuffer())).writes);
  return new Response(null, { status: 204 });
}

async function accessAt(way: { readonly fetch: typeof fetch }, store: string, access: Access): Promise<Accessed> {
  const response = await way.fetch(store, { method: "POST", body: encodeAccess(access) });
  if (response.status !== 200) throw new Error(`the storage answered ${response.status}: ${await response.text()}`);
  return decodeAccessed(new Uint8Array(await response.arrayBuffer()));
}

function responseOf({ outcome, position, wrote, fMs }: Ended, timeMs: number, seed: Uint8Array): Response {
  const { status, body } = answerOf(outcome);
  const inHex = Array.from(seed, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return new Response(body, {
    status,
    headers: {
      "content-type": "application/json; charset=utf-8",
      [EXECUTION_HEADER]: [position, Number(wrote), timeMs, inHex, fMs].join(";"),
    },
  });
}

function answerOf(outcome: Outcome): { readonly status: number; readonly body: string } {
  switch (outcome.kind) {
    case "result":
      return { status: 200, body: `{"result":${valueToJson(outcome.value)}}` };
    case "abort":
      return { status: outcome.status, body: errorBody(outcome.code, outcome.message, "") };
    case "trap":
      return { status: 500, body: errorBody("handler_trapped", `The handler failed: ${outcome.message}`, "") };
  }
}
