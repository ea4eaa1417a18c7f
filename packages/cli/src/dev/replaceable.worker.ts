/**
 * A location's Worker in `radical dev`, whose module is replaced while it runs: starting workerd again for each save would
 * take longer than the build, and end what is under way. In production a Worker is deployed with its module.
 */
import { CborReader, type Manifest } from "@radical/protocol";
import type { RadicalWorker, WorkerParts } from "@radical/runtime";
import { DEV_TOKEN_HEADER, MODULE_PATH } from "./internal-requests.ts";

/** workerd's binding that compiles WebAssembly at run time. */
interface UnsafeEval {
  newWasmModule(bytes: Uint8Array): WorkerParts["f"];
}

interface DevEnv {
  readonly RADICAL_DEV_TOKEN: string;
  readonly RADICAL_DEV_EVAL: UnsafeEval;
}

/** What is under way goes on with the module that it began with; memory caches are never shared by two modules. */
export function replaceable(createWorker: (parts: WorkerParts) => RadicalWorker, parts: WorkerParts): RadicalWorker {
  let worker = createWorker(parts);
  /** What is to be compiled when somebody asks: not every location is asked between two saves. */
  let next: (() => RadicalWorker) | null = null;
  return {
    async fetch(request, env, context) {
      const dev = env as unknown as DevEnv;
      if (!request.url.endsWith(MODULE_PATH) || request.headers.get(DEV_TOKEN_HEADER) !== dev.RADICAL_DEV_TOKEN)
        return (worker = next?.() ?? worker).fetch(request, env, context);
      const reader = new CborReader(new Uint8Array(await request.arrayBuffer()));
      reader.array();
      const manifest = JSON.parse(reader.text()) as Manifest;
      const [f, rw] = [reader.bytes().slice(), reader.bytes().slice()];
      const compiled = (bytes: Uint8Array): WorkerParts["f"] => dev.RADICAL_DEV_EVAL.newWasmModule(bytes);
      next = () => {
        next = null;
        return createWorker({ manifest, f: compiled(f), rw: compiled(rw) });
      };
      return new Response(null, { status: 204 });
    },
  };
}
