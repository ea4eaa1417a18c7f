/** Names of TypeScript and of platforms that handlers don't have, each with the form to use in its place. */
import type { DiagnosticCode } from "../diagnostics/catalogue.ts";
import { REGULAR_EXPRESSION } from "../diagnostics/words.ts";

export interface ForeignName {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: string;
}

interface Entry {
  readonly code: DiagnosticCode;
  /** Separated by spaces. */
  readonly names: string;
  /** The end of the sentence that begins with "Handlers have no `name`, because". */
  readonly reason: string;
  readonly help: string;
}

const PLATFORM_HELP =
  "Use `@radical/sdk` and AssemblyScript's library: numbers, `String`, `Array`, `Map`, `Set`, `Math`, `Date` and typed arrays.";
const IMPORT_HELP = 'Import at the top of the file: `import { User } from "../lib/models";`.';
const COMPUTED_HELP =
  "Write the name of the member itself. For computed names use a map: `const ages = new Map<string, i32>();`.";

/** `JSON.stringify` is the one part of it that handlers have. */
const PARSED_JSON: ForeignName = {
  code: "json_not_available",
  message: "Handlers can't parse JSON, because the compiler must know the type of each value.",
  help: "Take the record as a parameter: Radical parses and checks its JSON before the handler runs. `JSON.stringify(record)` makes a text of a record.",
};

const ENTRIES: readonly Entry[] = [
  {
    code: "any_type",
    names: "any",
    reason: "the compiler must know the type of each value",
    help: "Write the type that the value has.",
  },
  {
    code: "unknown_type",
    names: "unknown object",
    reason: "the compiler must know the type of each value",
    help: "Write the type that the value has.",
  },
  {
    code: "unknown_type",
    names: "bigint",
    reason: "their large integers have 64 bits",
    help: "Write `i64`: `const large: i64 = 10;`.",
  },
  {
    code: "unknown_type",
    names: "undefined",
    reason: "a missing value is `null`",
    help: "Write `null`, and `T | null` for the type.",
  },
  {
    code: "unknown_type",
    names: "null",
    reason: "it is not a type by itself",
    help: "Write it with the type of the other values: `string | null`.",
  },
  {
    code: "unknown_type",
    names: "never",
    reason: "each type has values",
    help: "Write `void` for the result of a function that does not return, or call `abort` where you need it.",
  },
  {
    code: "unknown_type",
    names: "Promise Awaited",
    reason: "they never wait",
    help: "Leave out `async`, `await` and `Promise`, and write the type of the value itself.",
  },
  {
    code: "unknown_type",
    names: "Partial Readonly Required ReturnType",
    reason: "the compiler has no operators on types",
    help: "Write out the resulting type: `type Change = { text?: string; note?: string };`.",
  },
  {
    code: "platform_name",
    names: "Pick Omit",
    reason: "the compiler has no operators on types",
    help: "Write out the resulting type: `type Change = { text?: string; note?: string };`.",
  },
  {
    code: "unknown_type",
    names: "ReadonlySet ReadonlyMap",
    reason: "the compiler does not know read-only collections",
    help: "Write `Set` or `Map`.",
  },
  {
    code: "platform_name",
    names: "ReadonlyArray",
    reason: "the compiler does not know read-only collections",
    help: "Write `Array`, or `T[]`.",
  },
  {
    code: "platform_name",
    names: "Iterable Iterator",
    reason: "their loops go over arrays, typed arrays, strings, sets and maps alone",
    help: "Take or return an array: `T[]`.",
  },
  {
    code: "nondeterministic",
    names: "setTimeout setInterval setImmediate clearTimeout clearInterval queueMicrotask",
    reason: "they never wait",
    help: "Do the work in this call, or in a later call of a client or of your Worker.",
  },
  {
    code: "nondeterministic",
    names: "fetch Headers Request Response WebSocket XMLHttpRequest EventTarget AbortController",
    reason: "each run of an execution must have the same result",
    help: "Call the other service from your Worker or your client, and pass its answer as an argument.",
  },
  {
    code: "nondeterministic",
    names: "process",
    reason: "each run of an execution must have the same result",
    help: "Write a setting as a constant, `const MOST = 20;`, or keep it in a table. Your own Worker can read its environment, and pass a value as an argument.",
  },
  {
    code: "nondeterministic",
    names: "globalThis window self document navigator URL URLSearchParams WebAssembly",
    reason: "they run alike on every machine, without a platform",
    help: PLATFORM_HELP,
  },
  {
    code: "nondeterministic",
    names: "Buffer TextEncoder TextDecoder",
    reason: "they run alike on every machine, without a platform",
    help: "Write `String.UTF8.encode(text)` for the bytes of a text, and `String.UTF8.decode(bytes)` for the text of bytes.",
  },
  {
    code: "nondeterministic",
    names: "require module",
    reason: "the build compiles all files together",
    help: IMPORT_HELP,
  },
  {
    code: "platform_name",
    names: "arguments",
    reason: "each argument has the name of its parameter",
    help: "Name the parameters, or take an array.",
  },
  {
    code: "platform_name",
    names: "eval Proxy Reflect",
    reason: "all code is compiled before it runs",
    help: COMPUTED_HELP,
  },
  {
    code: "platform_name",
    names: "structuredClone",
    reason: "a literal makes a copy of a record",
    help: "Copy the fields: `const copy: User = { ...user };`.",
  },
  {
    code: "platform_name",
    names: "escape unescape",
    reason: "these are old functions of JavaScript",
    help: "Write `encodeURIComponent(text)` and `decodeURIComponent(text)`.",
  },
  {
    code: "platform_name",
    names: "BigInt",
    reason: "their large integers have 64 bits",
    help: "Write `value as i64` for a number, and `i64.parse(text)` for a text.",
  },
  {
    code: "platform_name",
    names: "WeakMap WeakSet WeakRef FinalizationRegistry",
    reason: "their memory ends with the run",
    help: "Write `Map` or `Set`.",
  },
  {
    code: "platform_name",
    names: "SharedArrayBuffer",
    reason: "a run has one thread",
    help: "Write `ArrayBuffer`, or a typed array.",
  },
  {
    code: "platform_name",
    names: "AggregateError EvalError ReferenceError",
    reason: "AssemblyScript's library has fewer classes of errors",
    help: 'Write `new Error("…")`.',
  },
  {
    code: "platform_name",
    names: "Intl",
    reason: "its results differ between machines",
    help: "Send numbers and times as they are, and format them in the client.",
  },
];

export const FOREIGN_NAMES: ReadonlyMap<string, ForeignName> = new Map<string, ForeignName>([
  ["RegExp", REGULAR_EXPRESSION],
  ["JSON", PARSED_JSON],
  ...ENTRIES.flatMap(({ code, names, reason, help }) =>
    names
      .split(" ")
      .map((name) => [name, { code, message: `Handlers have no \`${name}\`, because ${reason}.`, help }] as const),
  ),
]);
