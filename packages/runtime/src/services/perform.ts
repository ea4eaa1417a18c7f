/** One call of a service: from encoded arguments to the answer that the primary gets. */
import {
  encodeValue,
  type Manifest,
  MAX_SERVICE_RESULT_BYTES,
  type ServiceAnswer,
  type ServiceCall,
  valueToJson,
} from "@radical/protocol";
import { Refused } from "./refused.ts";

/** A service gets this besides its arguments. */
export interface ServiceContext<Bindings> {
  /** A UUID that all calls of one task share: the idempotency key for whatever the service asks. */
  readonly key: string;
  readonly env: Bindings;
  /** Is aborted when the call has taken too long. */
  readonly signal: AbortSignal;
}

/** A service, as the application writes it: arguments by name. */
export type Service<Bindings> = (args: never, context: ServiceContext<Bindings>) => unknown;

/** A thrown error that is not a refusal, for the log. */
export type ServiceFault = { readonly code: string; readonly message: string; readonly stack: string | undefined };

/** `told`: of a service that fails. */
export async function perform<Bindings>(
  { service: name, args, key, timeoutMs }: ServiceCall,
  { services = {}, records }: Manifest,
  service: Service<Bindings> | undefined,
  env: Bindings,
  told: (fault: ServiceFault) => void,
): Promise<ServiceAnswer> {
  const declared = Object.hasOwn(services, name) ? services[name] : undefined;
  if (declared === undefined || service === undefined)
    return { kind: "not-called", code: "unknown_service", message: `This Worker has no service ${name}.` };
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new ServiceTimeout(`${name} took longer than ${timeoutMs} ms.`);
    limit.abort(error);
    late.reject(error);
  }, timeoutMs);
  try {
    const given = JSON.parse(valueToJson(args)) as never;
    const result = await Promise.race([service(given, { key, env, signal: limit.signal }), late.promise]);
    if (declared.result === null) return { kind: "value", bytes: NOTHING };
    const encoded = encodeValue(declared.result, records, result);
    if (encoded.kind === "problem")
      return failed("invalid_result", `The result of ${name}: ${encoded.problem.message}`, told);
    if (encoded.bytes.length > MAX_SERVICE_RESULT_BYTES)
      return failed("invalid_result", `The result of ${name} has more than ${MAX_SERVICE_RESULT_BYTES} bytes.`, told);
    return { kind: "value", bytes: encoded.bytes };
  } catch (error) {
    if (error instanceof Refused) return { kind: "refused", code: error.code, message: error.message };
    const { name: code, message, stack } = error instanceof Error ? error : new Error(String(error));
    return failed(code === "" ? "Error" : code, message, told, stack);
  } finally {
    clearTimeout(timer);
  }
}

/** An encoded null: the result of a service that returns nothing. */
const NOTHING = Uint8Array.of(0xf6);

class ServiceTimeout extends Error {
  override readonly name = "service_timeout";
}

function failed(code: string, message: string, told: (fault: ServiceFault) => void, stack?: string): ServiceAnswer {
  told({ code, message, stack });
  return { kind: "failed", code, message };
}
