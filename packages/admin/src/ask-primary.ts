/** Administrative requests to the LVI server, and answers that go on. */
import { terminalText } from "@radical/protocol";
import { CommandError, messageOf } from "@radical/app/command-error";
import { signedRequest } from "./signed-request.ts";
import type { PrimaryAddress } from "./primary-address.ts";

const REQUEST_MS = 30_000;

/** Why the server gave no answer that says anything. */
export type PrimaryFailure =
  /** Nobody was reached. */
  | "primary_not_reached"
  /** Not signed with a key that the server has, or at another time than it believes it is. */
  | "primary_refused_key"
  /** It waits for the leadership, or recovers. */
  | "primary_not_serving"
  | "primary_failed";

export class PrimaryError extends CommandError {
  readonly failure: PrimaryFailure;
  /** The code of the server's answer; null: it gave none. */
  readonly answered: string | null;
  /** Whether nothing is at the path: the server, or the relay in front of it, is of an earlier release. */
  readonly isNothingThere: boolean;

  constructor(
    failure: PrimaryFailure,
    message: string,
    hint: string,
    answered: string | null = null,
    isBare404 = false,
  ) {
    super(failure, message, hint);
    this.failure = failure;
    this.answered = answered;
    this.isNothingThere = isBare404 || answered === "not_found";
  }
}

/** `question`: bytes as they are, an object as JSON. Throws a PrimaryError for every answer but a success. */
export async function askPrimary(
  address: PrimaryAddress,
  method: "GET" | "POST" | "PUT",
  path: string,
  question?: object,
  signal: AbortSignal = AbortSignal.timeout(REQUEST_MS),
): Promise<Response> {
  const { url, key, deployment, node } = address;
  const text = question === undefined ? "" : JSON.stringify(question);
  const body = question instanceof Uint8Array ? question : new TextEncoder().encode(text);
  let response: Response;
  try {
    response = await signedRequest(url, key, method, path, body, signal, { deployment, node });
  } catch (error) {
    if (signal.aborted && signal.reason instanceof PrimaryError) throw signal.reason;
    const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : "";
    throw new PrimaryError(
      "primary_not_reached",
      `The LVI server was not reached at ${url}: ${messageOf(error)}${cause}`,
      "See that it runs and that this machine reaches it.",
    );
  }
  if (response.ok) return response;
  const { code = "", message = "", hint = "" } = errorOf((await response.text()).slice(0, 2_000));
  const said = terminalText(message).trim();
  const words = `The LVI server at ${url} answered ${response.status}${said === "" ? "." : `: ${said}`}`;
  if (code === "unauthorized")
    throw new PrimaryError(
      "primary_refused_key",
      words,
      `${asSentence(terminalText(hint))} The key here is "${key.id}".`,
      code,
    );
  if (code === "not_serving" || code === "not_leading")
    throw new PrimaryError(
      "primary_not_serving",
      words,
      "See /readyz and the log of the servers of this storage.",
      code,
    );
  // A relay says no more than the status.
  const isBare404 = code === "" && response.status === 404;
  const answered = code === "" ? null : code;
  const remedy = hint === "" ? "See the log of the LVI server." : asSentence(terminalText(hint));
  throw new PrimaryError("primary_failed", words, remedy, answered, isBare404);
}

/** The lines of an answer that goes on, without those that only say that it does. It ends when the connection does. */
export async function* linesOf(response: Response): AsyncGenerator<string, void> {
  if (response.body === null) return;
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield line;
  }
  if (rest !== "") yield rest;
}

interface ErrorTold {
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string;
}

/** A hint of an earlier release has no full stop. */
function asSentence(text: string): string {
  return text.replace(/[^.]$/, "$&.");
}

/** As far as the text is the body of an error. */
function errorOf(text: string): ErrorTold {
  try {
    return (JSON.parse(text) as { readonly error?: ErrorTold }).error ?? {};
  } catch {
    return { message: text.slice(0, 300) };
  }
}
