/** Accounts: registering, logging in and out, and what everybody may see of a person. */
import { Secret, now } from "@radical/sdk";
import { Session, closeSession, createAccount, isPassword, openSession } from "./lib/accounts";
import { findPerson } from "./lib/people";
import { PeoplePage, Person, PostPage, ProfileView, followers, following, people } from "./lib/records";
import { viewNames, viewPostsOf } from "./lib/views";

/** Makes an account and logs in. */
export function register(name: string, password: Secret, bio: string = ""): Session {
  createAccount(name, password);
  const person = new Person();
  person.name = name;
  person.bio = bio;
  person.joinedAt = now();
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

/** The page of a person, which everybody may see, with the newest posts. */
export function profile(name: string): ProfileView {
  const person = findPerson(name);
  const view = new ProfileView();
  view.name = person.name;
  view.bio = person.bio;
  view.joinedAt = person.joinedAt;
  view.followers = followers.prefix(name + "/").count();
  view.following = following.prefix(name + "/").count();
  view.posts = viewPostsOf(name, null, 10);
  return view;
}

/** Posts of a person, the newest first: those before a cursor of `profile` or of an earlier page. */
export function posts(name: string, before: string | null = null, limit: i32 = 20): PostPage {
  findPerson(name);
  return viewPostsOf(name, before, limit);
}

/** The followers of a person, in the order of the names; `after`: the names behind a page. */
export function followersOf(name: string, after: string | null = null, limit: i32 = 50): PeoplePage {
  findPerson(name);
  return viewNames(followers, name, after, limit);
}

/** Those that a person follows, in the order of the names; `after`: the names behind a page. */
export function followingOf(name: string, after: string | null = null, limit: i32 = 50): PeoplePage {
  findPerson(name);
  return viewNames(following, name, after, limit);
}
