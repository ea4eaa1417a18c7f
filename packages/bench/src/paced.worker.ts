/** Of the Workers of a benchmark: how long their handlers take at least, which the benchmark tells them while they run. */
import { atLeast, type Pace } from "@radical/wasm-host";
import { PACE_PATH } from "./bench-requests.ts";

let leastMs: Readonly<Record<string, number>> = {};

export const pace: Pace = atLeast(
  (handler) => leastMs[handler] ?? 0,
  () => performance.now(),
);

/** The answer if the request tells the pace; else null. */
export function takePace(request: Request): Promise<Response> | null {
  if (!request.url.endsWith(PACE_PATH)) return null;
  return request.json().then((told) => {
    leastMs = told as Readonly<Record<string, number>>;
    return new Response(null, { status: 204 });
  });
}
