/** Accounts: registering, logging in and out. */
import { Secret } from "@radical/sdk";
import { Session, authenticate, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";

/** Makes an account and logs in. */
export function register(name: string, password: Secret): Session {
  createAccount(name, password);
  return openSession(name);
}

/** Logs in; null: the name or the password is wrong. */
export function login(name: string, password: Secret): Session | null {
  return isPassword(name, password) ? openSession(name) : null;
}

export function logout(): void {
  closeSession();
}

/** The name of the caller; aborts with 401 if there is none. */
export function whoami(): string {
  return authenticate();
}
