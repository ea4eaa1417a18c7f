import { abort, caller } from "@radical/sdk";

/** Ends the execution unless the application's own Worker has called. No client can name this caller: see `authenticate`. */
export function requireWorker(): void {
  if (caller() != "worker") abort(403, "not_for_clients", "Only the Worker calls this handler.");
}
