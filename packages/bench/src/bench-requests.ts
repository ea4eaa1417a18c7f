/** What a benchmark asks the Workers of the systems themselves, and what they tell it besides their answers. */
import type { SampleLine } from "@radical/protocol";

/** `POST` of milliseconds by handler, as JSON. */
export const PACE_PATH = "/.bench/pace";
/** `POST` of an access without reads, whose writes are what is there from the beginning. */
export const FILL_PATH = "/.bench/fill";
/** Of an answer: position; 1 if it wrote, else 0; time; seed in base 16; what f took. */
export const EXECUTION_HEADER = "x-bench-execution";
/** Of a call: its caller. */
const CALLER_HEADER = "x-bench-caller";

export function callerIn(request: { readonly headers: { get(name: string): string | null } }): string | null {
  return request.headers.get(CALLER_HEADER);
}

export function callerHeader({ caller }: { readonly caller?: string }): Readonly<Record<string, string>> {
  return caller === undefined ? {} : { [CALLER_HEADER]: caller };
}

/** `POST`: a list of {@link LeasedLine}, of the executions since the last one that asked. */
export const LEASED_PATH = "/.bench/leased";

/** An execution that was answered by read leases, as far as the primary tells the same of others. */
export type LeasedLine = Pick<
  Extract<SampleLine, { readonly kind: "sample" }>,
  "execution" | "handler" | "args" | "timeMs" | "seed" | "caller" | "versions"
>;
