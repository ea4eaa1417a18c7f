/**
 * For tests: handlers run as what they are written as, TypeScript. Their types are stripped, and the SDK is one of this file.
 */
import { stripTypeScriptTypes } from "node:module";

/** How a run ended. */
type Ending =
  | { readonly kind: "result"; readonly value: unknown }
  | { readonly kind: "abort"; readonly status: number; readonly code: string }
  /** JavaScript threw. */
  | { readonly kind: "error"; readonly message: string };

class Aborted extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Keeps items as JSON, as it gives copies. */
class Table {
  readonly #items = new Map<string, string>();

  get(key: string): unknown {
    const text = this.#items.get(key);
    return text === undefined ? null : JSON.parse(text);
  }

  put(key: string, value: unknown): void {
    this.#items.set(key, JSON.stringify(value));
  }

  delete(key: string): void {
    this.#items.delete(key);
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }
}

const SDK: Readonly<Record<string, unknown>> = {
  Table,
  abort: (status: number, code: string, message: string): never => {
    throw new Aborted(status, code, message);
  },
  log: (): void => undefined,
  now: (): number => 1_700_000_000_000,
  caller: (): string | null => null,
};

/** Calls a handler of one file, as TypeScript. Its arguments are given by name. */
export function runAsTypeScript(source: string, handler: string, args: Readonly<Record<string, unknown>>): Ending {
  const script = stripTypeScriptTypes(source, { mode: "transform" })
    .replaceAll(/\bimport [^;]*;/g, "")
    .replaceAll(/\bexport (?=function|class|const|let)/g, "");
  const imported = /\bimport \{([^}]*)\} from "@radical\/sdk"/.exec(source)?.[1] ?? "";
  const names = Object.keys(SDK).filter((name) => imported.split(/[\s,]+/).includes(name));
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func -- the sources are those of the tests
  const make = new Function(...names, `"use strict"; ${script}\nreturn ${handler};`) as (
    ...given: readonly unknown[]
  ) => (...given: readonly unknown[]) => unknown;
  const found = make(...names.map((name) => SDK[name]));
  // A copy: handlers may change their arguments.
  const given = structuredClone(args);
  try {
    return { kind: "result", value: inJson(found(...parametersOf(source, handler).map((name) => given[name]))) };
  } catch (error) {
    if (error instanceof Aborted) return { kind: "abort", status: error.status, code: error.code };
    return { kind: "error", message: String(error) };
  }
}

/** The names of the parameters, in order. */
function parametersOf(source: string, handler: string): readonly string[] {
  const start = source.indexOf(`export function ${handler}(`) + `export function ${handler}(`.length;
  const names: string[] = [];
  // A name and a colon outside of all brackets.
  for (let at = start, depth = 0; depth >= 0 && at < source.length; at++) {
    if ("([{<".includes(source[at]!)) depth++;
    else if (")]}>".includes(source[at]!)) depth--;
    const name = depth === 0 ? /^(\w+)\??:/.exec(source.slice(at))?.[1] : undefined;
    if (name !== undefined && !/\w/.test(source[at - 1]!)) names.push(name);
  }
  return names;
}

/** A value as clients see it. */
function inJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : JSON.parse(text);
}
