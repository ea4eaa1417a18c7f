/** Accounts: registering, logging in and out. */
import { Session, checkPassword, closeSession, createAccount, openSession } from "./lib/accounts";

/** Makes an account and logs in. */
export function register(name: string, password: string): Session {
  createAccount(name, password);
  return openSession(name);
}

export function login(name: string, password: string): Session {
  checkPassword(name, password);
  return openSession(name);
}

export function logout(token: string): void {
  closeSession(token);
}
