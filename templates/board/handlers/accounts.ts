/** Accounts: registering, logging in and out. */
import { Session, checkPassword, closeSession, createAccount, openSession } from "./lib/accounts";
import { Person, people } from "./lib/records";

/** Makes an account and logs in. */
export function register(name: string, password: string): Session {
  createAccount(name, password);
  const person = new Person();
  person.name = name;
  people.put(name, person);
  return openSession(name);
}

export function login(name: string, password: string): Session {
  checkPassword(name, password);
  return openSession(name);
}

export function logout(token: string): void {
  closeSession(token);
}
