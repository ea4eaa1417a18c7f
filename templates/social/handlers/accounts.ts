/** Accounts: registering, logging in and out, and what everybody may see of a person. */
import { abort, now, uuid } from "@radical/sdk";
import { ITERATIONS, pbkdf2 } from "./lib/pbkdf2";
import { Account, Person, ProfileView, Session, Timeline, accounts, people, sessions, timelines } from "./lib/records";
import { findPerson, isId, isName, openSession } from "./lib/people";
import { viewPosts } from "./lib/views";

/** Makes an account and logs in. */
export function register(name: string, password: string, bio: string = ""): Session {
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

  const person = new Person();
  person.name = name;
  person.bio = bio;
  person.joinedAt = now();
  people.put(name, person);
  timelines.put(name, new Timeline());
  return openSession(name);
}

export function login(name: string, password: string): Session {
  const account = isName(name) ? accounts.get(name) : null;
  if (account == null) {
    abort(401, "wrong_password", "Name or password is wrong.");
  }
  if (pbkdf2(password, account.salt, ITERATIONS) != account.passwordHash) {
    abort(401, "wrong_password", "Name or password is wrong.");
  }
  return openSession(name);
}

/** Closes a session; closing it again does nothing. */
export function logout(token: string): void {
  if (isId(token)) sessions.delete(token);
}

/** What everybody may see of a person, with the newest posts. */
export function profile(name: string): ProfileView {
  const person = findPerson(name);
  const view = new ProfileView();
  view.name = person.name;
  view.bio = person.bio;
  view.joinedAt = person.joinedAt;
  view.followers = person.followers.length;
  view.following = person.following.length;
  view.posts = viewPosts(person.posts, 10);
  return view;
}
