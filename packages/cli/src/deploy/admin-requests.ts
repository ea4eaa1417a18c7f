/** What `radical deploy` and its companions ask the primary, by signed requests to its administrative address. */
import {
  MODULES_PATH,
  MODULE_LIST_PATH,
  type ModuleContent,
  type ModuleHash,
  type ModuleList,
  encodeModuleContent,
} from "@radical/protocol";
import { CommandError, messageOf } from "../command-error.ts";
import type { DeploymentKey } from "../dev/deployment-key.ts";
import { signedRequest } from "../dev/signed-request.ts";

export interface AdminAddress {
  /** Origin: of the LVI server itself, or of the relay in front of it. */
  readonly url: string;
  readonly key: DeploymentKey;
}

const REQUEST_MS = 30_000;

/** Whether the server has the module; so it serves, and knows the key. Throws a CommandError if it can't say. */
export async function hasModule(address: AdminAddress, module: ModuleHash): Promise<boolean> {
  const response = await ask(address, "GET", `${MODULES_PATH}${module}`);
  if (response.status === 204) return true;
  if (response.status === 404 && (await codeOf(response.clone())) === "not_found") return false;
  throw await refusal(address, response);
}

export async function registerModule(address: AdminAddress, module: ModuleHash, content: ModuleContent): Promise<void> {
  const response = await ask(address, "PUT", `${MODULES_PATH}${module}`, encodeModuleContent(content));
  if (!response.ok) throw await refusal(address, response);
}

/** How many intents are durable and not applied yet, of all modules. Only a server that serves can say. */
export async function pendingIntents(address: AdminAddress): Promise<number> {
  const response = await ask(address, "GET", MODULE_LIST_PATH);
  if (!response.ok) throw await refusal(address, response);
  const { modules } = (await response.json()) as ModuleList;
  return modules.reduce((sum, { pending }) => sum + pending, 0);
}

async function ask(
  { url, key }: AdminAddress,
  method: "GET" | "PUT",
  path: string,
  body: Uint8Array = new Uint8Array(),
): Promise<Response> {
  try {
    return await signedRequest(url, key, method, path, body, AbortSignal.timeout(REQUEST_MS));
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    throw new CommandError(
      "primary_not_reached",
      `the primary was not reached at ${url}: ${messageOf(error)}${cause}`,
      "see that it runs and that this machine reaches it, then run the same command again",
    );
  }
}

async function refusal({ url, key }: AdminAddress, response: Response): Promise<CommandError> {
  const text = (await response.text()).slice(0, 2_000);
  const { code, message = text.slice(0, 300) } = errorOf(text);
  const words = `the primary at ${url} answered ${response.status} ${message}`;
  switch (code) {
    case "unauthorized":
      return new CommandError(
        "primary_refused_key",
        words,
        `give both sides the same key "${key.id}", and set the clocks of both`,
      );
    case "not_serving":
    case "not_leading":
      return new CommandError("primary_not_serving", words, "wait until it serves: see its /readyz and its log");
    default:
      return new CommandError("primary_failed", words, "see the log of the LVI server");
  }
}

async function codeOf(response: Response): Promise<string | undefined> {
  return errorOf(await response.text()).code;
}

/** As far as the text is the body of an error. */
function errorOf(text: string): { readonly code?: string; readonly message?: string } {
  try {
    return (JSON.parse(text) as { readonly error?: { readonly code?: string; readonly message?: string } }).error ?? {};
  } catch {
    return {};
  }
}
