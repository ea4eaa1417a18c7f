/**
 * Accounts with passwords, and sessions. The caller of a handler is a session: `src/sessions.ts` finds it by a cookie. Here is whose
 * it is, and whether it is open.
 */
import { Secret, Table, abort, caller, hashPassword, needsRehash, now, verifyPassword } from "@radical/sdk";

const MINUTE: i64 = 60_000;
const SESSION_LASTS: i64 = 30 * 24 * 60 * MINUTE;
/** After so many wrong passwords an account is closed for a while. */
const MOST_FAILURES: i32 = 10;
const FAILURES_COUNT_FOR: i64 = 15 * MINUTE;

/** The proof of a login. Never returned by a handler. */
export class Account {
  name: string = "";
  passwordHash: string = "";
  /** Wrong passwords since the last login, and the time from which they count no more. */
  failures: i32 = 0;
  failuresUntil: i64 = 0;
}

/** A login that is open, as its owner sees it. */
export class Session {
  name: string = "";
  expiresAt: i64 = 0;
}

/** A login that is open, as it is stored. */
class OpenSession {
  name: string = "";
  expiresAt: i64 = 0;
}

/** By name. */
const accounts = new Table<Account>("accounts");
/** By caller, which is a hash: the table does not tell how to be somebody. */
const sessions = new Table<OpenSession>("sessions");

/** Makes the account `name`; aborts if there is one, or if the name or the password can't be. */
export function createAccount(name: string, password: Secret): void {
  if (!isName(name)) {
    abort(400, "bad_name", "A name has 2 to 20 lowercase letters, digits and dashes.");
  }
  if (password.length < 8) {
    abort(400, "weak_password", "A password has at least 8 characters.");
  }
  if (accounts.has(name)) {
    abort(409, "name_taken", `The name "${name}" is taken.`);
  }
  const account = new Account();
  account.name = name;
  account.passwordHash = hashPassword(password);
  accounts.put(name, account);
}

/**
 * Whether this is the password of the account `name`; the answer takes as long for a name that nobody has. It counts wrong
 * passwords, so a handler must not abort after it: that would undo the count.
 */
export function isPassword(name: string, password: Secret): bool {
  const account = isName(name) ? accounts.get(name) : null;
  const isCounted = account != null && now() < account.failuresUntil;
  if (account != null && isCounted && account.failures >= MOST_FAILURES) {
    abort(429, "too_many_attempts", "There were too many wrong passwords: try again in a quarter of an hour.");
  }
  const isRight = verifyPassword(password, account == null ? null : account.passwordHash);
  if (account == null) return false;
  if (isRight) {
    account.failures = 0;
    account.failuresUntil = 0;
    if (needsRehash(account.passwordHash)) account.passwordHash = hashPassword(password);
  } else {
    account.failures = isCounted ? account.failures + 1 : 1;
    account.failuresUntil = now() + FAILURES_COUNT_FOR;
  }
  accounts.put(name, account);
  return isRight;
}

/** Has the session that calls be one of the account `name`. Without a session the execution fails: no key is empty. */
export function openSession(name: string): Session {
  const stored = new OpenSession();
  stored.name = name;
  stored.expiresAt = now() + SESSION_LASTS;
  sessions.put(caller() ?? "", stored);
  const opened = new Session();
  opened.name = name;
  opened.expiresAt = stored.expiresAt;
  return opened;
}

/** Closes the session that calls; closing it again does nothing. */
export function closeSession(): void {
  const session = caller();
  if (session != null) sessions.delete(session);
}

/** The name of the account whose session calls; aborts with 401 if there is none. */
export function authenticate(): string {
  const open = sessions.get(caller() ?? "nobody");
  if (open == null || open.expiresAt <= now()) {
    abort(401, "not_logged_in", "You are not logged in: log in first.");
  }
  return open.name;
}

/** Names have 2 to 20 lowercase letters, digits and dashes. */
export function isName(text: string): bool {
  if (text.length < 2 || text.length > 20) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const letter = code >= 97 && code <= 122;
    const digit = code >= 48 && code <= 57;
    if (!letter && !digit && code != 45) return false;
  }
  return true;
}

/** Ids are made by `uuid()`. */
export function isId(text: string): bool {
  return text.length == 36;
}
