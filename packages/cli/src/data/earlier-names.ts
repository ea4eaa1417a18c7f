/**
 * Whether a build that serves reads fields by names that a rewriting takes away. Such a build would find initial values there,
 * and what it then stores under the earlier name would never be read again.
 */
import type { Field, ModuleHash, RecordTypes, StoredTypes, ValueType } from "@radical/protocol";
import { storedTypesOf } from "@radical/app";
import { CommandError } from "@radical/app/command-error";
import { moduleContent, registeredModules } from "@radical/admin";
import type { DataServer } from "./data-server.ts";

/** A build counts as one that serves for so long after a location has asked for it. */
const SERVES_MS = 10 * 60_000;

/** Throws a CommandError if a module that was asked for lately reads a field of the table by an earlier name only. */
export async function checkEarlierNames({ url, key }: DataServer, table: string, types: StoredTypes): Promise<void> {
  const admin = { urls: [url], key };
  const since = Date.now() - SERVES_MS;
  const modules = (await registeredModules(admin)).filter(({ usedAtMs }) => (usedAtMs ?? 0) > since);
  for (const { module } of modules) {
    const content = await moduleContent(admin, module);
    const before = content === null ? null : storedTypesOf(content.wasm);
    const [path] = before === null ? [] : earlierNames(table, types, before);
    if (path !== undefined) throw stillServes(module, path);
  }
}

function stillServes(module: ModuleHash, path: string): CommandError {
  return new CommandError(
    "earlier_build_serves",
    `A build that was used in the last ten minutes reads ${path}, which a rewriting takes away: it would find the initial value there. Its module is ${module.slice(0, 12)}.`,
    "Deploy the present build, wait until no location has asked for the other one for ten minutes, and run the same command again.",
  );
}

/** The fields that a build of the types `before` reads, and `present` reads as former names: `notes[].lines[].body`. */
export function earlierNames(table: string, present: StoredTypes, before: StoredTypes): readonly string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const compare = (now: ValueType, then: ValueType, path: string): void => {
    if (now.kind === "nullable") compare(now.inner, then, path);
    else if (then.kind === "nullable") compare(now, then.inner, path);
    else if (now.kind === "array" && then.kind === "array") compare(now.element, then.element, `${path}[]`);
    else if (now.kind === "map" && then.kind === "map") compare(now.value, then.value, `${path}[]`);
    else if (now.kind === "tuple" && then.kind === "tuple")
      now.elements.forEach((element, index) => {
        const other = then.elements[index];
        if (other !== undefined) compare(element, other, `${path}[${index}]`);
      });
    else if (now.kind === "record" && then.kind === "record") {
      const pair = JSON.stringify([now.name, then.name]);
      if (seen.has(pair)) return;
      seen.add(pair);
      const fields = fieldsOf(before.records, then.name);
      for (const field of fieldsOf(present.records, now.name)) {
        const reader = fields.find((other) => reads(other, field.name));
        const former = fields.find((other) => (field.was ?? []).includes(other.name));
        if (reader === undefined && former !== undefined) found.push(`${path}.${former.name}`);
        const other = reader ?? former;
        if (other !== undefined) compare(field.type, other.type, `${path}.${other.name}`);
      }
    }
  };
  const [now, then] = [present.tables[table], before.tables[table]];
  if (now !== undefined && then !== undefined) compare(now, then, `${table}[]`);
  return found;
}

function reads({ name, was = [] }: Field, stored: string): boolean {
  return name === stored || was.includes(stored);
}

function fieldsOf(records: RecordTypes, name: string): readonly Field[] {
  return records[name]?.fields ?? [];
}
