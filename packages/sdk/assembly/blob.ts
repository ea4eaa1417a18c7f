/**
 * Blobs: bytes that lie in a store of their own. A file of its own: the analyzer knows this class as it knows those of
 * developers.
 */

/**
 * Bytes that a client has put, under their SHA-256. Clients send it, and handlers store and return it. No handler reads the
 * bytes or makes a Blob:
 *
 *     export class User { name: string = ""; picture: Blob | null = null; }
 *     const users = new Table<User>("users");
 *
 *     export function setPicture(name: string, picture: Blob): void {
 *       const user = users.get(name);
 *       if (user == null) return;
 *       user.picture = picture;
 *       users.put(name, user);
 *     }
 *
 * An execution that is given a Blob whose bytes are not there ends: 409 `blob_missing`.
 */
// @ts-ignore: decorator
@final
export class Blob {
  /** The SHA-256 of the bytes, as 64 lower-case hexadecimal digits. */
  readonly hash: string = "";
  /** How many bytes there are. */
  readonly size: i64 = 0;
  /** Their media type, such as `image/png`. */
  readonly type: string = "";

  private constructor() {}
}
