import { Index, Table, abort, caller, now, sha256 } from "@radical/sdk";
import { requireWorker } from "./lib/worker-only";

// #region sessions
export class Session {
  user: string = "";
  endsAt: i64 = 0;
}

/** By the hash of the caller, which has the random id of the cookie. So the table does not tell how to be somebody. */
const sessions = new Table<Session>("sessions");
const byEnd = new Index<Session>(sessions, "endsAt");

/** The user of the session that calls. Ends the execution with 401 if the session is over. */
function signedIn(): string {
  const session = sessions.get(sha256(caller() ?? "nobody"));
  if (session == null || session.endsAt <= now()) abort(401, "unauthenticated", "Log in first.");
  return session.user;
}

export function whoAmI(): string {
  return signedIn();
}

/** Ends the session at all locations at once. */
export function logOut(): void {
  signedIn();
  sessions.delete(sha256(caller()!));
}
// #endregion

// #region open
/** Begins a session. For the Worker only, which has found out who the user is. */
export function openSession(id: string, user: string, ms: i64 = 43_200_000): void {
  requireWorker();
  sessions.put(sha256(`session-${id}`), { user, endsAt: now() + ms });
}
// #endregion

// #region sweep
/** Deletes sessions that are over, the oldest first, and tells how many. For the Worker only. */
export function deleteOldSessions(most: i32 = 100): i32 {
  requireWorker();
  const time = now();
  let deleted: i32 = 0;
  for (const row of byEnd.all().first(most)) {
    if (row.value.endsAt > time) break;
    sessions.delete(row.key);
    deleted++;
  }
  return deleted;
}
// #endregion
