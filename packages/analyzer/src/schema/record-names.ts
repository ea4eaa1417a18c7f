/**
 * Names for records to which the developer gave none: clients see them after the place where they are used. The result of `listEvents`
 * is a `ListEventsResult`, an element of the parameter `sections` of `createEvent` a `CreateEventSection`.
 */
import { type as, ElementKind } from "../parse/assemblyscript.ts";

export class RecordNames {
  readonly #taken = new Set<string>();

  constructor(program: as.Program) {
    for (const { source, members } of program.filesByName.values()) {
      if (source.isLibrary) continue;
      for (const element of members?.values() ?? [])
        if (element.kind === ElementKind.ClassPrototype) this.#taken.add(element.name);
    }
  }

  /** A name that no other record has. `path`: that of the handler or record, and of its part. */
  nameOf(path: readonly string[]): string {
    // A method of objects has two names.
    const words = path.flatMap((name) => name.split("."));
    const wanted = words.map((name) => name.charAt(0).toUpperCase() + name.slice(1)).join("");
    let name = wanted;
    for (let number = 2; this.#taken.has(name); number++) name = `${wanted}${number}`;
    this.#taken.add(name);
    return name;
  }
}
