/** Who is calling and who is meant: handlers that act for somebody take the token of a session. */
import { abort, now, uuid } from "@radical/sdk";
import { Person, Session, people, sessions } from "./records";

/** Opens a session of the account `name`. */
export function openSession(name: string): Session {
  const session = new Session();
  session.token = uuid();
  session.name = name;
  session.since = now();
  sessions.put(session.token, session);
  return session;
}

/** The name behind `token`; aborts with 401 if there is no such session. */
export function authenticate(token: string): string {
  const session = isId(token) ? sessions.get(token) : null;
  if (session == null) {
    abort(401, "not_logged_in", "The token belongs to no open session: log in again.");
  }
  return session.name;
}

/** The person called `name`; aborts with 404 if there is none. */
export function findPerson(name: string): Person {
  const person = isName(name) ? people.get(name) : null;
  if (person == null) {
    abort(404, "no_such_person", `There is nobody called "${name}".`);
  }
  return person;
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

/** Tokens and ids of posts are made by `uuid()`. */
export function isId(text: string): bool {
  return text.length == 36;
}
