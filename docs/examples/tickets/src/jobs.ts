/** The work that the schedule asks for. It may be cut off at any point, and run twice at once: nothing is lost, no mail sent twice. */
import type { Calls } from "radical:worker";
import type { Bindings } from "./worker.ts";

const AS_WORKER = { caller: "worker" };

export async function runJobs(env: Bindings, calls: Calls): Promise<{ sent: number; deleted: number }> {
  const deleted = await calls.call("deleteOldSessions", {}, AS_WORKER);
  return { sent: await sendMail(env, calls), deleted };
}

async function sendMail(env: Bindings, calls: Calls): Promise<number> {
  let sent = 0;
  for (const { key, mail } of await calls.call("waitingMail", {}, AS_WORKER)) {
    const response = await fetch(env.MAIL_URL, {
      method: "POST",
      body: JSON.stringify({ to: mail.to, text: mail.text }),
      // The service sends one mail for one key, however often it is asked.
      headers: { "content-type": "application/json", "idempotency-key": mail.id },
    });
    // It stays in the outbox, and the next run tries again.
    if (!response.ok) continue;
    await calls.call("mailSent", { key }, AS_WORKER);
    sent++;
  }
  return sent;
}
