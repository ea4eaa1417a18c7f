/**
 * The part of the generated client that follows workflows, as the text of TypeScript that it is. A workflow goes on by itself, so a
 * client that comes back finds it under its id.
 */
export const WORKFLOW_CLIENT = `
/** A workflow that was started. It goes on whether or not somebody waits for it. */
export interface Workflow<Result> {
  /** With it \`client.workflow\` finds the workflow again, for the same caller. */
  readonly id: string;
  /** Waits for the end, however long it takes. Rejects as the call would if the workflow has failed. */
  result(options?: WorkflowOptions): Promise<Result>;
  /** \`ended\`: it has a result, or has failed. */
  state(options?: WorkflowOptions): Promise<WorkflowState>;
  /** Asks it to end: it undoes what it has done, and fails with the code \`cancelled\`. */
  cancel(options?: WorkflowOptions): Promise<void>;
}

export type WorkflowState = "running" | "waiting" | "cancelling" | "undoing" | "stuck" | "ended";

export type WorkflowOptions = Pick<CallOptions, "signal" | "headers">;

/** For which one request waits. */
const WORKFLOW_WAIT_SECONDS = 20;

/** Starts it, and waits for its end. */
async function runWorkflow(options: ClientOptions, handler: string, args: unknown, call: CallOptions): Promise<unknown> {
  const key = call.idempotencyKey ?? newKey();
  const answer = await postWorkflow(options, handler, args, { ...call, idempotencyKey: key }, WORKFLOW_WAIT_SECONDS);
  return answer instanceof Working ? workflowOf(options, handler, answer.workflow, key).result(call) : answer;
}

/** Starts it. */
async function startWorkflow(options: ClientOptions, handler: string, args: unknown, call: CallOptions): Promise<Workflow<unknown>> {
  const key = call.idempotencyKey ?? newKey();
  let id = "";
  const note = (headers: Headers): void => {
    id = headers.get("x-radical-execution")?.replace(/^execution-/, "") ?? id;
  };
  try {
    const answer = await postWorkflow(options, handler, args, { ...call, idempotencyKey: key }, 0, note);
    if (answer instanceof Working) id = answer.workflow;
  } catch (error) {
    // It has failed already, which its result tells.
    if (id === "" || !(error instanceof RadicalClientError && error.isAbort)) throw error;
  }
  return workflowOf(options, handler, id, key);
}

function postWorkflow(
  options: ClientOptions,
  handler: string,
  args: unknown,
  call: CallOptions,
  seconds: number,
  note?: (headers: Headers) => void,
): Promise<unknown> {
  return callHandler(options, handler, args, { ...call, headers: { ...call.headers, prefer: \`wait=\${seconds}\` } }, null, note);
}

function workflowOf(options: ClientOptions, handler: string, id: string, key = ""): Workflow<unknown> {
  const url = \`\${originOf(options)}/api/\${encodeURIComponent(handler)}/\${encodeURIComponent(id)}\`;
  const ask = (method: string, seconds: number, { signal, headers }: WorkflowOptions): Promise<unknown> =>
    tried(options, handler, key, signal, async () => {
      const response = await (options.fetch ?? fetch)(url, {
        method,
        headers: { ...options.headers, ...headers, prefer: \`wait=\${seconds}\` },
        ...(signal === undefined ? {} : { signal }),
      });
      return wholeOf(await response.text(), response);
    });
  return {
    id,
    async result(of = {}) {
      for (;;) {
        const answer = await ask("GET", WORKFLOW_WAIT_SECONDS, of);
        if (!(answer instanceof Working)) return answer;
        if (answer.state === "stuck") await wait(options.maxWaitMs ?? 10_000, of.signal);
      }
    },
    async state(of = {}) {
      try {
        const answer = await ask("GET", 0, of);
        return answer instanceof Working ? (answer.state as WorkflowState) : "ended";
      } catch (error) {
        if (error instanceof RadicalClientError && error.isAbort) return "ended";
        throw error;
      }
    },
    async cancel(of = {}) {
      try {
        await ask("DELETE", 0, of);
      } catch (error) {
        if (!(error instanceof RadicalClientError && error.isAbort)) throw error;
      }
    },
  };
}
`;
