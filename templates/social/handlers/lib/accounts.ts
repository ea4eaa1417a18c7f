/** Accounts with passwords, and sessions: handlers that act for somebody take the token of a session. */
import { Table, abort, now, uuid } from "@radical/sdk";
import { ITERATIONS, pbkdf2 } from "./pbkdf2";

/** What proves a login. Never returned by a handler. */
export class Account {
  name: string = "";
  salt: string = "";
  passwordHash: string = "";
}

/** A login that is open: who it belongs to. */
export class Session {
  token: string = "";
  name: string = "";
  since: i64 = 0;
}

/** By name. */
const accounts = new Table<Account>("accounts");
/** By token. */
const sessions = new Table<Session>("sessions");

/** Makes the account `name`; aborts if there is one, or if the name or the password can't be. */
export function createAccount(name: string, password: string): void {
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
  account.salt = uuid();
  account.passwordHash = pbkdf2(password, account.salt, ITERATIONS);
  accounts.put(name, account);
}

/** Aborts with 401 unless this is the password of the account `name`. */
export function checkPassword(name: string, password: string): void {
  const account = isName(name) ? accounts.get(name) : null;
  if (account == null) {
    abort(401, "wrong_password", "Name or password is wrong.");
  }
  if (pbkdf2(password, account.salt, ITERATIONS) != account.passwordHash) {
    abort(401, "wrong_password", "Name or password is wrong.");
  }
}

/** Opens a session of the account `name`. */
export function openSession(name: string): Session {
  const session = new Session();
  session.token = uuid();
  session.name = name;
  session.since = now();
  sessions.put(session.token, session);
  return session;
}

/** Closes a session; closing it again does nothing. */
export function closeSession(token: string): void {
  if (isId(token)) sessions.delete(token);
}

/** The name behind `token`; aborts with 401 if there is no such session. */
export function authenticate(token: string): string {
  const session = isId(token) ? sessions.get(token) : null;
  if (session == null) {
    abort(401, "not_logged_in", "The token belongs to no open session: log in again.");
  }
  return session.name;
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

/** Tokens and ids are made by `uuid()`. */
export function isId(text: string): bool {
  return text.length == 36;
}
