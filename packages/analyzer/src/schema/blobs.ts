/** Which handlers are given Blobs: they read whether the bytes are there before they read their arguments. */
import type { ValueType } from "@radical/protocol";
import { isBlobClass } from "../parse/blobs.ts";
import type { Schema } from "./schema.ts";

export function handlersWithBlobs({ handlers, records }: Pick<Schema, "handlers" | "records">): ReadonlySet<string> {
  const blob = records.find((record) => isBlobClass(record.class));
  if (blob === undefined) return new Set();
  const fields = new Map(records.map(({ name, fields: own }) => [name, own]));
  const holds = (type: ValueType, within: ReadonlySet<string>): boolean => {
    switch (type.kind) {
      case "array":
        return holds(type.element, within);
      case "map":
        return holds(type.value, within);
      case "nullable":
        return holds(type.inner, within);
      case "tuple":
        return type.elements.some((element) => holds(element, within));
      case "record": {
        if (type.name === blob.name) return true;
        if (within.has(type.name)) return false;
        const deeper = new Set([...within, type.name]);
        return (fields.get(type.name) ?? []).some((field) => holds(field.type, deeper));
      }
      default:
        return false;
    }
  };
  const given = handlers.filter(({ parameters }) => parameters.some(({ type }) => holds(type, new Set())));
  return new Set(given.map(({ name }) => name));
}
