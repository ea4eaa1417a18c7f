/**
 * Workflows over HTTP. `POST /api/buy` starts one, and its answer may come before the workflow has ended: then `location` has the
 * path under which its caller finds it. `GET /api/buy/<id>` gives its state or its result, and `DELETE` asks it to end.
 */
import { API_PATH, type ExecutionId, isExecutionId, type Manifest, RadicalError } from "@radical/protocol";
import { declarationOf, MethodNotAllowed } from "./call.ts";

/** Longest time for which an answer waits for the end of a workflow. */
export const MAX_WORKFLOW_WAIT_MS = 60_000;
/** The time for which a POST waits that does not say. Other requests do not wait then. */
export const DEFAULT_WORKFLOW_WAIT_MS = 10_000;

export interface WorkflowRequest {
  readonly handler: string;
  readonly workflow: ExecutionId;
  /** It is to end. */
  readonly cancels: boolean;
}

/** The path under which a caller finds its workflow. */
export function workflowPath(handler: string, id: ExecutionId): string {
  return `${API_PATH}${handler}/${id}`;
}

/** Whether the path may be that of a workflow: it goes on behind the name of a handler. Cheap, since every request is looked at. */
export function mayNameWorkflow(url: string): boolean {
  const at = url.indexOf(API_PATH);
  return at >= 0 && url.includes("/", at + API_PATH.length);
}

/** Null: the path is not that of a workflow. Throws `unknown_workflow` or `method_not_allowed`. */
export function workflowRequest({ url, method }: Request, manifest: Manifest): WorkflowRequest | null {
  const { pathname } = new URL(url);
  if (!pathname.startsWith(API_PATH)) return null;
  const [handler = "", id, ...more] = pathname.slice(API_PATH.length).split("/");
  if (id === undefined || more.length > 0 || !Object.hasOwn(manifest.handlers, handler)) return null;
  const { plan, internal } = declarationOf(handler, manifest);
  if (plan !== "workflow" || (internal === true && manifest.testHooks?.routesInternal !== true)) return null;
  if (!isExecutionId(id)) throw unknownWorkflow(handler);
  if (method === "GET" || method === "DELETE") return { handler, workflow: id, cancels: method === "DELETE" };
  throw new MethodNotAllowed(
    `a workflow is asked for with GET and cancelled with DELETE, not ${method}`,
    `send GET ${pathname}; POST ${API_PATH}${handler} starts another one`,
    "GET, DELETE",
  );
}

/** Whether there is no such workflow, or it is somebody else's, nobody is told. */
export function unknownWorkflow(handler: string): RadicalError {
  return new RadicalError(
    "unknown_workflow",
    `The workflow of "${handler}" does not exist, or another caller has started it.`,
    `Use the path that POST ${API_PATH}${handler} has given in the header location, and sign in as the caller that started it.`,
  );
}

/** How long the client wants to wait (RFC 7240): `Prefer: wait=10` in seconds. Null: it does not say. */
export function waitMsOf({ headers }: Request): number | null {
  for (const preference of headers.get("prefer")?.split(",") ?? []) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;|$)/i.exec(preference) ?? [];
    if (seconds !== undefined) return Math.min(Number(seconds) * 1_000, MAX_WORKFLOW_WAIT_MS);
  }
  return null;
}
