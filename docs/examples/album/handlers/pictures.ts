import { Blob, Table, abort, caller } from "@radical/sdk";

export class User {
  name: string = "";
  picture: Blob | null = null;
}
const users = new Table<User>("users");

export function setPicture(picture: Blob): void {
  const me = caller();
  if (me == null) abort(401, "not_signed_in", "Sign in first.");
  const user = users.get(me) ?? new User();
  user.picture = picture;
  users.put(me, user);
}

export function pictureOf(name: string): Blob | null {
  const user = users.get(name);
  return user == null ? null : user.picture;
}
