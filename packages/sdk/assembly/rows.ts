/**
 * The rows of ranges. A file of its own: the analyzer knows this class as it knows those of developers.
 */

/** An item of a {@link Range}. Changing its value changes nothing in the table: `put` it. */
export class Row<T> {
  constructor(
    /** The key of the item. */
    readonly key: string,
    /** The item. */
    readonly value: T,
    /** For `after` and `before`: the place of the row in its range, which survives deployments and deletes. */
    readonly cursor: string,
  ) {}
}
