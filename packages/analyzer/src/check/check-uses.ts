/**
 * The checks that need the compiler's own resolution: they see which functions the developer's code calls, whatever their
 * names are.
 */
import { ASSEMBLYSCRIPT_ABORT, HOST_FUNCTIONS, HOST_NAMESPACE, type HostFunction } from "@radical/protocol";
import { diagnostic, type DiagnosticCode } from "../diagnostics/catalogue.ts";
import { spanOf, type Diagnostic, type Span } from "../diagnostics/diagnostic.ts";
import { ENVIRONMENT_HELP, LOG_HELP, REGULAR_EXPRESSION } from "../diagnostics/words.ts";
import { type as, CommonFlags, ElementKind } from "../parse/assemblyscript.ts";
import { type CallSite, type CompiledProgram, type RadicalCompiler, SDK_LIBRARY } from "../parse/compile.ts";
import { isDevelopers } from "../parse/graft.ts";
import { isService } from "../parse/handlers.ts";
import { indexClass, writtenIndexes, type IndexClass } from "../parse/indexes.ts";
import { SIGNAL, signalsIn } from "../parse/signals.ts";
import { spanOfRange, textOf } from "../parse/span.ts";
import { tableClass, type TableClass } from "../parse/table-classes.ts";
import type { TableSchema } from "../schema/schema.ts";
import { checkArithmetic } from "./check-arithmetic.ts";
import { checkFields } from "./check-fields.ts";
import { scan } from "./scanner.ts";
import { sdkCallFix } from "./sdk-import.ts";

interface Refusal {
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly help: string;
}

const GIVEN_SET_ONLY: Refusal = {
  code: "given_set_only",
  message:
    "Only a read/write-set function calls `touch`, `willPut`, `willDelete`, and `touchFirst` and the like of ranges.",
  help: "In a handler, call `get`, `has`, `put`, `delete`, `first`, `last` or `count`. For a read/write-set function, write the tag `/** @readwrite <handler> */` before it.",
};

/** The refusals of foreign imports, by the start of their names. */
const IMPORTS: readonly (readonly [prefix: string, refusal: Refusal])[] = [
  [
    "env.seed",
    {
      code: "nondeterministic",
      message: "A handler can't call `Math.random()`, because a second run of the execution would draw another number.",
      help: 'Write `random()`, with `import { random } from "@radical/sdk"`. Its draw is the same in each run of the execution.',
    },
  ],
  [
    "env.Date.",
    {
      code: "nondeterministic",
      message: "A handler can't read the clock, because a second run of the execution would read another time.",
      help: 'Write `now()`, with `import { now } from "@radical/sdk"`. This is the recorded time of the execution in milliseconds.',
    },
  ],
  [
    "env.performance.",
    {
      code: "nondeterministic",
      message: "A handler can't read the clock, because a second run of the execution would read another time.",
      help: "Measure the time of a handler where you call it.",
    },
  ],
  [
    "env.crypto.",
    {
      code: "nondeterministic",
      message:
        "A handler can't use the platform's randomness, because a second run of the execution would draw otherwise.",
      help: 'Write `random()` or `uuid()`, with `import { random, uuid } from "@radical/sdk"`. Their draws are the same in each run of the execution.',
    },
  ],
  [
    "env.console.",
    {
      code: "console_not_available",
      message: "Handlers have no console, because a run may be thrown away.",
      help: LOG_HELP,
    },
  ],
  [
    "env.trace",
    {
      code: "console_not_available",
      message: "Handlers have no trace, because a run may be thrown away.",
      help: LOG_HELP,
    },
  ],
  [
    "env.process.",
    {
      code: "nondeterministic",
      message: "Handlers have no `process`, because they run on several machines.",
      help: ENVIRONMENT_HELP,
    },
  ],
  [
    `${HOST_NAMESPACE}.scrypt`,
    {
      code: "given_set_effect",
      message: "A read/write-set function hashes no password, because the request to the primary waits for it.",
      help: "Name the items that the handler touches in either case, whether the password is right or wrong.",
    },
  ],
  [`${HOST_NAMESPACE}.`, GIVEN_SET_ONLY],
];

const RAW_MEMORY: Refusal = {
  code: "unsafe_memory",
  message: "A handler can't use raw memory, because addresses are not the same in every run.",
  help: "Use classes, arrays and strings.",
};
const FLOAT_BITS: Refusal = {
  code: "float_bits",
  message: "A handler can't look at the bits of a float, because NaN has other bits on other machines.",
  help: "Compute with the number itself. To hash it, hash its text: `value.toString()`.",
};
const UNREACHABLE: Refusal = {
  code: "unsafe_memory",
  message: "A handler can't call `unreachable()`.",
  help: 'End the handler with `abort(status, code, message)` or `throw new Error("…")`.',
};

const THROWN: Refusal = {
  code: "thrown_value",
  message: "Only an error or a text can be thrown.",
  help: 'To answer with an error, write `abort(404, "no_user", "There is no user ann.")`. For a mistake of the handler itself, write `throw new Error("…")`.',
};

/** AssemblyScript's builtins that are refused, by name. */
const BUILTINS: readonly (readonly [names: RegExp, refusal: Refusal])[] = [
  [/^(reinterpret|copysign)/, FLOAT_BITS],
  [/^unreachable$/, UNREACHABLE],
  [/^(load|store)/, RAW_MEMORY],
  [
    /^(changetype|unchecked|call_indirect|size|grow|copy|fill|init|drop|data|alloc|realloc|free|i31|externref)$/,
    RAW_MEMORY,
  ],
  [/^(v128|[if]\d+x\d+|atomic|memory|__)/, RAW_MEMORY],
];

/** Functions of AssemblyScript's library that are refused, by internal name. */
const LIBRARY: readonly (readonly [names: RegExp, refusal: Refusal])[] = [
  [/^~lib\/regexp\//, REGULAR_EXPRESSION],
  [/^~lib\/dataview\/DataView#setFloat(32|64)$/, FLOAT_BITS],
  [/^~lib\/typedarray\/Float(32|64)Array\.wrap$/, FLOAT_BITS],
  [/^~lib\/math\/NativeMathf?\.signbit$/, FLOAT_BITS],
  [
    /^~lib\/@radical\/sdk\/blob\/Blob#constructor$/,
    {
      code: "blob_made",
      message: "A handler can't make a Blob, because the bytes would not be there.",
      help: "Take it as a parameter: the client puts the bytes with `PUT /blobs`, and sends the Blob that is answered. A field without one is `picture: Blob | null = null;`.",
    },
  ],
];

/** Calls of the runtime by its own names. The compiler makes other calls, which no developer wrote. */
const RUNTIME_CALL = /^(__[a-z]+\(|heap\.|memory\.|atomic\.)/;

type ProgramKind = Exclude<HostFunction["program"], "both">;

export function checkUses(
  { program, compiler }: Pick<CompiledProgram, "program" | "compiler">,
  tables: readonly Pick<TableSchema, "declaration">[],
  fallback: Span,
  kind: ProgramKind = "handlers",
): Diagnostic[] {
  if (compiler === null) return [];
  return [
    ...checkImports(program, compiler, fallback, kind),
    ...checkCalls(program, compiler, tables, kind),
    ...checkArithmetic(compiler.arithmetic.findings),
    ...checkFields(program.sources),
  ];
}

/** Everything that the compiled program wants from a host. */
function checkImports(program: as.Program, compiler: RadicalCompiler, fallback: Span, kind: ProgramKind): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const [module, elements] of program.moduleImports) {
    for (const [name, element] of elements) {
      if (isHostFunction(module, name, kind)) continue;
      const service = element.kind === ElementKind.Function ? (element as as.Function).prototype : null;
      if (service !== null && isService(program, service)) {
        const at = spanOfRange(service.declaration.name.range);
        found.push(
          diagnostic("unquoted_service", { ...unquoted(service.name), primary: originOf(element, compiler) ?? at }),
        );
        continue;
      }
      const full = `${module}.${name}`;
      const refusal = IMPORTS.find(([prefix]) => full.startsWith(prefix))?.[1] ?? {
        code: "host_import",
        message: `A handler can't use \`${full}\`, because the host has no functions and variables but those of the SDK.`,
        help: ENVIRONMENT_HELP,
      };
      const primary = originOf(element, compiler) ?? mentionOf(full, program) ?? fallback;
      const source = program.sources.find(({ normalizedPath }) => normalizedPath === primary.file);
      const file = source === undefined ? null : { path: source.normalizedPath, text: source.text };
      const fix = (file === null ? null : sdkCallFix(file, primary)) ?? undefined;
      found.push(diagnostic(refusal.code, { ...refusal, primary, fix }));
    }
  }
  return found;
}

function unquoted(name: string): Pick<Diagnostic, "message" | "help"> {
  return {
    message: `A handler can't call the service ${name}, because a handler may run more than once, and at several places.`,
    help: `Let a task call it after the transaction: \`enqueue(${name}(…))\`. A workflow gets its result by a step: \`run(${name}(…))\`.`,
  };
}

function isHostFunction(module: string, name: string, kind: ProgramKind): boolean {
  if (module === ASSEMBLYSCRIPT_ABORT.module) return name === ASSEMBLYSCRIPT_ABORT.name;
  if (module !== HOST_NAMESPACE || !Object.hasOwn(HOST_FUNCTIONS, name)) return false;
  const { program } = HOST_FUNCTIONS[name as keyof typeof HOST_FUNCTIONS];
  return program === "both" || program === kind;
}

/** Follows the calls back from an imported function to the first place in a file of the developer's. */
function originOf(element: as.Element, compiler: RadicalCompiler): Span | null {
  if (element.kind !== ElementKind.Function) return null;
  const waiting = [element as as.Function];
  const seen = new Set(waiting);
  for (const called of waiting) {
    for (const { caller, node } of compiler.calls.get(called) ?? []) {
      if (isDevelopers(node.range.source)) return spanOfRange(node.range);
      if (seen.has(caller)) continue;
      seen.add(caller);
      waiting.push(caller);
    }
  }
  return null;
}

/** The place where the developer names a value of the host that nothing calls. */
function mentionOf(full: string, program: as.Program): Span | null {
  const [owner = "", member = ""] = full.split(".").slice(-2);
  for (const source of program.sources.filter(isDevelopers)) {
    const tokens = scan(source.text);
    const at = tokens.findIndex(
      ({ text }, index) => text === owner && tokens[index + 1]?.text === "." && tokens[index + 2]?.text === member,
    );
    if (at !== -1)
      return spanOf({ path: source.normalizedPath, text: source.text }, tokens[at]!.start, tokens[at + 2]!.end);
  }
  return null;
}

function checkCalls(
  program: as.Program,
  compiler: RadicalCompiler,
  tables: readonly Pick<TableSchema, "declaration">[],
  kind: ProgramKind,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const refuse = (refusal: Refusal, { node }: CallSite): void => {
    if (isDevelopers(node.range.source))
      found.push(diagnostic(refusal.code, { ...refusal, primary: spanOfRange(node.range) }));
  };
  for (const { name, site } of compiler.builtinCalls) {
    const refusal = BUILTINS.find(([names]) => names.test(name))?.[1];
    if (refusal !== undefined) refuse(refusal, site);
  }
  for (const { view, site } of compiler.bufferAccesses) {
    if (view.endsWith(".dataStart")) refuse(RAW_MEMORY, site);
    else if (/^Float(32|64)Array\./.test(view)) refuse(FLOAT_BITS, site);
  }
  for (const site of compiler.otherThrows) refuse(THROWN, site);
  const declared = new Set<as.Node>(
    [...tables, ...writtenIndexes(program), ...signalsIn(program)].map(({ declaration }) => declaration.initializer!),
  );
  for (const [called, sites] of compiler.calls) {
    const owner = classOf(called);
    const made = called.is(CommonFlags.Constructor)
      ? (tableClass(owner) ?? indexClass(owner) ?? signalClass(owner))
      : null;
    const refusal =
      kind === "handlers" && isSetMethod(called)
        ? GIVEN_SET_ONLY
        : LIBRARY.find(([names]) => names.test(called.prototype.internalName))?.[1];
    for (const site of sites) {
      if (made !== null && !declared.has(site.node)) refuse(notConstant(made), site);
      else if (refusal !== undefined) refuse(refusal, site);
      else if (called.declaration.range.source.isLibrary && RUNTIME_CALL.test(textOf(site.node)))
        refuse(RAW_MEMORY, site);
    }
  }
  return found;
}

const SET_METHODS: ReadonlySet<string> = new Set(["touch", "touchUnwritten", "willPut", "willDelete"]);
const RANGE_SET_METHODS: ReadonlySet<string> = new Set(
  ["touchFirst", "touchLast", "touchCount"].map((name) => `${SDK_LIBRARY}/ranges/Range#${name}`),
);

/** A method that only a read/write-set function may call. */
function isSetMethod(called: as.Function): boolean {
  const { name, internalName } = called.prototype;
  return RANGE_SET_METHODS.has(internalName) || (SET_METHODS.has(name) && tableClass(classOf(called)) !== null);
}

/** The internal name of the class that has a method or constructor; "": it is a function. */
function classOf({ parent }: as.Function): string {
  return parent.kind === ElementKind.Class ? (parent as as.Class).prototype.internalName : "";
}

function signalClass(owner: string): "Signal" | null {
  return owner === SIGNAL ? "Signal" : null;
}

function notConstant(made: TableClass | IndexClass | "Signal"): Refusal {
  const [noun, example] = DECLARED[made];
  return {
    code: made === "Signal" ? "invalid_signal" : "table_not_constant",
    message: `This ${noun} is not a constant at the top of a file with a literal name, so the build does not know it.`,
    help: `Declare it outside of functions: \`${example};\`.`,
  };
}

const TABLE = ["table", 'const users = new Table<User>("users")'] as const;
const INDEX = ["index", 'const byAuthor = new Index<Post>(posts, "author, at")'] as const;

/** The noun for each class, and a declaration. */
const DECLARED: Readonly<Record<TableClass | IndexClass | "Signal", readonly [noun: string, example: string]>> = {
  Table: TABLE,
  Objects: TABLE,
  Counter: ["counter", 'const seats = new Counter("seats")'],
  Signal: ["signal", 'const approved = new Signal<string>("approved")'],
  Index: INDEX,
  Unique: INDEX,
};
