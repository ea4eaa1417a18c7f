/** The catalogue of errors in users' words. A code that has none here is an error of types. */
import { ERROR_KINDS, type ErrorCode } from "../../packages/protocol/src/radical-error.ts";
import type { TrapCode } from "../../packages/protocol/src/outcome.ts";

interface Words {
  readonly cause: string;
  readonly remedy: string;
}

const ERRORS: Readonly<Record<ErrorCode, Words>> = {
  invalid_json: {
    cause: "The body is not a JSON object.",
    remedy: "Send an object of the handler's parameters by name.",
  },
  missing_argument: { cause: "A parameter without a default was not sent.", remedy: "Send it; the message names it." },
  unknown_argument: {
    cause: "The handler has no such parameter.",
    remedy: "Leave it out, or correct its name; the message lists the parameters.",
  },
  invalid_argument: {
    cause: "A value has another type than its parameter.",
    remedy: "Send the type that the message names.",
  },
  argument_out_of_range: {
    cause: "A number does not fit into the parameter's type.",
    remedy: "Send a number in the range, or give the parameter a larger type.",
  },
  request_too_large: {
    cause: "The body is over 1 MiB.",
    remedy: "Send less; keep files elsewhere and send their names.",
  },
  blob_not_allowed: {
    cause: "The application does not allow the upload, or does not say who may put blobs.",
    remedy: "Give `createRadical` the option [`blobs.authorize`](how-to/blobs.md#who-may-put).",
  },
  blob_too_large: {
    cause: "A blob has more bytes than `blobs.maxBytes`, which is 16 MiB unless the configuration says otherwise.",
    remedy: "Put fewer bytes, or raise the limit; 32 MiB is the most.",
  },
  blob_busy: {
    cause: "The location holds too many uploads, or the same bytes are just being collected.",
    remedy: "Send the same request again after `retry-after` seconds.",
  },
  blob_store_failed: {
    cause: "The bucket with the bytes of blobs did not answer.",
    remedy: "Send the same request again; the same bytes are stored once.",
  },
  invalid_idempotency_key: {
    cause:
      "`Idempotency-Key` is empty, longer than 255 characters, or contains characters other than visible ASCII. Or it has fewer than 16 characters, and nobody is signed in. Or it is the id of an execution that has a key.",
    remedy: "Send a UUID; repeat a request with the key that it had.",
  },
  unknown_location: {
    cause: "`x-radical-location` names no location of `radical dev`.",
    remedy: "Name one that the hint lists.",
  },
  rate_limited: {
    cause: "The address or the caller has sent more requests than the application takes.",
    remedy: "Send it again after `retry-after` seconds ([Limits on rates](how-to/rate-limits.md)).",
  },
  origin_not_allowed: {
    cause: "A page of another site called.",
    remedy: "If it may, name its origin: [Pages of other origins](worker.md#pages-of-other-origins).",
  },
  unsupported_media_type: {
    cause: "A page called with another content type than `application/json`.",
    remedy: "Set the header `content-type`.",
  },
  unauthorized: {
    cause:
      "The primary does not take the signature: a key that it does not have, another body, or a clock that is over five minutes off. Or a location's key is used for administration, or the other way round. Or a command's question was answered before, or is to another deployment.",
    remedy:
      "Compare the key ids at both sides ([Rotate keys](how-to/rotate-keys.md)), the clocks, and the name of the deployment.",
  },
  unknown_handler: { cause: "There is no handler of this name.", remedy: "Call one that the hint lists." },
  not_found: {
    cause: "The path is not a handler, a file or a route of the application.",
    remedy: "Handlers are at `/api/<name>`.",
  },
  method_not_allowed: {
    cause: "The method does not fit: `GET` is for handlers that never write.",
    remedy: "Use one that the header `Allow` names.",
  },
  message_too_large: {
    cause: "A message to the primary is over a limit: arguments, values or a module.",
    remedy: "Send less; [Limits](limits.md) has the numbers.",
  },
  malformed_message: {
    cause: "The primary got bytes that are not a message of a version that it knows.",
    remedy: "Bring the primary to the version of the locations first.",
  },
  upgrade_not_finished: {
    cause: "The build needs what servers of the release before can't run, and those may still have to take over.",
    remedy: "Finish the [upgrade](how-to/upgrade.md): `radical deploy --finalize`.",
  },
  module_mismatch: {
    cause: "A module was sent under a hash that is not its own.",
    remedy: "Build again and register what was built.",
  },
  idempotency_key_reused: {
    cause: "The key was used with another handler, with other arguments, or by another caller.",
    remedy: "Use a new key for each operation.",
  },
  idempotency_key_unverified: {
    cause:
      "The key was used before, and the primary no longer has the key of the deployment by which it could compare the requests.",
    remedy:
      "See what the request should have changed. To send it anew, use a new key ([Rotate keys](how-to/rotate-keys.md)).",
  },
  answer_not_kept: {
    cause:
      "The request was carried out before, and its answer is not kept any more ([Retention](operations.md#retention)).",
    remedy: "Do not repeat it. Read what it has changed with another request.",
  },
  handler_trapped: {
    cause: "The handler failed; the message says how ([Traps](#traps)).",
    remedy: "Mend the handler: the same arguments on the same data fail again.",
  },
  wrote_on_get: {
    cause: "A handler was called with `GET`, and wrote, although the build says that it only reads. It had no effect.",
    remedy: "Call it with `POST`, and report this fault of the build.",
  },
  execution_failed: {
    cause:
      "The primary could not run the handler within its limits of time, units or bytes, or its message is too large.",
    remedy: "Make the handler touch or compute less: [Limits](limits.md).",
  },
  internal_error: {
    cause: "A fault of Radical or of its configuration.",
    remedy: "See the log of the location. A repeat with the same key tells what happened.",
  },
  primary_unreachable: {
    cause:
      "The primary did not answer in time, or its server stopped meanwhile. Or it refused the signature, the form or the time of the location's request. The location's log says which.",
    remedy: "Repeat with the same `Idempotency-Key`: whether it happened is not known, and it happens once.",
  },
  primary_busy: {
    cause: "The primary has too much to do, or others held the items for too long.",
    remedy: "Repeat after `Retry-After`.",
  },
  not_leading: {
    cause: "Another server of the same storage leads. Locations ask the next one of their list by themselves.",
    remedy: "If it stays, see `/readyz` of the servers: [Health](operations.md#health).",
  },
  not_serving: { cause: "The server starts, recovers or stops.", remedy: "Repeat; `/readyz` says what it is doing." },
  index_building: {
    cause:
      "The build has an index that is not built yet, or that can't be, since some items can't be indexed as they are.",
    remedy: "Deploy with `radical deploy`, which waits for the index ([Indexes](operations.md#indexes)).",
  },
  unknown_module: {
    cause: "The primary does not have the build that the location runs.",
    remedy: "Register the module (`radical dev` and `radical deploy` do), or build again.",
  },
  worker_unreachable: {
    cause: "The primary could not hand an order of `radical cache` to the application's Worker. The message says why.",
    remedy: "Name the Worker's origin with `--url`, or do what the hint says; then run the command again.",
  },
  unknown_workflow: {
    cause: "There is no workflow with this id, its outcome is not kept any more, or another caller has started it.",
    remedy: "Take the path of the header `location` of the 202, and sign in as the caller who started it.",
  },
  workflow_working: {
    cause: "A workflow that `call` has started in process has not ended.",
    remedy: "Call it again with the `idempotencyKey` of the error, or answer your client with its id.",
  },
  too_many_streams: {
    cause: "The location serves as many [live queries](live-queries.md) as it can.",
    remedy: "Ask again in a while, or ask with GET from time to time.",
  },
};

const TRAPS: Readonly<Record<TrapCode, string>> = {
  assertion_failed: "An `assert` failed, or an index, a key or a cast was wrong. The message says which.",
  unreachable: "The program came to a place that it can't come to.",
  memory_out_of_bounds: "An access outside of the memory.",
  out_of_memory: "The execution needed more than its memory.",
  out_of_fuel: "The execution computed more than its fuel allows; so ends an endless loop.",
  integer_divide_by_zero: "An integer was divided by 0.",
  integer_overflow:
    "The result of arithmetic, or a float that is converted, does not fit into its type of integer: [Numbers](language.md#numbers).",
  stack_overflow: "Calls were nested too deeply.",
  invalid_access: "A key or a value that no store takes: empty or too long a key, too large a value, too many items.",
  indirect_call: "A function value was called that is not there, or has another type.",
};

const EFFECTS = { none: "nothing happened", applied: "it happened", unknown: "not known" } as const;
const RETRIES = { never: "no", later: "later", now: "at once" } as const;

export function errorsPart(argument: string): string {
  if (argument === "traps") {
    return [
      "| trap | |",
      "| --- | --- |",
      ...Object.entries(TRAPS).map(([code, words]) => `| \`${code}\` | ${words} |`),
    ].join("\n");
  }
  const rows = (Object.keys(ERROR_KINDS) as ErrorCode[])
    .toSorted((a, b) => ERROR_KINDS[a].status - ERROR_KINDS[b].status)
    .map((code) => {
      const { status, effect, retry } = ERROR_KINDS[code];
      const { cause, remedy } = ERRORS[code];
      return `| ${status} | \`${code}\` | ${cause} | ${remedy} | ${EFFECTS[effect]} | ${RETRIES[retry]} |`;
    });
  const head = "| status | code | cause | what to do | effect | repeat the same |";
  return [head, "| --- | --- | --- | --- | --- | --- |", ...rows].join("\n");
}
