/** The Worker of a newsletter: a form, addresses from a queue, and a schedule. */
import { CallError, type Context, createRadical } from "radical:worker";

interface Bindings {
  readonly ADDRESSES: { send(address: string): Promise<unknown> };
  /** A request that hands a list in has it. */
  readonly LIST_SECRET?: string;
}

interface Batch {
  readonly messages: readonly { readonly body: string }[];
}

const radical = createRadical<Bindings>();

async function answerForm(request: Request, env: Bindings): Promise<Response> {
  try {
    const address = String((await request.formData()).get("address"));
    // #region call
    const endsAt = await radical(env).call("subscribe", { address }, { request });
    // #endregion
    return new Response(`Confirm it before ${new Date(endsAt).toISOString()}.`);
  } catch (error) {
    if (error instanceof CallError) return error.toResponse();
    throw error;
  }
}

/** One address a line. */
async function importList(request: Request, env: Bindings): Promise<Response> {
  if (!env.LIST_SECRET || request.headers.get("authorization") !== `Bearer ${env.LIST_SECRET}`)
    return new CallError(403, "forbidden", "Only those who keep the newsletter hand a list in.").toResponse();
  const lines = (await request.text()).split("\n").map((line) => line.trim());
  for (const address of lines.filter((line) => line.includes("@"))) await env.ADDRESSES.send(address);
  return new Response(null, { status: 202 });
}

async function route(request: Request, env: Bindings, context: Context): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && pathname === "/form") return answerForm(request, env);
  if (request.method === "POST" && pathname === "/list") return importList(request, env);
  return radical.fetch(request, env, context);
}

// #region events
export default {
  fetch: route,
  scheduled: async (_event: unknown, env: Bindings) => void (await radical(env).call("deleteOldRequests", {})),
  queue: async (batch: Batch, env: Bindings) => {
    for (const { body } of batch.messages)
      await radical(env).call("importReader", { address: body }, { caller: "worker" });
  },
};
// #endregion
