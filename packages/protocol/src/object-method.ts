/**
 * Handlers that are methods of objects. `Thread.reply` is the method `reply` of the class `Thread`. Its first parameter `id`
 * names the object, and stands in the path: `POST /api/Thread/<id>/reply`.
 */
import { isKey, MAX_KEY_BYTES } from "./ids.ts";

/** The path below which handlers answer. */
export const API_PATH = "/api/";

/** The parameter that names the object. */
export const OBJECT_ID = "id";

/** The method that makes an object. */
export const OBJECT_CREATION = "create";

export interface ObjectMethod {
  readonly className: string;
  readonly method: string;
}

/** The method that a handler is; null: the handler is a function. */
export function objectMethod(handler: string): ObjectMethod | null {
  const dot = handler.indexOf(".");
  return dot < 0 ? null : { className: handler.slice(0, dot), method: handler.slice(dot + 1) };
}

/** The path of a call, with the arguments that are not in it. Ids that are only dots have none: a URL drops such segments. */
export function callPath(handler: string, args: unknown): { readonly path: string; readonly args: unknown } {
  const called = objectMethod(handler);
  if (called === null || typeof args !== "object" || args === null) return { path: `${API_PATH}${handler}`, args };
  const { [OBJECT_ID]: id, ...others } = args as Readonly<Record<string, unknown>>;
  return { path: `${API_PATH}${called.className}/${encodeURIComponent(String(id))}/${called.method}`, args: others };
}

/** A path below `/api/`. */
export interface CalledPath {
  readonly handler: string;
  /** Of the object; null: the handler is not a method. */
  readonly id: string | null;
}

/** The call that a path means; null: the path names no handler, or an id that no object can have. */
export function readCallPath(pathname: string): CalledPath | null {
  if (!pathname.startsWith(API_PATH)) return null;
  const [name = "", encoded, method, ...more] = pathname.slice(API_PATH.length).split("/");
  if (objectMethod(name) !== null) return null;
  if (encoded === undefined) return { handler: name, id: null };
  if (method === undefined || more.length > 0 || objectMethod(method) !== null) return null;
  try {
    const id = decodeURIComponent(encoded);
    return isKey(id) ? { handler: `${name}.${method}`, id } : null;
  } catch {
    return null;
  }
}

/** The words for an id that no object can have. */
export const OBJECT_ID_HINT = `The id of an object is text of 1 to ${MAX_KEY_BYTES} UTF-8 bytes, encoded for a URL.`;
