/** Which image or pool is meant. */
import { abort } from "@radical/sdk";
import { isId } from "./accounts";
import { Image, Pool, imageKey, images, pools } from "./records";

/** The image `id`; aborts with 404 if there is none. */
export function findImage(id: i32): Image {
  const image = images.get(imageKey(id));
  if (image == null) {
    abort(404, "no_such_image", `There is no image ${id}.`);
  }
  return image;
}

/** The pool `id`; aborts with 404 if there is none. */
export function findPool(id: string): Pool {
  const pool = isId(id) ? pools.get(id) : null;
  if (pool == null) {
    abort(404, "no_such_pool", `There is no pool "${id}".`);
  }
  return pool;
}
