/** The server for those who may start one: it is loaded then, and not by each program that reads its storage. */
import type { RunningServer, ServerOptions } from "./server.ts";

/** Resolves when the server serves. It listens before, and says that it is not ready. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = await import("./server.ts");
  return server.startServer(options);
}
