/** Accounts: registering, logging in and out. */
import { Secret } from "@radical/sdk";
import { Session, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";
import { Person, people } from "./lib/records";

/** Makes an account and logs in. */
export function register(name: string, password: Secret): Session {
  createAccount(name, password);
  const person = new Person();
  person.name = name;
  people.put(name, person);
  return openSession(name);
}

/** Logs in; null: the name or the password is wrong. */
export function login(name: string, password: Secret): Session | null {
  return isPassword(name, password) ? openSession(name) : null;
}

export function logout(): void {
  closeSession();
}
