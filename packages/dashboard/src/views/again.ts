/** Calls that this page has made: only of these it knows the arguments, so that it can send them again. */
import { signal } from "@preact/signals";
import type { DashboardCalled, DashboardCalls } from "@radical/protocol";
import { api, ApiError } from "../api.ts";

const MOST = 500;
/** The header says more before it. */
const EXECUTION_ID_LENGTH = 32;

export interface Sent {
  readonly calls: DashboardCalls;
  readonly answers: DashboardCalled["answers"];
}

const sent = new Map<string, DashboardCalls>();
/** The last one, or what is wrong with it. */
export const lastSent = signal<Sent | ApiError | null>(null);
export const isSending = signal(false);

/** Null: this page has not made it. */
export function repeatable(execution: string): DashboardCalls | null {
  return sent.get(execution) ?? null;
}

export async function again(calls: DashboardCalls): Promise<void> {
  isSending.value = true;
  try {
    const { answers } = await api.call(calls);
    for (const [index, { execution }] of answers.entries()) {
      const send = calls.sends[index];
      if (execution !== null && send !== undefined)
        sent.set(execution.slice(-EXECUTION_ID_LENGTH), { ...calls, sends: [send] });
    }
    for (const key of sent.keys()) if (sent.size > MOST) sent.delete(key);
    lastSent.value = { calls, answers };
  } catch (error) {
    lastSent.value = error instanceof ApiError ? error : new ApiError(String(error), "");
  } finally {
    isSending.value = false;
  }
}
