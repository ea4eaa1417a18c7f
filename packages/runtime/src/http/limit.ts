/**
 * Limits on rates, at the location: before the body of a request is read, and before anything is asked of the primary. Workers' rate
 * limiting counts, in each of Cloudflare's locations by itself, and only roughly. So a limit protects against floods. It is not a quota.
 */
import { RadicalError } from "@radical/protocol";
import { callerOf, type Authenticate } from "./authentication.ts";

/** A binding of `ratelimits`. */
export interface RateLimiter {
  limit(options: { readonly key: string }): Promise<{ readonly success: boolean }>;
}

/** Which limiter counts a request. `handler`: null for bytes of a blob. Null: none does. */
type ChooseLimiter<Bindings> = (env: Bindings, handler: string | null) => RateLimiter | null;

export interface LimitOptions<Bindings> {
  /** Counts requests by the address that they come from, before `authenticate` runs. */
  readonly perAddress?: ChooseLimiter<Bindings>;
  /** Counts requests by their caller, after `authenticate`. Requests without a caller are not counted. */
  readonly perCaller?: ChooseLimiter<Bindings>;
  /** How long a client is told to wait that is refused, in seconds. Default: 60, the longest period of a limiter. */
  readonly retryAfterSeconds?: number;
}

/** A request over a limit: nothing of it was done. */
export class RateLimited extends RadicalError {
  readonly retryAfterSeconds: number;

  constructor(whose: "address" | "caller", retryAfterSeconds: number) {
    super("rate_limited", `This ${whose} has sent too many requests.`, `Try again after ${retryAfterSeconds} s.`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const RETRY_AFTER_SECONDS = 60;

export interface Admission<Bindings> {
  readonly authenticate: Authenticate<Bindings> | undefined;
  readonly limit: LimitOptions<Bindings> | undefined;
  /** Told of a limiter that has failed: its request is let through. */
  readonly onFailed: (error: unknown) => void;
}

/** The caller of a request that may go on. Throws a RateLimited, and what `authenticate` throws. */
export async function admit<Bindings>(
  { authenticate, limit = {}, onFailed }: Admission<Bindings>,
  request: Request,
  env: Bindings,
  handler: string | null,
): Promise<string | null> {
  const { perAddress, perCaller, retryAfterSeconds = RETRY_AFTER_SECONDS } = limit;
  const isWithin = async (choose: ChooseLimiter<Bindings>, name: string, key: string): Promise<boolean> => {
    const limiter = checkedLimiter(choose(env, handler), name);
    if (limiter === null) return true;
    try {
      return (await limiter.limit({ key })).success;
    } catch (error) {
      onFailed(error);
      return true;
    }
  };
  const address = perAddress === undefined ? null : addressOf(request);
  if (perAddress !== undefined && address !== null && !(await isWithin(perAddress, "perAddress", address)))
    throw new RateLimited("address", retryAfterSeconds);
  const caller = await callerOf(authenticate, request, env);
  if (perCaller !== undefined && caller !== null && !(await isWithin(perCaller, "perCaller", caller)))
    throw new RateLimited("caller", retryAfterSeconds);
  return caller;
}

/** Null: another Worker asks, which has its own. Of IPv6 it is the network: a subscriber has all addresses of it. */
export function addressOf(request: Request): string | null {
  const address = request.headers.get("cf-connecting-ip");
  if (address === null || !address.includes(":") || address.includes(".")) return address;
  const [front = "", back] = address.toLowerCase().split("::");
  const [first, last] = [front, back ?? ""].map((groups) => (groups === "" ? [] : groups.split(":")));
  const zeros = Array<string>(Math.max(0, GROUPS - first!.length - last!.length)).fill("0");
  const groups = back === undefined ? first! : [...first!, ...zeros, ...last!];
  return `${groups
    .slice(0, GROUPS / 2)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}

const GROUPS = 8;

/** Throws an `internal_error`: the binding is missing, or is not one of `ratelimits`. */
function checkedLimiter(limiter: RateLimiter | null | undefined, name: string): RateLimiter | null {
  if (limiter === null || typeof limiter?.limit === "function") return limiter;
  throw new RadicalError(
    "internal_error",
    `The option limit.${name} gave ${limiter === undefined ? "undefined" : typeof limiter}, which is not a rate limiter.`,
    "Give a binding of ratelimits in wrangler.jsonc, or null.",
  );
}
