/** Tables of objects, whose methods clients call. */
import { Table } from "./index";

/**
 * A table of objects of class `T` by their ids. Declared once, at module level, with a literal name:
 *
 *     export class Thread {
 *       id: string = "";
 *       posts: i32 = 0;
 *       create(): void { this.save(); }
 *       reply(): i32 { this.posts += 1; this.save(); return this.posts; }
 *     }
 *     const threads = new Objects<Thread>("threads");
 *
 * Clients call the public methods of `T`: `POST /api/Thread/<id>/reply`. The build gives `T` the method `save()`, which
 * puts the object under its `id`.
 */
export class Objects<T> extends Table<T> {
  constructor(
    /** As of a table, whose name no other table has. */
    name: string,
  ) {
    super(name);
  }
}
