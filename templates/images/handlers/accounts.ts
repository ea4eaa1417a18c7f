/** Accounts: registering, logging in and out. */
import { Session, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";

/** Makes an account and logs in. */
export function register(name: string, password: string): Session {
  createAccount(name, password);
  return openSession(name);
}

/** Logs in; null: the name or the password is wrong. */
export function login(name: string, password: string): Session | null {
  return isPassword(name, password) ? openSession(name) : null;
}

export function logout(): void {
  closeSession();
}
