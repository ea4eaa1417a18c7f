/**
 * For tests: random applications that stress the slicer. They alias objects through variables, fields, containers and
 * globals. They mutate them through helpers, methods and callbacks, and read their own writes. They jump out of nested
 * loops, and hide accesses and draws in conditions and arguments. Their branches depend on expensive values. They draw,
 * abort, throw and trap. They are type-correct and always end. The same seed gives the same program.
 */
import { Random as SeededRandom } from "@radical/history";
import { PRELUDE } from "./random-prelude.ts";

export interface RandomProgram {
  readonly files: Readonly<Record<string, string>>;
  /** The handlers, and how the set of each is to be known. */
  readonly handlers: ReadonlyMap<string, "sliced" | "recorded" | "given">;
  /** The features that it uses. */
  readonly features: ReadonlySet<string>;
  /** The features that it could have used. */
  readonly offered: ReadonlySet<string>;
}

/** In a marked program, an execution that gets to a feature reads the item of that name in this table. */
export const MARKS = "Marks";

const MARKING = `
const ${MARKS} = new Table<string>("${MARKS}");
function mark(feature: string): void { ${MARKS}.has(feature); }
function marked<T>(feature: string, value: T): T { mark(feature); return value; }
`;

type TypeName =
  | "i32"
  | "string"
  | "bool"
  | "f64"
  | "u8"
  | "i64"
  | "Node"
  | "Node | null"
  | "Item | null"
  | "Shape"
  | "Base"
  | "Holder"
  | "Sound"
  | "Pair"
  | "Place"
  | "i32 | null"
  | "Box<Node>"
  | "i32[]"
  | "string[]"
  | "Node[]"
  | "Int32Array"
  | "Uint8Array"
  | "Map<string, i32>"
  | "Map<string, Node>"
  | "Set<string>"
  | "Table<Item>"
  | "Range<Item>"
  | "Row<Item>[]"
  | "(text: string) => string"
  | "(n: i32) => i32"
  | "Fn[]"
  | "StaticArray<Fn>"
  | "Map<string, Fn>"
  | "Map<string, Map<string, Fn>>"
  | "Set<Fn>"
  | "Box<Fn>"
  | "Act"
  | "Act[]";

/** Values that no type test can tell apart: no comparison, no null. */
const VARIABLE_TYPES: readonly TypeName[] = [
  "i32",
  "string",
  "bool",
  "f64",
  "u8",
  "i64",
  "Node",
  "Node | null",
  "Item | null",
  "Shape",
  "Base",
  "Holder",
  "Sound",
  "Pair",
  "Place",
  "i32 | null",
  "Box<Node>",
  "i32[]",
  "string[]",
  "Node[]",
  "Int32Array",
  "Uint8Array",
  "Map<string, i32>",
  "Map<string, Node>",
  "Set<string>",
  "Table<Item>",
  "Range<Item>",
  "Row<Item>[]",
  "(text: string) => string",
  "(n: i32) => i32",
  "Fn[]",
  "StaticArray<Fn>",
  "Map<string, Fn>",
  "Map<string, Map<string, Fn>>",
  "Set<Fn>",
  "Box<Fn>",
  "Act",
  "Act[]",
];

/** Stores functions before the handlers run. */
const MODULE_STATEMENTS: readonly string[] = [
  "fns.push(noting);",
  "fns.unshift(changing);",
  "fns.fill(noting, 0, 1);",
  "fns[0] = changing;",
  "fns.push(select<Fn>(noting, changing, count > 2));",
  "fns.push((text: string): string => { A.has(key(text)); return text + word; });",
  'commands.set("b", noting);',
  'commands.set("a", changing).set("k", (text: string): string => clip(text + "k"));',
  'nested.get("n").set("a", noting);',
  "acts.push(marking);",
  "acts.unshift((node: Node, text: string): void => { node.s = clip(text); });",
  "Holder.chosen = noting;",
];

/** Of every handler. */
const PARAMETERS: readonly { readonly name: string; readonly type: TypeName }[] = [
  { name: "a", type: "string" },
  { name: "n", type: "i32" },
  { name: "many", type: "string[]" },
  { name: "x", type: "f64" },
  { name: "small", type: "u8" },
  { name: "long", type: "i64" },
];

const COMMON_TYPES: readonly TypeName[] = ["i32", "string", "bool", "Node", "Item | null", "string[]", "Node[]"];

interface Variable {
  readonly name: string;
  readonly type: TypeName;
  readonly constant: boolean;
}

interface Helper {
  readonly name: string;
  readonly parameters: readonly TypeName[];
  readonly result: TypeName | "void";
  readonly recursive: boolean;
}

/** Ways to write something by the feature that each of them uses; null: not possible here. */
type Choices = Readonly<Record<string, () => string | null>>;

/** `marked`: the same program, which also writes down where its executions get to (`MARKS`); it is not to be sliced. */
export function randomProgram(seed: number, { marked = false }: { readonly marked?: boolean } = {}): RandomProgram {
  const random = new Random(seed);
  const helpers: Helper[] = [];
  const text: string[] = [marked ? PRELUDE + MARKING : PRELUDE];
  const features = new Set<string>();
  const offered = new Set<string>();
  // Taking unions apart costs most of the analysis, so not all programs have many of them.
  const context = { random, helpers, features, offered, marked, slowness: random.pick([0, 0, 0.3, 0.6]) };
  for (let index = 0; index < 1 + random.below(4); index++) {
    const recursive = random.chance(0.35);
    const helper: Helper = {
      name: `helper${index}`,
      parameters: Array.from({ length: random.below(4) }, () => random.pick(VARIABLE_TYPES)),
      result: random.pick(["i32", "string", "bool", "Node", "void", "void", random.pick(VARIABLE_TYPES)]),
      recursive,
    };
    // A recursive helper may call itself; its depth parameter ends it.
    if (recursive) helpers.push(helper);
    text.push(new FunctionWriter(context, helper.result, recursive).helper(helper));
    if (!recursive) helpers.push(helper);
  }
  text.push(...classes(context));
  const stores = random.pick([0, 0, 1, 3]);
  for (let index = 0; index < stores; index++) text.push(random.pick(MODULE_STATEMENTS));
  const handlers = new Map<string, "sliced" | "recorded" | "given">();
  for (const name of ["first", "second", "third"]) {
    const plan = name === "third" ? random.pick(["sliced", "sliced", "recorded", "given"] as const) : "sliced";
    handlers.set(name, plan);
    text.push(
      plan === "given"
        ? new FunctionWriter(context, "string", false).handlerWithSet(name)
        : new FunctionWriter(context, random.pick(["string", "i32", "void", "inferred"]), false).handler(name, plan),
    );
  }
  return { files: { "handlers/random.ts": wrapping(text.join("\n"), seed) }, handlers, features, offered };
}

/** Two classes of which one derives from the other, with bodies of their own in every program. */
function classes(context: Context): string[] {
  const method = (
    head: string,
    result: TypeName | "void",
    parameters: readonly Variable[],
    overrides: boolean,
  ): string => new FunctionWriter(context, result, false).method(head, parameters, overrides);
  const text: Variable = { name: "text", type: "string", constant: false };
  const n: Variable = { name: "n", type: "i32", constant: false };
  const work = "work(text: string, n: i32): string";
  return [
    "class Base {",
    '  total: i32 = 1; name: string = "m"; node: Node = shared; list: string[] = [];',
    `  ${method("constructor(text: string, n: i32)", "void", [text, n], false)}`,
    `  ${method(work, "string", [text, n], false)}`,
    `  ${method("step(): i32", "i32", [], false)}`,
    `  ${method("get size(): i32", "i32", [], false)}`,
    `  ${method("set size(n: i32)", "void", [n], false)}`,
    "}",
    "class Derived extends Base {",
    "  extra: i32 = 2;",
    ...(context.random.chance(0.5)
      ? [`  ${method("constructor(text: string, n: i32)", "void", [text, n], true)}`]
      : []),
    `  ${method(work, "string", [text, n], true)}`,
    "}",
    "function base(text: string, n: i32): Base { return n > 1 ? new Derived(text, n) : new Base(text, n); }",
  ];
}

interface Context {
  readonly random: Random;
  readonly helpers: readonly Helper[];
  readonly features: Set<string>;
  readonly offered: Set<string>;
  readonly marked: boolean;
  /** How often an expensive form may be used. */
  readonly slowness: number;
}

/** Draws for one program, and the names that it has used. */
class Random extends SeededRandom {
  #names = 0;

  /** A name that was not used before. */
  name(): string {
    return `v${this.#names++}`;
  }
}

class FunctionWriter {
  readonly #random: Random;
  readonly #helpers: readonly Helper[];
  readonly #features: Set<string>;
  readonly #offered: Set<string>;
  readonly #marked: boolean;
  readonly #slowness: number;
  readonly #result: TypeName | "void" | "inferred";
  readonly #scopes: Variable[][] = [[]];
  readonly #hasDepth: boolean;
  #inClass = false;
  #inConstructor = false;
  #budget = 9;
  #loops = 0;
  /** Loops that `break` and `continue` may leave here. */
  #jumps = 0;
  #calls = 0;
  /** Declarations that the statement which is being written needs before it. */
  #before: string[] | null = null;

  /** `result`: with `inferred`, a record without a written type. */
  constructor(context: Context, result: TypeName | "void" | "inferred", hasDepth: boolean) {
    this.#random = context.random;
    this.#helpers = context.helpers;
    this.#features = context.features;
    this.#offered = context.offered;
    this.#marked = context.marked;
    this.#slowness = context.slowness;
    this.#result = result;
    this.#hasDepth = hasDepth;
  }

  handler(name: string, plan: "sliced" | "recorded"): string {
    this.#budget = 15;
    this.#scopes[0]?.push(...PARAMETERS.map((parameter) => ({ ...parameter, constant: false })));
    const first = this.#drives();
    // A question that the analysis does not answer: the handler is not sliced.
    if (plan === "recorded") first.push(`word = clip(${this.#expression("recorded", "string", "nameof<Node>()")});`);
    const parameters = PARAMETERS.map((parameter) => `${parameter.name}: ${parameter.type}`);
    const result = this.#result === "inferred" ? "" : `: ${this.#result}`;
    if (result === "") this.#features.add("inferred-answer");
    return `export function ${this.#function(`${name}(${parameters.join(", ")})${result}`, first)}`;
  }

  /** Calls of what has a body of its own in every program, so that executions get there. */
  #drives(): string[] {
    const lines: string[] = [];
    for (const helper of this.#helpers) {
      if (!this.#random.chance(0.5)) continue;
      const args = helper.parameters.map((parameter) => this.#value(parameter, 2));
      if (helper.recursive) args.push("2");
      lines.push(...this.#statementOf("driven-helper", `${helper.name}(${args.join(", ")});`).split("\n"));
    }
    if (this.#random.chance(0.5)) {
      const call = this.#random.pick([`work(${this.#value("string")}, n)`, "step()", "size = n", "size"]);
      const object = this.#newVariable("Base");
      const text = `let ${object}: Base = base(a, n);\n${object}.${call};`;
      lines.push(...this.#statementOf("driven-method", text).split("\n"));
    }
    return lines;
  }

  /** A handler of simple statements, and the function that says what they touch. */
  handlerWithSet(name: string): string {
    const random = this.#random;
    const statements: string[] = [];
    const set: string[] = [];
    const table = (): string => this.#table();
    const written = new Set<string>();
    for (let index = 0; index < 2 + random.below(4); index++) {
      const at = random.pick(["key(a)", "wide(a)", "near(n)", 'key(a + "a")', 'key("b")', "wide(x.toString())"]);
      const on = table();
      const other = table();
      const found = random.name();
      // The set does not have its own writes. So only an item that is read first can be read to go on, and only rows of a table without writes.
      const first = [
        [
          "given-dependent-read",
          `const ${found} = ${on}.get(${at});\nif (${found} != null) ${other}.get(key(${found}.id));`,
          `const ${found} = ${on}.get(${at});\nif (${found} != null) ${other}.touch(key(${found}.id));`,
        ],
      ] as const;
      const rows = [
        [
          "given-rows",
          `for (const row of ${on}.all().first(2)) ${other}.has(row.key);`,
          `for (const row of ${on}.all().first(4)) ${other}.touch(row.key);`,
        ],
      ] as const;
      const [feature, statement, said] = random.pick([
        ...(index === 0 ? first : []),
        ["given-read", `${on}.get(${at});`, `${on}.touch(${at});`],
        ["given-write", `${on}.put(${at}, item(a, n, many));`, `${on}.willPut(${at});`],
        ["given-delete", `${on}.delete(${at});`, `${on}.willDelete(${at});`],
        ["given-scan", `${on}.prefix(${at}).last(2);`, `${on}.prefix(${at}).touchLast(2);`],
        ["given-count", `${on}.all().count();`, `${on}.all().touchCount();`],
        ...(written.has(on) ? [] : rows),
        ["given-branch", `if (slow(a) > 128) ${on}.put(${at}, item(a, n, many));`, `${on}.willPut(${at});`],
        [
          "given-loop",
          `for (let i = 0; i < many.length && i < 4; i++) ${on}.get(key(many[i]));`,
          `for (let i = 0; i < many.length; i++) ${on}.touch(key(many[i]));`,
        ],
      ] as const);
      if (/\.will/.test(said)) written.add(on);
      statements.push(this.#statementOf(feature, statement));
      set.push(said);
    }
    const parameters = PARAMETERS.map((parameter) => `${parameter.name}: ${parameter.type}`).join(", ");
    const body = (lines: readonly string[]): string => lines.join("\n").replaceAll(/^/gm, "  ");
    const tag = this.#marked ? "" : `/** @readwrite ${name} */\n`;
    return `${tag}function ${name}Set(${parameters}): void {\n${body(set)}\n}\nexport function ${name}(${parameters}): string {\n${body(statements)}\n  return clip(a);\n}`;
  }

  helper(helper: Helper): string {
    const parameters = helper.parameters.map((type) => `${this.#newVariable(type)}: ${type}`);
    if (helper.recursive) parameters.push("depth: i32");
    return `function ${this.#function(`${helper.name}(${parameters.join(", ")}): ${helper.result}`)}`;
  }

  method(head: string, parameters: readonly Variable[], overrides: boolean): string {
    this.#budget = 3;
    this.#inClass = true;
    const variable = (name: string, type: TypeName): Variable => ({ name: `this.${name}`, type, constant: false });
    this.#scopes[0]?.push(
      ...parameters,
      variable("total", "i32"),
      variable("name", "string"),
      variable("node", "Node"),
      variable("list", "string[]"),
    );
    if (overrides) this.#scopes[0]?.push(variable("extra", "i32"));
    this.#inConstructor = head.startsWith("constructor");
    const first =
      overrides && this.#inConstructor
        ? ["super(text, n);"]
        : overrides && this.#random.chance(0.6)
          ? ["this.name = clip(super.work(text, n));"]
          : [];
    return this.#function(head, first);
  }

  #function(head: string, first: readonly string[] = []): string {
    const guard = this.#hasDepth
      ? [
          `if (depth <= 0) return${this.#result === "void" || this.#result === "inferred" ? "" : ` ${this.#base(this.#result)}`};`,
        ]
      : [];
    const body = this.#block(this.#budget);
    const last = this.#result === "void" ? [] : [`return${this.#resultOfReturn(1)};`];
    return `${head} {\n${[...guard, ...first, ...body, ...last].map((line) => `  ${line}`).join("\n")}\n}`;
  }

  /** One of the ways that are possible here, for a value of the type or for statements. */
  #pick(choices: Choices, type: TypeName | "statement"): string | null {
    const names = Object.keys(choices);
    for (const name of names) this.#offered.add(name);
    for (let attempt = 0; attempt < 6; attempt++) {
      const name = this.#random.pick(names);
      if ((name.includes("slow") || name === "guarded-helper") && !this.#random.chance(this.#slowness)) continue;
      const written = choices[name]?.() ?? null;
      if (written === null) continue;
      return type === "statement" ? this.#statementOf(name, written) : this.#expression(name, type, written);
    }
    return null;
  }

  /** The expression, which uses the feature. */
  #expression(feature: string, type: TypeName, text: string): string {
    this.#features.add(feature);
    return this.#marked ? `marked<${type}>("${feature}", ${text})` : text;
  }

  /** The statements, which use the feature. */
  #statementOf(feature: string, text: string): string {
    this.#features.add(feature);
    return this.#marked ? `mark("${feature}");\n${text}` : text;
  }

  // ── Variables ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #newVariable(type: TypeName, constant = false): string {
    const name = this.#random.name();
    this.#scopes.at(-1)?.push({ name, type, constant });
    return name;
  }

  #variables(type: TypeName, assignable = false): string[] {
    return this.#scopes
      .flat()
      .flatMap((variable) => (variable.type === type && !(assignable && variable.constant) ? [variable.name] : []));
  }

  #variable(type: TypeName, assignable = false): string | null {
    const known = this.#variables(type, assignable);
    return known.length === 0 ? null : this.#random.pick(known);
  }

  /** Something that a variable of the type is used for: one that is there, or one for the purpose. */
  #on(type: TypeName, use: (name: string) => string): string | null {
    const known = this.#variable(type);
    if (known !== null) return use(known);
    if (this.#before === null || !this.#random.chance(0.5) || (type === "Base" && this.#inClass)) return null;
    const initial = this.#value(type, 3);
    const name = this.#newVariable(type);
    this.#before.push(`let ${name}: ${type} = ${initial};`);
    return use(name);
  }

  // ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────

  #value(type: TypeName, depth = 1): string {
    const random = this.#random;
    const known = this.#variables(type);
    const call = random.chance(0.07) ? this.#call(type, depth) : null;
    if (call !== null) return call;
    if (known.length > 0 && random.chance(depth > 2 ? 0.9 : 0.4)) return random.pick(known);
    const isFunction = type.includes("=>") || type === "Act";
    if (random.chance(0.04) && type !== "bool" && !type.includes("null") && !isFunction) {
      const choice = `choose<${type}>(${this.#value(type, depth + 1)}, ${this.#base(type)}, ${this.#value("i32", depth + 1)})`;
      return this.#expression("generic-choice", type, choice);
    }
    if (depth > 3 || (depth > 1 && random.chance(0.3))) return this.#base(type);
    if (random.chance(0.06) && !isFunction) {
      const choice = `(${this.#value("bool", depth + 1)} ? ${this.#value(type, depth + 1)} : ${this.#value(type, depth + 1)})`;
      return this.#expression("conditional", type, choice);
    }
    return this.#pick(this.#choices(type, depth + 1), type) ?? this.#base(type);
  }

  #base(type: TypeName): string {
    const random = this.#random;
    switch (type) {
      case "i32":
        return random.pick(["0", "1", "2", "7", "count", "limits.length", "Holder.hits", "Color.Blue"]);
      case "string":
        return random.pick(['"a"', '"b"', '"1"', "word", '""', "shared.s"]);
      case "bool":
        return random.pick(["true", "false"]);
      case "f64":
        return random.pick(["0.5", "2.0", "<f64>count"]);
      case "u8":
        return random.pick(["<u8>3", "<u8>count"]);
      case "i64":
        return random.pick(["<i64>9", "<i64>count"]);
      case "Node":
        return random.pick(["shared", 'new Node(1, "x")', "Holder.held", "register[0]"]);
      case "Node | null":
        return random.pick(["<Node | null>null", "shared", "shared.next"]);
      case "Item | null":
        return random.pick(["<Item | null>null", 'new Item("q")']);
      case "Shape":
        return random.pick(['shape(count, "t")', "new Circle(word)", 'new Ring("r")']);
      case "Base":
        // A constructor that makes objects of its own class would not end.
        return this.#inClass ? "this" : random.pick(["base(word, count)", 'new Derived("d", 3)']);
      case "Holder":
        return "new Holder()";
      case "Sound":
        return "bell(count)";
      case "Pair":
        return random.pick(["pair(1, word)", "new Pair()"]);
      case "Place":
        return random.pick(["place(word, count)", 'placeAt("a")']);
      case "i32 | null":
        return random.pick(["<i32 | null>null", "<i32 | null>count"]);
      case "Box<Node>":
        return "new Box<Node>(shared)";
      case "i32[]":
        return random.pick(["limits", "[1]", "shared.numbers"]);
      case "string[]":
        return random.pick(["texts", '["z"]', "new Array<string>()"]);
      case "Node[]":
        return random.pick(["[shared]", "new Array<Node>()", "register"]);
      case "Int32Array":
        return "new Int32Array(3)";
      case "Uint8Array":
        return random.pick(["new Uint8Array(2)", "Uint8Array.wrap(String.UTF8.encode(word))"]);
      case "Map<string, i32>":
        return "new Map<string, i32>()";
      case "Map<string, Node>":
        return "new Map<string, Node>()";
      case "Set<string>":
        return "new Set<string>()";
      case "Table<Item>":
        return random.pick(["A", "B", "C"]);
      case "Range<Item>":
        return random.pick(["A.all()", 'B.prefix("k")', 'rangeOf(C, "a")']);
      case "Row<Item>[]":
        return random.pick(["A.all().first(2)", "B.all().last(1)", "C.all().first(count & 3)"]);
      case "(text: string) => string":
        return random.pick(["plain", "noting", "changing"]);
      case "(n: i32) => i32":
        return random.pick(["increment", "counting"]);
      case "Fn[]":
        return random.pick(["fns", "[plain]", "[noting]", "keeping([], changing)"]);
      case "StaticArray<Fn>":
        return random.pick(["fixed(plain)", "fixed(noting)"]);
      case "Map<string, Fn>":
        return random.pick(["commands", 'new Map<string, Fn>().set("a", plain)', 'commandOf("a", changing)']);
      case "Map<string, Map<string, Fn>>":
        return random.pick(["nested", 'new Map<string, Map<string, Fn>>().set("n", commandOf("a", noting))']);
      case "Set<Fn>":
        return random.pick(["new Set<Fn>().add(plain)", "new Set<Fn>().add(noting)"]);
      case "Box<Fn>":
        return random.pick(["new Box<Fn>(plain)", "new Box<Fn>(changing)"]);
      case "Act":
        return random.pick(["marking", "renaming", "tallying"]);
      case "Act[]":
        return random.pick(["acts", "[renaming]", "[marking, tallying]"]);
    }
  }

  #choices(type: TypeName, depth: number): Choices {
    const random = this.#random;
    const int = (): string => this.#value("i32", depth);
    const text = (): string => this.#value("string", depth);
    const bool = (): string => this.#value("bool", depth);
    const node = (): string => this.#value("Node", depth);
    const nodes = (): string => this.#value("Node[]", depth);
    const textFunction = (): string => this.#value("(text: string) => string", depth);
    const list = (): string => this.#value("string[]", depth);
    const numbers = (): string => this.#value("i32[]", depth);
    const integer = (use: (name: string) => string): string | null => {
      const name = this.#variable("i32", true);
      return name === null ? null : use(name);
    };
    switch (type) {
      case "i32":
        return {
          arithmetic: () => `(${int()} ${random.pick(["+", "-", "*", "&", "|", "^"])} ${int()})`,
          "constant-division": () => `((${int()} ${random.pick(["/", "%"])} ${random.pick(["3", "5", "-2"])}) as i32)`,
          "division-trap": () => (random.chance(0.07) ? `((7 ${random.pick(["/", "%"])} ${int()}) as i32)` : null),
          "string-length": () => `${text()}.length`,
          "field-read": () => `${node()}.x`,
          "getter-call": () => `${node()}.twice`,
          "method-call": () => `${node()}.bump(${int()})`,
          "method-recursion": () => `${node()}.chain(2)`,
          "array-in-field": () => `${node()}.numbers.length`,
          "array-fold": () => `${numbers()}.reduce<i32>((p, c) => p + c, 0)`,
          "fold-with-effects": () => `${numbers()}.reduce<i32>((p, c) => p + c + count++, ${int()})`,
          "array-search": () => `${numbers()}.indexOf(${int()})`,
          "index-trap": () => (random.chance(0.07) ? `${numbers()}[${int()}]` : null),
          "text-array-length": () => `${list()}.length`,
          "text-array-search": () => `${list()}.indexOf(${text()})`,
          "find-index": () => `${list()}.findIndex((x) => x.length > 1)`,
          builtin: () => `${random.pick(["min", "max"])}<i32>(${int()}, ${int()})`,
          "from-float": () => `(<i32>(${this.#value("f64", depth)}) & 7)`,
          "from-narrow": () => `(<i32>(${this.#value("u8", depth)}))`,
          "tree-walk": () => this.#on("Item | null", (name) => `walk(${name}, ${random.pick(["2", "3"])})`),
          math: () => `<i32>Math.${random.pick(["abs", "floor"])}(<f64>(<i32>${int()}))`,
          draw: () => "(<i32>(random() * 5))",
          slow: () => (random.chance(0.5) ? `slow(${text()})` : null),
          "guarded-helper": () => (random.chance(0.4) ? `check(${text()})` : null),
          generic: () => `same<i32>(${int()})`,
          "map-size": () => `${this.#value("Map<string, i32>", depth)}.size`,
          "map-get-trap": () =>
            random.chance(0.07) ? `${this.#value("Map<string, i32>", depth)}.get(${text()})` : null,
          "typed-array-read": () => `${this.#value("Int32Array", depth)}[${random.pick(["0", "1", "2"])}]`,
          "byte-array": () => `<i32>${this.#value("Uint8Array", depth)}.length`,
          "static-call": () => "Holder.tick()",
          "function-value-call": () => this.#on("(n: i32) => i32", (f) => `${f}(${int()})`),
          "override-call": () => `${this.#value("Shape", depth)}.area()`,
          "random-method": () =>
            this.#inClass
              ? null
              : this.#on("Base", (object) => `${object}.${random.pick(["step()", "size", "total"])}`),
          "nested-record": () =>
            this.#on("Item | null", (item) => `(${item} != null ? ${item}!.part.weight : ${int()})`),
          "null-trap": () => (random.chance(0.07) ? this.#on("Item | null", (item) => `${item}!.n`) : null),
          "nullable-number": () => this.#on("i32 | null", (name) => `(${name} != null ? ${name}! : ${int()})`),
          "null-number-trap": () => (random.chance(0.07) ? this.#on("i32 | null", (name) => `${name}!`) : null),
          "entry-count": () => `${this.#value("Place", depth)}.kinds.size`,
          "stored-number": () => this.#on("Item | null", (item) => `(${item} != null ? ${item}!.n : ${int()})`),
          "increment-inside": () => integer((name) => random.pick([`(${name}++)`, `(--${name})`])),
          "assignment-inside": () => integer((name) => `(${name} = ${int()})`),
          "compound-inside": () => integer((name) => `(${name} ${random.pick(["+=", "^="])} ${int()})`),
          "old-and-new": () => integer((name) => `(${name} + (${name} = ${int()}) + ${name})`),
          // The compiler types what is dropped as nothing, with all of its parts.
          comma: () => integer((name) => `((${name}++, ${int()}))`),
          "interface-field": () => `${this.#value("Sound", depth)}.level`,
          "element-operator": () => `${this.#value("Pair", depth)}[${int()}]`,
          "object-field": () => `${this.#value("Pair", depth)}.left`,
          "count-of-range": () => `${this.#value("Range<Item>", depth)}.count()`,
          "number-of-rows": () => `${this.#value("Row<Item>[]", depth)}.length`,
          "inferred-number": () =>
            random.pick([`noteOf(${text()}, ${int()}).n`, `spotsOf(${text()}, ${int()})[0].n`, "latest().x"]),
        };
      case "string":
        return {
          "inferred-text": () =>
            random.pick([`noteOf(${text()}, ${int()}).text`, `spotsOf(${text()}, ${int()})[0].at`]),
          concatenation: () => `clip(${text()} + ${text()})`,
          "number-to-text": () => `(${int()}).toString()`,
          "float-to-text": () => `clip((${this.#value("f64", depth)}).toString())`,
          "narrow-to-text": () => `(${this.#value("u8", depth)}).toString()`,
          "long-to-text": () => `clip((${this.#value("i64", depth)}).toString())`,
          "branching-recursion": () => `tree(${node()}, ${random.pick(["2", "3"])})`,
          "default-after-default": () => `spread(${[text(), int(), text()].slice(0, 1 + random.below(3)).join(", ")})`,
          template: () => `\`\${${text()}}-\${${int()}}\``,
          "optional-member": () => this.#on("Place", (name) => `(${name}.near != null ? ${name}.near! : ${text()})`),
          "place-text": () =>
            random.pick([
              `${this.#value("Place", depth)}.at`,
              `${this.#value("Place", depth)}.mood`,
              `spotOf(${this.#value("Place", depth)}).tag`,
            ]),
          "entry-keys": () => `clip(${this.#value("Place", depth)}.kinds.keys().join(""))`,
          "key-text": () => `key(${text()})`,
          "text-field": () => `${node()}.s`,
          "text-method": () => `${node()}.label()`,
          "record-field": () =>
            this.#on(
              "Item | null",
              (item) =>
                `(${item} != null ? ${item}!.${random.pick(["id", "part.label", "list.join()", "n.toString()"])} : ${text()})`,
            ),
          "nullable-in-record": () =>
            this.#on(
              "Item | null",
              (item) => `(${item} != null && ${item}!.other != null ? ${item}!.other!.label : "u")`,
            ),
          "records-in-record": () =>
            this.#on(
              "Item | null",
              (item) => `(${item} != null && ${item}!.parts.length > 0 ? ${item}!.parts[0].label : "w")`,
            ),
          join: () => `${list()}.join("+")`,
          "slice-text": () => `${list()}.slice(0, 1).toString()`,
          "text-member": () =>
            `${text()}.${random.pick(["toUpperCase()", "charAt(0)", "substring(1)", 'replace("a", "b")', "trim()", 'padStart(3, "q")'])}`,
          "text-assignment-inside": () => {
            const name = this.#variable("string", true);
            return name === null ? null : `(${name} = clip(${text()}))`;
          },
          "overridden-call": () => `${this.#value("Shape", depth)}.go(${node()})`,
          "inherited-field": () => `${this.#value("Shape", depth)}.tag`,
          "random-override": () =>
            this.#inClass ? null : this.#on("Base", (object) => `clip(${object}.work(${text()}, ${int()}))`),
          "function-value": () => this.#on("(text: string) => string", (f) => `${f}(${text()})`),
          "function-argument": () => `clip(twiceOf(${textFunction()}, ${text()}))`,
          uuid: () => "uuid()",
          now: () => "now().toString()",
          caller: () => "whoever()",
          "asserted-caller": () => '(caller() == null ? "k1" : caller()!)',
          "bytes-to-text": () => this.#on("Uint8Array", (name) => `String.UTF8.decode(${name}.buffer)`),
          "stored-text": () => `textOf(T.get(${this.#keyOf(depth)}))`,
          "alias-in-map": () => `${this.#value("Holder", depth)}.named(${text()}).s`,
          "interface-call": () => `${this.#value("Sound", depth)}.sound(${text()})`,
          "default-parameters": () => `named(${[text(), text(), int()].slice(0, 1 + random.below(3)).join(", ")})`,
          "rest-parameters": () => `joined(${[text(), text(), text()].slice(0, 1 + random.below(3)).join(", ")})`,
          "boxed-text": () => `new Box<string>(${text()}).swap(${text()})`,
        };
      case "bool":
        return {
          "nullable-comparison": () =>
            `(${this.#value("i32 | null", depth)} ${random.pick(["==", "!="])} ${this.#value("i32 | null", depth)})`,
          "union-comparison": () => `(${this.#value("Place", depth)}.mood == ${random.pick(['"calm"', '"loud"'])})`,
          // A length is never less than 0, which is told.
          comparison: () => `((${orCount(int())}) ${random.pick(["<", ">", "==", "!=", "<="])} ${orCount(int())})`,
          "no-caller": () => "(caller() == null)",
          "text-comparison": () => `((${text()}) ${random.pick(["==", "!=", "<"])} ${text()})`,
          logical: () => `(${bool()} ${random.pick(["&&", "||"])} ${bool()})`,
          negation: () => `!${bool()}`,
          "has-inside": () => `${this.#table()}.has(${this.#keyOf(depth)})`,
          "get-inside": () => `(${this.#table()}.get(${this.#keyOf(depth)}) ${random.pick(["==", "!="])} null)`,
          "put-inside": () =>
            `save<Item>(${this.#value("Table<Item>", depth)}, ${text()}, item(${text()}, ${int()}, ${list()}))`,
          "array-includes": () => `${list()}.includes(${text()})`,
          "set-has": () => `${this.#value("Set<string>", depth)}.has(${text()})`,
          "null-test": () => `(orNull(${this.#value("Node | null", depth)}) == null)`,
          "slow-condition": () => `(slow(${text()}) ${random.pick(["> 100", "> 200", "== 3", "< 250"])})`,
          "slow-or-cheap": () =>
            random.pick([
              `(${bool()} || slow(${text()}) > 128)`,
              `(slow(${text()}) > 128 && ${bool()})`,
              `(${bool()} && slow(${text()}) > 60)`,
              `!(slow(${text()}) > 200)`,
            ]),
          "number-as-condition": () => `(${int()} > 1)`,
          some: () => `${nodes()}.some((x) => x.x > 2)`,
          "every-with-access": () => `${list()}.every((x) => A.has(key(x)))`,
          "instance-test": () => `(${this.#value("Shape", depth)} instanceof ${random.pick(["Square", "Circle"])})`,
          "accessor-access": () => `${node()}.known`,
          "mutual-recursion": () => `${random.pick(["even", "odd"])}((${int()}) & 3, clip(${text()}))`,
          "comparison-operator": () =>
            `(${this.#value("Pair", depth)} ${random.pick(["==", "<"])} ${this.#value("Pair", depth)})`,
          "operator-in-library": () =>
            this.#on("Pair", (name) => `[pair(${int()}, "i"), ${name}].includes(${this.#value("Pair", depth)})`),
          "interface-test": () => `(${this.#value("Sound", depth)} instanceof ${random.pick(["Horn", "LoudSound"])})`,
          identity: () => `(${node()} == ${node()})`,
          "stored-flag": () => this.#on("Item | null", (item) => `(${item} != null && ${item}!.flag)`),
        };
      case "f64":
        return {
          "float-arithmetic": () =>
            `(${this.#value("f64", depth)} ${random.pick(["+", "-", "*", "/"])} ${this.#value("f64", depth)})`,
          // In `<f64>(…)` the compiler takes numbers for 64-bit integers where an operation wants integers.
          "integer-to-float": () => `(<f64>(<i32>${int()}))`,
          "float-field": () => this.#on("Item | null", (name) => `(${name} != null ? ${name}!.ratio : 0.25)`),
          "float-draw": () => "random()",
        };
      case "u8":
        return {
          narrowing: () => `(<u8>(${int()}))`,
          "narrow-arithmetic": () => `(<u8>(${this.#value("u8", depth)} ${random.pick(["+", "*", "-"])} seven()))`,
          "narrow-field": () => this.#on("Item | null", (name) => `(${name} != null ? ${name}!.tiny : <u8>4)`),
        };
      case "i64":
        return {
          "long-arithmetic": () => `(${this.#value("i64", depth)} ${random.pick(["+", "*", "^"])} <i64>3)`,
          "float-to-long": () => `(<i64>(${this.#value("f64", depth)}))`,
          "time-as-number": () => "(now() % 7)",
        };
      case "Node":
        return {
          construction: () => `new Node(${int()}, ${text()})`,
          "inferred-object": () => random.pick([`noteOf(${text()}, ${int()}).node`, "latest()"]),
          "fluent-call": () => this.#on("Node", (name) => `${name}.attach(${node()})`),
          "generic-identity": () => `same<Node>(${node()})`,
          "alias-in-array": () => `${this.#value("Holder", depth)}.first()`,
          "alias-in-container": () => `${this.#value("Holder", depth)}.named(${text()})`,
          "boxed-object": () => `${this.#value("Box<Node>", depth)}.get()`,
          "swapped-object": () => `${this.#value("Box<Node>", depth)}.swap(${node()})`,
          "array-element": () => this.#on("Node[]", (name) => `(${name}.length > 0 ? ${name}[0] : shared)`),
          "map-element": () =>
            this.#on("Map<string, Node>", (name) => `(${name}.has("a") ? ${name}.get("a") : shared)`),
          "object-assignment-inside": () => {
            const name = this.#variable("Node", true);
            return name === null ? null : `(${name} = ${node()})`;
          },
        };
      case "Node | null":
        return { "object-as-nullable": node, "null-field": () => `${node()}.next` };
      case "Item | null":
        return {
          get: () => `${this.#table()}.get(${this.#keyOf(depth)})`,
          "get-of-key": () => `A.get(key(${text()}))`,
          "get-through-field": () =>
            `${random.pick(["stores[0]", "new Shelf().store", `new Store<Item>(${this.#value("Table<Item>", depth)})`])}.find(${text()})`,
          "get-through-static": () => `Shelf.table.get(${this.#keyOf(depth)})`,
          "get-through-wrapper": () => `load<Item>(${this.#value("Table<Item>", depth)}, ${text()})`,
          "new-record": () => `item(key(${text()}), ${int()}, ${list()})`,
          "item-of-row": () => `itemOf(${this.#value("Row<Item>[]", depth)})`,
        };
      case "Place":
        return { "object-type": () => `place(${text()}, ${int()})`, "stored-place": () => `placeAt(${text()})` };
      case "i32 | null":
        return {
          "number-or-null": () => `<i32 | null>(${int()})`,
          entry: () => `${this.#value("Place", depth)}.kinds[${text()}]`,
          "nullable-field": () => `${this.#value("Place", depth)}.level`,
          "optional-number": () => `spotOf(${this.#value("Place", depth)}).x`,
        };
      case "Shape":
        return { "subclass-choice": () => `shape(${int()}, ${text()})`, subclass: () => `new Square(${text()})` };
      case "Base":
        return { "random-object": () => (this.#inClass ? null : `base(${text()}, ${int()})`) };
      case "Holder":
        return {
          "keeping-alias": () => `new Holder().keep(${node()})`,
          "kept-alias": () => this.#on("Holder", (name) => `${name}.keep(${node()})`),
        };
      case "Sound":
        return { interface: () => `bell(${int()})` };
      case "Pair":
        return {
          "object-literal": () => `pair(${int()}, ${text()})`,
          "plus-operator": () => `(${this.#value("Pair", depth)} + ${this.#value("Pair", depth)})`,
        };
      case "Box<Node>":
        return { boxing: () => `new Box<Node>(${node()})` };
      case "i32[]":
        return {
          "array-literal": () => `[${int()}, ${int()}]`,
          "field-array-alias": () => `${node()}.numbers`,
          "map-callback": () => `${numbers()}.map<i32>((x) => x + 1)`,
          "map-with-effects": () => `few<i32>(${numbers()}).map<i32>((x) => { count += x; B.has(near(x)); return x; })`,
          "array-slice": () => `${numbers()}.slice(1)`,
          "function-as-callback": () => `few<i32>(${numbers()}).map<i32>(${random.pick(["counted", "noted"])})`,
        };
      case "string[]":
        return {
          "text-array": () => `[${text()}, ${text()}]`,
          "map-keys": () => `few<string>(${this.#value("Map<string, i32>", depth)}.keys())`,
          "set-values": () => `few<string>(${this.#value("Set<string>", depth)}.values())`,
          "slow-ordered": () => `ordered(few<string>(${list()})${random.pick(["", ", 1", `, ${int()}`])})`,
          "slow-board": () => `new Board(few<string>(${list()})).${random.pick(["top(2)", "ranked()"])}`,
          "slow-sort-then-slice": () =>
            `few<string>(${list()}).slice(0).sort((p, q) => slow(p) - slow(q)).slice(0, ${random.pick(["1", "2", int()])})`,
          "slow-best": () => `best(few<string>(${list()}))`,
          concat: () => `few<string>(${list()}.concat(${list()}))`,
          filter: () => `${list()}.filter((x) => x.length > 1)`,
          split: () => `few<string>(${text()}.split("-"))`,
          "list-of-record": () => this.#on("Item | null", (item) => `(${item} != null ? ${item}!.list : ${list()})`),
          "mapped-objects": () => `few<Node>(${nodes()}).map<string>((x) => x.s)`,
        };
      case "Node[]":
        return {
          "object-array": () => `[${node()}, ${node()}]`,
          "object-slice": () => `${nodes()}.slice(0, 2)`,
          "slow-ranked": () => `slowRank(few<Node>(${nodes()}))${random.pick(["", ".slice(0, 2)", ".reverse()"])}`,
          ranking: () => `rank(few<Node>(${nodes()}))`,
          "array-of-field": () => this.#on("Holder", (name) => `${name}.nodes`),
          "map-values": () => `few<Node>(${this.#value("Map<string, Node>", depth)}.values())`,
          "object-filter": () => `${nodes()}.filter((x) => x.x > 1)`,
        };
      case "Int32Array":
        return { "typed-view": () => this.#on("Int32Array", (name) => `${name}.subarray(0, 3)`) };
      case "Uint8Array":
        return {
          "text-to-bytes": () => `Uint8Array.wrap(String.UTF8.encode(${text()}))`,
          "byte-view": () => this.#on("Uint8Array", (name) => `${name}.subarray(0, ${name}.length)`),
        };
      case "Map<string, i32>":
      case "Map<string, Node>":
      case "Set<string>":
        return { "new-container": () => this.#base(type) };
      case "Table<Item>":
        return {
          "table-choice": () => `where(${int()})`,
          "table-identity": () => `same<Table<Item>>(${this.#table()})`,
        };
      case "Range<Item>":
        return {
          "range-of-bounds": () =>
            `${this.#value("Table<Item>", depth)}.range(${this.#keyOf(depth)}, ${this.#keyOf(depth)})`,
          "range-of-prefix": () => `${this.#table()}.prefix(${random.pick(['"k"', this.#keyOf(depth)])})`,
          "narrower-range": () =>
            `${this.#value("Range<Item>", depth)}.${random.pick(["after", "before"])}(${this.#keyOf(depth)})`,
          "range-of-helper": () => `rangeOf(${this.#value("Table<Item>", depth)}, ${text()})`,
        };
      case "Row<Item>[]":
        return {
          "first-rows": () => `${this.#value("Range<Item>", depth)}.first(${int()} & 3)`,
          "last-rows": () => `${this.#value("Range<Item>", depth)}.last(${random.pick(["1", "2", "5"])})`,
          "rows-behind": () => `rowsBehind(${this.#value("Range<Item>", depth)}, ${this.#value("Row<Item>[]", depth)})`,
          "filtered-rows": () => `${this.#value("Row<Item>[]", depth)}.filter((row) => row.value.n > ${int()})`,
        };
      case "(text: string) => string":
        return {
          "named-function": () => this.#base(type),
          lambda: () =>
            random.pick([
              "(x: string): string => x + word",
              "(x: string): string => { count++; return clip(x); }",
              "(x: string): string => { C.get(key(x)); return x; }",
              "(x: string): string => { shared.s = clip(x); return shared.label(); }",
            ]),
          "function-choice": () => `(${bool()} ? plain : ${random.pick(["noting", "changing"])})`,
          "function-of-list": () =>
            this.#on("Fn[]", (functions) => `(${functions}.length > 0 ? ${functions}[0] : plain)`),
          "last-function-of-list": () =>
            this.#on("Fn[]", (functions) => `(${functions}.length > 0 ? ${functions}.at(-1) : ${this.#base(type)})`),
          "function-taken": () =>
            this.#on(
              "Fn[]",
              (functions) => `(${functions}.length > 0 ? ${functions}.${random.pick(["pop()", "shift()"])} : plain)`,
            ),
          "function-of-map": () =>
            this.#on("Map<string, Fn>", (map) => `(${map}.has("a") ? ${map}.get("a") : ${this.#base(type)})`),
          "function-of-inner-map": () =>
            this.#on(
              "Map<string, Map<string, Fn>>",
              (map) => `(${map}.has("n") && ${map}.get("n").has("a") ? ${map}.get("n").get("a") : ${this.#base(type)})`,
            ),
          "function-of-static-array": () => `${this.#value("StaticArray<Fn>", depth)}[${random.pick(["0", "1"])}]`,
          "function-of-box": () => `${this.#value("Box<Fn>", depth)}.${random.pick(["get()", "value"])}`,
          "function-swapped": () => `${this.#value("Box<Fn>", depth)}.swap(${this.#value(type, depth)})`,
          "function-of-field": () => random.pick(["Holder.chosen", "new Holder().own"]),
          "function-selected": () => `select<Fn>(${this.#value(type, depth)}, ${this.#base(type)}, ${bool()})`,
          "function-reduced": () =>
            `${this.#value("Fn[]", depth)}.reduce<Fn>((p, f) => (count > 3 ? p : f), ${this.#base(type)})`,
        };
      case "Fn[]":
        return {
          "function-array": () => `[${textFunction()}, ${this.#base("(text: string) => string")}]`,
          "function-concat": () => `few<Fn>(${this.#value(type, depth)}.concat(${this.#value(type, depth)}))`,
          "function-slice": () => `${this.#value(type, depth)}.slice(0, 2)`,
          "function-filter": () => `${this.#value(type, depth)}.filter((f) => f != plain)`,
          "functions-of-map": () => `few<Fn>(${this.#value("Map<string, Fn>", depth)}.values())`,
          "functions-of-set": () => `few<Fn>(${this.#value("Set<Fn>", depth)}.values())`,
          "functions-mapped": () => `${this.#value(type, depth)}.map<Fn>((f) => (f == plain ? noting : f))`,
          "functions-flat": () => `few<Fn>([${this.#value(type, depth)}, ${this.#value(type, depth)}].flat())`,
          "functions-kept": () => `keeping(few<Fn>(${this.#value(type, depth)}), ${textFunction()})`,
        };
      case "StaticArray<Fn>":
        return { "static-functions": () => `fixed(${textFunction()})` };
      case "Map<string, Fn>":
        return {
          "command-map": () => `commandOf(${random.pick(['"a"', `clip(${text()})`])}, ${textFunction()})`,
          "inner-map": () =>
            this.#on("Map<string, Map<string, Fn>>", (map) => `(${map}.has("n") ? ${map}.get("n") : commands)`),
        };
      case "Map<string, Map<string, Fn>>":
        return {
          "map-of-maps": () => `new Map<string, Map<string, Fn>>().set("n", ${this.#value("Map<string, Fn>", depth)})`,
        };
      case "Set<Fn>":
        return { "function-set": () => `new Set<Fn>().add(${textFunction()})` };
      case "Box<Fn>":
        return { "boxed-function": () => `new Box<Fn>(${textFunction()})` };
      case "Act":
        return {
          "changing-function": () => this.#base(type),
          "changing-lambda": () =>
            random.pick([
              "(node: Node, text: string): void => { node.s = clip(text + node.s); }",
              "(node: Node, text: string): void => { node.next = shared; node.x++; T.has(key(text)); }",
              "(node: Node, text: string): void => { node.numbers.push(text.length); }",
            ]),
          "changing-function-of-list": () =>
            this.#on("Act[]", (functions) => `(${functions}.length > 0 ? ${functions}[0] : marking)`),
        };
      case "Act[]":
        return { "changing-functions": () => `[${this.#value("Act", depth)}, ${this.#base("Act")}]` };
      case "(n: i32) => i32":
        return {
          "number-function": () => this.#base(type),
          "number-lambda": () =>
            random.pick(["(x: i32): i32 => x * 2", "(x: i32): i32 => { A.has(near(x)); return x + 1; }"]),
        };
    }
  }

  /** A key: mostly one that other accesses meet, sometimes one that hangs on more of a text. */
  #keyOf(depth = 1): string {
    const random = this.#random;
    const kind = random.below(10);
    if (kind < 6) return `key(${this.#value("string", depth)})`;
    if (kind < 8) return `wide(${this.#value("string", depth)})`;
    if (kind < 9) return `near(${this.#value("i32", depth)})`;
    return this.#expression("draw-in-key", "string", random.pick(["key(uuid())", "near(<i32>(random() * 4))"]));
  }

  #table(): string {
    return this.#random.pick(["A", "B", "C"]);
  }

  #call(type: TypeName | "void", depth: number): string | null {
    const candidates = this.#helpers.filter((helper) => helper.result === type);
    if (candidates.length === 0 || this.#loops > 1 || this.#calls > 5 || this.#inClass) return null;
    this.#calls++;
    const helper = this.#random.pick(candidates);
    const args = helper.parameters.map((parameter) => this.#value(parameter, depth + 1));
    if (helper.recursive) args.push(this.#hasDepth ? "depth - 1" : "2");
    const call = `${helper.name}(${args.join(", ")})`;
    if (type === "void") return call;
    return this.#expression(helper.recursive ? "recursion" : "helper-call", type, call);
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #block(length: number): string[] {
    this.#scopes.push([]);
    const lines: string[] = [];
    for (let index = 0; index < length && this.#budget > 0; index++) lines.push(...this.#statement());
    this.#scopes.pop();
    return lines;
  }

  #body(length: number): string {
    return this.#block(length)
      .map((line) => `  ${line.replaceAll("\n", "\n  ")}\n`)
      .join("");
  }

  #braced(head: string, length: number): string {
    return `${head} {\n${this.#body(length)}}`;
  }

  #statement(): string[] {
    this.#budget--;
    const outer = this.#before;
    this.#before = [];
    const written = this.#anyStatement();
    const lines = [...this.#before, ...(written === null ? [] : written.split("\n"))];
    this.#before = outer;
    return lines;
  }

  #anyStatement(): string | null {
    const group = this.#random.below(100);
    if (group < 27) return this.#pick(this.#accesses(), "statement");
    if (group < 40) return this.#declaration();
    if (group < 47) return this.#assignment();
    return this.#pick(group < 72 ? this.#changes() : this.#controls(), "statement");
  }

  #accesses(): Choices {
    const random = this.#random;
    const int = (): string => this.#value("i32");
    const text = (): string => this.#value("string");
    const record = (): string => `item(key(${text()}), ${int()}, ${this.#value("string[]")})`;
    return {
      "get-dropped": () => `${this.#table()}.get(${this.#keyOf()});`,
      "has-dropped": () => `${this.#table()}.has(${this.#keyOf()});`,
      put: () => `${this.#table()}.put(${this.#keyOf()}, ${record()});`,
      delete: () => `${this.#table()}.delete(${this.#keyOf()});`,
      "put-text": () => `T.put(${this.#keyOf()}, ${text()});`,
      "put-place": () => `P.put(${this.#keyOf()}, ${this.#value("Place")});`,
      "get-place-key": () => `T.has(key(${this.#value("Place")}.at));`,
      "table-value-access": () =>
        `${this.#value("Table<Item>")}.${random.pick(["get", "has", "delete"])}(${this.#keyOf()});`,
      "wrapped-put": () => `save<Item>(${this.#value("Table<Item>")}, ${text()}, ${record()});`,
      "read-your-write": () => {
        const table = this.#table();
        const at = this.#keyOf();
        const name = this.#random.name();
        const value = record();
        const found = this.#newVariable("Item | null");
        return `const ${name} = ${at};\n${table}.put(${name}, ${value});\nlet ${found}: Item | null = ${table}.get(${name});`;
      },
      "delete-then-read": () => {
        const table = this.#table();
        const name = this.#random.name();
        return `const ${name} = ${this.#keyOf()};\n${table}.delete(${name});\nif (!${table}.has(${name})) ${this.#table()}.get(${this.#keyOf()});`;
      },
      "scan-dropped": () => `${this.#value("Range<Item>")}.${random.pick(["first", "last"])}(${int()} & 3);`,
      "count-dropped": () => `${this.#value("Range<Item>")}.count();`,
      "count-guard": () =>
        `if (${this.#value("Range<Item>")}.count() > ${int()}) ${this.#table()}.get(${this.#keyOf()});`,
      "reads-by-rows": () =>
        `for (const row of ${this.#value("Row<Item>[]")}) ${this.#table()}.get(${random.pick(["row.key", "wide(row.value.id)", "key(row.cursor)"])});`,
      "rows-put-back": () =>
        `for (const { key: at, value: one } of ${this.#value("Row<Item>[]")}) { one.n++; ${this.#table()}.put(at, one); }`,
      "rows-deleted": () => `for (const row of ${this.#value("Row<Item>[]")}) ${this.#table()}.delete(row.key);`,
      "write-then-scan": () => {
        const table = this.#table();
        const write = random.pick([`put(${this.#keyOf()}, ${record()})`, `delete(${this.#keyOf()})`]);
        const rows = this.#newVariable("Row<Item>[]");
        return `${table}.${write};\nlet ${rows}: Row<Item>[] = ${table}.${random.pick(["all()", 'prefix("k")'])}.${random.pick(["first", "last"])}(2);`;
      },
      "dependent-read": () =>
        this.#on(
          "Item | null",
          (item) => `if (${item} != null) ${this.#table()}.get(${random.pick(["key", "wide"])}(${item}!.id));`,
        ),
      "put-back": () =>
        this.#on("Item | null", (item) => `if (${item} != null) ${this.#table()}.put(${this.#keyOf()}, ${item}!);`),
      "reads-in-loop": () =>
        this.#on(
          "Item | null",
          (item) =>
            `if (${item} != null) for (let i = 0; i < ${item}!.list.length && i < 4; i++) ${this.#table()}.get(key(${item}!.list[i]));`,
        ),
      "accesses-over-texts": () =>
        this.#on(
          "string[]",
          (name) => `for (let i = 0; i < ${name}.length && i < 4; i++) { ${this.#table()}.get(key(${name}[i])); }`,
        ),
      "rank-then-access": () =>
        this.#on(
          "Node[]",
          (name) =>
            `${random.pick(["", `${name}.sort((p, q) => p.x - q.x);\n`])}for (let i = 0; i < ${name}.length && i < ${random.pick(["2", "3"])}; i++) A.get(wide(${name}[i].s));`,
        ),
      "slow-ranking": () => (this.#loops < 2 ? this.#ranking() : null),
      "slow-best-each": () =>
        `best(few<string>(${this.#value("string[]")})).forEach((x) => { ${this.#table()}.get(wide(x)); });`,
      "slow-best-map": () =>
        `best(few<string>(${this.#value("string[]")})).map<string>((x) => { ${this.#table()}.get(wide(x)); return x; });`,
      "slow-best-filter": () =>
        `best(few<string>(${this.#value("string[]")})).filter((x) => ${this.#table()}.has(wide(x))).forEach((x) => { ${this.#table()}.get(key(x)); });`,
      "slow-selection-loop": () => {
        const name = this.#random.name();
        const index = this.#random.name();
        const chosen = this.#random.pick([
          `ordered(few<string>(${this.#value("string[]")}))`,
          `new Board(few<string>(${this.#value("string[]")})).top(${int()})`,
          `few<string>(${this.#value("string[]")}).slice(0).sort((p, q) => slow(p) - slow(q)).slice(0, 2)`,
        ]);
        const limit = this.#random.pick(["", "", ` && ${index} < 2`, ` && ${index} < n7(${int()})`]);
        const early = this.#random.pick(["", "", `  if (${this.#value("bool")}) break;\n`]);
        return `const ${name} = ${chosen};\nfor (let ${index} = 0; ${index} < ${name}.length${limit}; ${index}++) {\n  ${this.#table()}.get(wide(${name}[${index}]));\n${early}}`;
      },
      "map-key-loop": () => {
        const keys = this.#random.name();
        return this.#on(
          "Map<string, i32>",
          (name) =>
            `const ${keys} = ${name}.keys();\nfor (let i = 0; i < ${keys}.length && i < 4; i++) { ${this.#table()}.get(wide(${keys}[i])); ${random.pick(["", `${name}.delete(${keys}[i]);`, `${name}.set(${keys}[i], i);`])} }`,
        );
      },
      "map-value-loop": () => {
        const values = this.#random.name();
        return this.#on(
          "Map<string, Node>",
          (name) =>
            `const ${values} = ${name}.values();\nfor (let i = 0; i < ${values}.length && i < 4; i++) { ${this.#table()}.get(key(${values}[i].s)); ${random.pick(["", `${values}[i].s = "v";`])} }`,
        );
      },
      "set-loop": () => {
        const values = this.#random.name();
        return this.#on(
          "Set<string>",
          (name) =>
            `const ${values} = ${name}.values();\nfor (let i = 0; i < ${values}.length && i < 4; i++) ${this.#table()}.has(wide(${values}[i]));`,
        );
      },
      "put-through-field": () => `${random.pick(["stores[1]", "new Shelf().store"])}.keep(${text()}, ${record()});`,
      "delete-through-field": () => `${random.pick(["stores[0]", "stores[1]"])}.drop(${text()});`,
      "table-in-field-replaced": () => `${random.pick(["Shelf.table", "stores[0].table"])} = ${this.#table()};`,
      "tree-walk-from-key": () => `count += walk(A.get(${this.#keyOf()}), 3);`,
      "float-key": () => `${this.#table()}.get(wide((${this.#value("f64")}).toString()));`,
      "narrow-key": () => `${this.#table()}.has(wide((${this.#value("u8")}).toString()));`,
      "long-key": () => `${this.#table()}.get(wide((${this.#value("i64")}).toString()));`,
      "delete-in-loop": () =>
        this.#on(
          "string[]",
          (name) => `for (let i = 0; i < ${name}.length && i < 3; i++) { ${this.#table()}.delete(key(${name}[i])); }`,
        ),
      "any-text-as-key": () => (random.chance(0.2) ? `T.has(clip(${text()}));` : null),
      "slow-ranking-again": () => (this.#loops < 2 ? this.#ranking() : null),
      "sorted-keys": () => {
        const copy = this.#random.name();
        return this.#on(
          "string[]",
          (name) =>
            `const ${copy} = ${name}.slice(0);\n${copy}.sort();\nfor (let i = 0; i < ${copy}.length && i < 3; i++) ${this.#table()}.get(wide(${copy}[i]));`,
        );
      },
      "slow-union": () =>
        random.pick([
          `if (slow(${text()}) > 128) ${this.#table()}.put(${this.#keyOf()}, ${record()}); else ${this.#table()}.get(${this.#keyOf()});`,
          `if (slow(${text()}) > 128) { ${this.#table()}.delete(${this.#keyOf()}); }`,
          `if (slow(${text()}) == 5) ${this.#exit()}\n${this.#table()}.get(${this.#keyOf()});`,
        ]),
      "map-then-access": () =>
        this.#on("Map<string, i32>", (name) => `if (${name}.has("a")) A.get(wide(${name}.get("a").toString()));`),
      "callback-access": () =>
        this.#on("string[]", (name) => `few<string>(${name}).forEach((x) => { C.has(key(x)); });`),
      "functions-in-turn": () =>
        this.#on(
          "Fn[]",
          (functions) =>
            `for (let i = 0; i < ${functions}.length && i < 3; i++) ${this.#table()}.get(wide(${functions}[i](${text()})));`,
        ),
      "functions-by-callback": () =>
        `few<Fn>(${this.#value("Fn[]")}).${random.pick(["forEach((f) => { C.has(wide(f(word))); });", "some((f) => A.has(wide(f(word))));", "map<string>((f) => f(word)).forEach((x) => { B.get(wide(x)); });"])}`,
      "function-in-key": () => `${this.#table()}.get(wide(${this.#value("Box<Fn>")}.get()(${text()})));`,
      command: () =>
        this.#on(
          "Map<string, Fn>",
          (map) => `if (${map}.has("a")) ${this.#table()}.has(wide(${map}.get("a")(${text()})));`,
        ),
      "changing-functions-in-turn": () => {
        const name = random.name();
        return this.#on(
          "Act[]",
          (functions) =>
            `const ${name} = ${this.#value("Node")};\nfor (let i = 0; i < ${functions}.length && i < 3; i++) ${functions}[i](${name}, ${text()});\n${this.#table()}.get(wide(${name}.s));`,
        );
      },
      "typed-array-key": () => this.#on("Int32Array", (name) => `B.get(wide(${name}[1].toString()));`),
      "side-effect-method": () => `${this.#value("Shape")}.side();`,
    };
  }

  #changes(): Choices {
    const random = this.#random;
    const int = (): string => this.#value("i32");
    const text = (): string => this.#value("string");
    const node = (): string => this.#value("Node");
    const textFunction = (): string => this.#value("(text: string) => string");
    return {
      "global-number": () => `count ${random.pick(["=", "+=", "^="])} ${int()};`,
      "global-update": () => "count++;",
      "global-text": () => `word = clip(${text()});`,
      "global-object": () => `shared = ${node()};`,
      "global-array": () => `if (texts.length < 5) texts.push(clip(${text()}));`,
      "global-container-alias": () => `if (register.length < 4) register.unshift(${node()});`,
      "global-field": () => `shared.s = clip(${text()});`,
      "static-field": () =>
        random.pick([`Holder.hits = ${int()};`, `Holder.held = ${node()};`, `Holder.held.s = clip(${text()});`]),
      "inferred-literal": () => {
        const name = random.name();
        return `const ${name} = { text: clip(${text()}), n: (${int()}) & 31, node: ${node()} };\n${name}.node.mark = ${name}.text;\n${name}.n += 2;\n${this.#table()}.has(near(${name}.n));`;
      },
      "inferred-list": () => {
        const [name, each] = [random.name(), random.name()];
        return `const ${name} = [{ at: key(${text()}), n: 1 }, { at: key(${text()}), n: (${int()}) & 7 }];\n${name}[0].n = ${name}[1].n;\nfor (const ${each} of ${name}) if (${each}.n > 2) ${this.#table()}.has(${each}.at);`;
      },
      "inferred-result": () => {
        const name = random.name();
        return `const ${name} = noteOf(${text()}, ${int()});\n${name}.node.x = ${name}.n;\n${this.#table()}.put(key(${name}.text), ${name}.items[0]);`;
      },
      "inferred-parts": () => {
        const [one, two] = [random.name(), random.name()];
        return `const { text: ${one}, node: ${two} } = noteOf(${text()}, ${int()});\n${two}.s = ${one};\n${this.#table()}.has(key(${one}));`;
      },
      "place-level": () => this.#on("Place", (name) => `${name}.level = ${this.#value("i32 | null")};`),
      "place-near": () => this.#on("Place", (name) => `${name}.near = ${random.pick([text(), "null"])};`),
      "place-mood": () => this.#on("Place", (name) => `${name}.mood = ${random.pick(['"calm"', '"loud"'])};`),
      "place-entry": () =>
        this.#on("Place", (name) => `if (${name}.kinds.size < 4) ${name}.kinds[clip(${text()})] = ${int()};`),
      "place-spot": () =>
        this.#on(
          "Place",
          (name) => `if (${name}.spots.length < 3) ${name}.spots.push({ tag: clip(${text()}), x: ${int()} });`,
        ),
      "record-number": () => this.#on("Item | null", (item) => `if (${item} != null) ${item}!.n = ${int()};`),
      "record-list": () =>
        this.#on(
          "Item | null",
          (item) => `if (${item} != null && ${item}!.list.length < 5) ${item}!.list.push(clip(${text()}));`,
        ),
      "record-part": () =>
        this.#on("Item | null", (item) => `if (${item} != null) ${item}!.part.label = clip(${text()});`),
      "record-parts": () =>
        this.#on(
          "Item | null",
          (item) => `if (${item} != null && ${item}!.parts.length < 3) ${item}!.parts.push(${item}!.part);`,
        ),
      "record-nullable": () =>
        this.#on(
          "Item | null",
          (item) => `if (${item} != null) ${item}!.other = ${random.pick(["new Part()", `${item}!.part`, "null"])};`,
        ),
      "field-number": () => this.#on("Node", (name) => `${name}.x = ${int()};`),
      "field-text": () => this.#on("Node", (name) => `${name}.s = clip(${text()});`),
      "field-array": () =>
        this.#on("Node", (name) => `if (${name}.numbers.length < 6) ${name}.numbers.push(${int()});`),
      "field-link": () => this.#on("Node", (name) => `${name}.next = ${node()};`),
      "setter-call": () => this.#on("Node", (name) => `${name}.twice = ${int()};`),
      "setter-access": () => this.#on("Node", (name) => `${name}.mark = clip(${text()});`),
      "field-compound": () => this.#on("Node", (name) => `${name}.x ${random.pick(["+=", "-=", "*="])} ${int()};`),
      "method-effect": () => this.#on("Node", (name) => `${name}.bump(${int()});`),
      "field-of-container": () =>
        this.#on("Node[]", (name) => `if (${name}.length > 0) ${name}[${name}.length - 1].s = clip(${text()});`),
      "holder-node": () => this.#on("Holder", (name) => `${name}.node = ${node()};`),
      "holder-keep": () => this.#on("Holder", (name) => `if (${name}.nodes.length < 4) ${name}.keep(${node()});`),
      "holder-change": () => this.#on("Holder", (name) => `${name}.named(${text()}).s = clip(${text()});`),
      "box-change": () =>
        this.#on("Box<Node>", (name) => random.pick([`${name}.value = ${node()};`, `${name}.get().bump(2);`])),
      "random-object-change": () =>
        this.#inClass
          ? null
          : this.#on("Base", (name) =>
              random.pick([
                `${name}.total = ${int()};`,
                `${name}.size = ${int()};`,
                `${name}.node = ${node()};`,
                `if (${name}.list.length < 4) ${name}.list.push(clip(${text()}));`,
              ]),
            ),
      "array-push": () => this.#on("string[]", (name) => `if (${name}.length < 5) ${name}.push(clip(${text()}));`),
      "array-pop": () => this.#on("string[]", (name) => `if (${name}.length > 1) ${name}.pop();`),
      "pop-trap": () => (random.chance(0.07) ? this.#on("string[]", (name) => `${name}.pop();`) : null),
      "element-write": () => this.#on("string[]", (name) => `if (${name}.length > 0) ${name}[0] = clip(${text()});`),
      "element-write-ordered": () => {
        const index = this.#variable("i32", true);
        return index === null
          ? null
          : this.#on(
              "string[]",
              (name) =>
                `if (${index} >= 0 && ${index} < ${name}.length) ${name}[${index}++] = clip(${text()} + ${index}.toString());`,
            );
      },
      reverse: () => this.#on("string[]", (name) => `${name}.reverse();`),
      sort: () => this.#on("string[]", (name) => `${name}.sort();`),
      splice: () => this.#on("string[]", (name) => `if (${name}.length > 0) ${name}.splice(0, 1);`),
      "number-push": () => this.#on("i32[]", (name) => `if (${name}.length < 6) ${name}.push(${int()});`),
      "element-compound": () => this.#on("i32[]", (name) => `if (${name}.length > 0) ${name}[0] += ${int()};`),
      "element-update": () => this.#on("i32[]", (name) => `if (${name}.length > 0) ${name}[${name}.length - 1]++;`),
      "sort-callback": () => this.#on("i32[]", (name) => `${name}.sort((a, b) => b - a);`),
      "object-push": () => this.#on("Node[]", (name) => `if (${name}.length < 4) ${name}.push(${node()});`),
      "object-sort": () => this.#on("Node[]", (name) => `${name}.sort((p, q) => p.x - q.x);`),
      "callback-change": () => this.#on("Node[]", (name) => `${name}.forEach((x) => { x.s = word; x.x++; });`),
      "map-set": () =>
        this.#on("Map<string, i32>", (name) => `if (${name}.size < 5) ${name}.set(clip(${text()}), ${int()});`),
      "map-delete": () => this.#on("Map<string, i32>", (name) => `${name}.delete(${text()});`),
      "object-map-set": () =>
        this.#on(
          "Map<string, Node>",
          (name) => `if (${name}.size < 4) ${name}.set(${random.pick(['"a"', `clip(${text()})`])}, ${node()});`,
        ),
      "set-add": () => this.#on("Set<string>", (name) => `if (${name}.size < 5) ${name}.add(clip(${text()}));`),
      "set-clear": () => this.#on("Set<string>", (name) => `${name}.clear();`),
      "function-push": () =>
        this.#on(
          "Fn[]",
          (functions) =>
            `if (${functions}.length < 5) ${functions}.${random.pick(["push", "unshift"])}(${textFunction()});`,
        ),
      "function-fill": () =>
        this.#on("Fn[]", (functions) => `${functions}.fill(${textFunction()}${random.pick(["", ", 1"])});`),
      "function-element": () =>
        this.#on("Fn[]", (functions) => `if (${functions}.length > 0) ${functions}[0] = ${textFunction()};`),
      "function-splice": () =>
        this.#on("Fn[]", (functions) => `if (${functions}.length > 1) ${functions}.splice(0, 1)[0](${text()});`),
      "static-function-fill": () =>
        this.#on("StaticArray<Fn>", (functions) =>
          random.pick([`${functions}.fill(${textFunction()});`, `${functions}[1] = ${textFunction()};`]),
        ),
      "function-map-set": () =>
        this.#on(
          "Map<string, Fn>",
          (map) => `if (${map}.size < 4) ${map}.set(${random.pick(['"a"', `clip(${text()})`])}, ${textFunction()});`,
        ),
      "inner-map-set": () =>
        this.#on(
          "Map<string, Map<string, Fn>>",
          (map) =>
            `if (${map}.has("n")) ${random.pick([`${map}.get("n").set("a", ${textFunction()})`, `${map}.set("n", ${this.#value("Map<string, Fn>")})`])};`,
        ),
      "function-set-add": () => this.#on("Set<Fn>", (set) => `if (${set}.size < 4) ${set}.add(${textFunction()});`),
      "function-box-change": () => this.#on("Box<Fn>", (box) => `${box}.value = ${textFunction()};`),
      "function-field": () => `Holder.chosen = ${textFunction()};`,
      "changing-function-push": () =>
        this.#on("Act[]", (functions) => `if (${functions}.length < 4) ${functions}.push(${this.#value("Act")});`),
      "changing-function-call": () => this.#on("Act", (act) => `${act}(${node()}, ${text()});`),
      "interface-change": () => this.#on("Sound", (name) => `${name}.level = ${int()};`),
      "interface-cast": () =>
        this.#on("Sound", (name) => `if (${name} instanceof LoudSound) (${name} as LoudSound).louder(${int()});`),
      "object-change": () =>
        this.#on("Pair", (name) => random.pick([`${name}.left = ${int()};`, `${name}.right = clip(${text()});`])),
      "element-assignment-operator": () => this.#on("Pair", (name) => `${name}[${int()}] = ${int()};`),
      "typed-array-write": () =>
        this.#on(
          "Int32Array",
          (name) => `${name}[${random.pick(["0", "1", "2"])}] ${random.pick(["=", "+="])} ${int()};`,
        ),
      "byte-write": () =>
        this.#on("Uint8Array", (name) => `if (${name}.length > 0) ${name}[0] = <u8>(97 + (${int()} & 3));`),
      "typed-array-fill": () => this.#on("Int32Array", (name) => `${name}.fill(${int()});`),
      "lambda-default": () => {
        const f = this.#random.name();
        return `let ${f} = (text: string, n: i32 = ${random.pick(["count++", "Holder.tick()", "3"])}, other: string = ${random.pick(['text + "d"', "textOf(T.get(key(text)))"])}): string => clip(text + n.toString() + other);\nword = ${f}(${[text(), int(), text()].slice(0, 1 + random.below(3)).join(", ")});`;
      },
      "record-ratio": () =>
        this.#on("Item | null", (item) => `if (${item} != null) ${item}!.ratio = ${this.#value("f64")};`),
      "draw-dropped": () => random.pick(["random();", "uuid();"]),
      "function-value-effect": () => this.#on("(text: string) => string", (f) => `${f}(${text()});`),
    };
  }

  #controls(): Choices {
    const random = this.#random;
    const bool = (): string => this.#value("bool");
    const loops = this.#loops < 2 ? (): string => this.#loop() : (): null => null;
    return {
      "if-else": () =>
        `${this.#braced(`if (${bool()})`, 1 + random.below(3)).slice(0, -1)}${this.#braced("} else", 1 + random.below(3))}`,
      if: () => this.#braced(`if (${bool()})`, 1 + random.below(3)),
      "slow-if": () =>
        this.#braced(
          `if (slow(${this.#value("string")}) ${random.pick(["> 128", "== 5", "< 250"])})`,
          1 + random.below(3),
        ),
      "slow-if-else": () =>
        `${this.#braced(`if (slow(${this.#value("string")}) > 128)`, 1 + random.below(2)).slice(0, -1)}${this.#braced("} else", 1 + random.below(2))}`,
      "slow-loop": () => {
        const sum = this.#random.name();
        const counter = this.#random.name();
        const start = this.#value("i32");
        this.#scopes.at(-1)?.push({ name: sum, type: "i32", constant: false });
        return `let ${sum} = ${start};\nfor (let ${counter} = 0; ${counter} < 5000; ${counter}++) ${sum} = (${sum} * 31 + ${counter}) & 15;`;
      },
      "slow-guard": () => `if (slow(${this.#value("string")}) ${random.pick(["== 5", "> 200"])}) ${this.#exit()}`,
      "slow-or-guard": () => `if (${this.#value("bool")} || slow(${this.#value("string")}) > 230) ${this.#exit()}`,
      "slow-switch": () => this.#switch(`slow(${this.#value("string")}) & 3`),
      switch: () => this.#switch(`(${this.#value("i32")}) & 3`),
      "text-switch": () => this.#textSwitch(),
      "helper-statement": () => {
        const call = this.#call("void", 1);
        return call === null ? null : `${call};`;
      },
      "early-end": () => (random.chance(0.5) ? `if (${bool()}) ${this.#exit()}` : null),
      log: () =>
        random.chance(0.4) ? `log${random.pick(["", ".debug", ".warn"])}(${this.#value("string", 2)});` : null,
      task: () => {
        if (!random.chance(0.4)) return null;
        const text = (): string => this.#value("string", 2);
        const given = random.pick([text(), `${text()}, ${this.#value("i32")}`]);
        const key = `key: key(${text()})`;
        const options = random.pick([
          "",
          `, { ${key} }`,
          `, { delay: ${this.#value("i32")}, ${key} }`,
          ", { key: null }",
        ]);
        const call = `enqueue(later(${given})${options})`;
        return random.pick([`${call};`, `cancel(${call});`, `log(${call});`]);
      },
      assert: () => (random.chance(0.12) ? `assert(${bool()}, "asserted");` : null),
      "cast-trap": () => (random.chance(0.07) ? this.#on("Shape", (name) => `count += (<Square>${name}).size;`) : null),
      jump: () => (this.#jumps > 0 ? `if (${bool()}) ${random.pick(["break;", "continue;"])}` : null),
      "slow-jump": () =>
        this.#jumps > 0 ? `if (slow(${this.#value("string")}) > 128) ${random.pick(["break;", "continue;"])}` : null,
      "jump-plain": () => (this.#jumps > 0 ? `if (${bool()}) ${random.pick(["break;", "continue;"])}` : null),
      "null-exit": () => this.#on("Item | null", (name) => `if (${name} == null) ${this.#exit()}`),
      block: () => this.#braced("", 2).trim(),
      loop: loops,
      "loop-again": loops,
    };
  }

  /** Accesses of the best by an expensive order. */
  #ranking(): string {
    const random = this.#random;
    const [element, score] = random.pick([
      ["Node", "slow(p.s) - slow(q.s)"],
      ["Node", "q.x - p.x + slow(q.s)"],
      ["string", "slow(p) - slow(q)"],
    ] as const);
    const list = random.name();
    const counter = random.name();
    const head = `const ${list} = few<${element}>(${this.#value(`${element}[]`)}).slice(0);\n${list}.sort((p, q) => ${score});`;
    const bounds = `let ${counter} = ${random.pick(["0", "0", "1"])}; ${counter} < ${list}.length && ${counter} < ${random.pick(["2", "3", this.#variable("i32") ?? "count"])}; ${counter}++`;
    this.#loops++;
    const jumps = this.#jumps;
    this.#jumps = 1;
    this.#scopes.push([]);
    const item = this.#newVariable(element, true);
    const key = `${random.pick(["key", "wide"])}(${element === "Node" ? `${item}.s` : item})`;
    const body = random.chance(0.5) ? "" : this.#body(1 + random.below(2));
    this.#scopes.pop();
    this.#jumps = jumps;
    this.#loops--;
    const again = random.chance(0.2) ? `\nT.get(wide(${list}.length.toString()));` : "";
    return `${head}\nfor (${bounds}) {\n  const ${item}: ${element} = ${list}[${counter}];\n  ${this.#table()}.get(${key});\n${body}}${again}`;
  }

  #resultOfReturn(depth = 2): string {
    if (this.#result === "void") return "";
    if (this.#result !== "inferred") return ` ${this.#value(this.#result, depth)}`;
    const [text, n, ids] = [this.#value("string", depth), this.#value("i32", depth), this.#value("string[]", depth)];
    return ` { text: clip(${text}), n: <i32>(${n}), ids: few<string>(${ids}) }`;
  }

  #exit(): string {
    // The compiler takes `return` in a constructor for another object.
    if (this.#inConstructor) return this.#random.chance(0.15) ? 'throw new Error("made");' : "count++;";
    const value = (): string => `return${this.#resultOfReturn()};`;
    const written =
      this.#pick(
        {
          return: value,
          "return-again": value,
          "return-often": value,
          throw: () => (this.#random.chance(0.12) ? 'throw new Error("stop");' : null),
          abort: () => (this.#random.chance(0.5) ? `abort(409, "stopped", ${this.#value("string", 2)});` : null),
        },
        "statement",
      ) ?? value();
    return this.#marked ? `{ ${written} }` : written;
  }

  #declaration(): string {
    const random = this.#random;
    const type = random.chance(0.5) ? random.pick(COMMON_TYPES) : random.pick(VARIABLE_TYPES);
    if (type === "Base" && this.#inClass) return "";
    const initial = this.#value(type);
    const constant = random.chance(0.3);
    if (random.chance(0.1) && !constant && type === "i32") {
      const condition = this.#value("bool");
      const later = this.#newVariable(type);
      return this.#statementOf(
        "assigned-later",
        `let ${later}: ${type};\nif (${condition}) ${later} = ${initial}; else ${later} = ${this.#base("Node")}.x;`,
      );
    }
    const name = this.#newVariable(type, constant);
    return `${constant ? "const" : "let"} ${name}: ${type} = ${initial};`;
  }

  #assignment(): string | null {
    const type = this.#random.pick(this.#random.chance(0.5) ? COMMON_TYPES : VARIABLE_TYPES);
    const known = this.#variables(type, true);
    if (known.length === 0) return null;
    const name = this.#random.pick(known);
    if (type === "i32") return `${name} ${this.#random.pick(["=", "+=", "-=", "^="])} ${this.#value(type)};`;
    if (type === "string") return `${name} = clip(${this.#value(type)});`;
    if (type === "string[]" || type === "Node[]" || type === "i32[]")
      return `${name} = few<${type.slice(0, -2)}>(${this.#value(type)});`;
    return `${name} = ${this.#value(type)};`;
  }

  #switch(discriminant: string): string {
    const random = this.#random;
    const labels = Array.from({ length: 1 + random.below(3) }, (_, index) => `case ${index}:`);
    return this.#cases(discriminant, labels);
  }

  #textSwitch(): string {
    const labels = ['case "a":', 'case "b":', "case word:"].slice(0, 1 + this.#random.below(3));
    return this.#cases(`clip(${this.#value("string")})`, labels);
  }

  #cases(discriminant: string, labels: string[]): string {
    const random = this.#random;
    if (random.chance(0.5)) labels.splice(random.below(labels.length + 1), 0, "default:");
    const outer = this.#jumps;
    // `continue` in a switch belongs to the loop around it; `break` is written below.
    this.#jumps = 0;
    const lines = labels.map((label) => {
      const body = `  ${label} {\n${this.#body(1 + random.below(2))
        .replaceAll(/^/gm, "  ")
        .trimEnd()}\n  }`;
      if (!random.chance(0.6)) return `${body}\n  ${this.#statementOf("fall-through", "")}`;
      if (outer > 0 && random.chance(0.2)) return `${body}\n  ${this.#statementOf("continue-in-switch", "continue;")}`;
      if (random.chance(0.15)) return `${body}\n  ${this.#exit()}`;
      return `${body}\n  break;`;
    });
    this.#jumps = outer;
    return `switch (${discriminant}) {\n${lines.join("\n")}\n}`;
  }

  #loop(): string {
    const random = this.#random;
    const first = this.#loops > 0 ? this.#statementOf("nested-loop", "") : "";
    this.#loops++;
    this.#scopes.push([]);
    const bound = 1 + random.below(3);
    // The condition is written before the body's variables are.
    const condition = this.#value("bool");
    const counter = this.#random.name();
    const length = 1 + random.below(4);
    const inside = (): string => {
      const jumps = this.#jumps;
      this.#jumps = 1;
      const body = this.#body(length);
      this.#jumps = jumps;
      return body;
    };
    const loops: Choices = {
      for: () => {
        this.#scopes.at(-1)?.push({ name: counter, type: "i32", constant: true });
        return `for (let ${counter} = 0; ${counter} < ${bound}; ${counter}++) {\n${inside()}}`;
      },
      "for-with-effects": () =>
        `for (let ${counter} = 0; ${counter} < ${bound} && ${condition}; ${counter} += 1) {\n${inside()}}`,
      while: () => `let ${counter} = 0;\nwhile (${counter}++ < ${bound} && ${condition}) {\n${inside()}}`,
      "do-while": () =>
        `let ${counter} = 0;\ndo {\n  if (${counter}++ > ${bound}) break;\n${inside()}} while (${condition});`,
      "update-with-access": () => {
        const body = inside();
        return `for (let ${counter} = 0; ${counter} < ${bound}; ${counter}++, ${this.#table()}.has(${this.#keyOf()})) {\n${body}}`;
      },
      "while-with-limit": () => {
        const limit = this.#value("i32");
        return `let ${counter} = 0;\nwhile (${counter} < ${bound} && (${limit}) > ${counter}) {\n  ${counter}++;\n${inside()}}`;
      },
      "endless-loop": () => `let ${counter} = 0;\nwhile (true) {\n  if (${counter}++ >= ${bound}) break;\n${inside()}}`,
      "bound-from-slow": () =>
        `for (let ${counter} = 0; ${counter} < (slow(${this.#value("string")}) & 3); ${counter}++) {\n${inside()}}`,
    };
    const written = this.#pick(loops, "statement");
    this.#scopes.pop();
    this.#loops--;
    return first + (written ?? "");
  }
}

/**
 * Most programs wrap around everywhere: their numbers overflow so often that handlers would do little else than trap. The
 * others trap where their functions, but not those that every program has, overflow.
 */
function wrapping(text: string, seed: number): string {
  const functions = /(?<!\*\/\n)^(?=(?:export )?function )/gm;
  return seed % 12 === 0 ? text : text.replaceAll(functions, "/** @wrapping */ ");
}

/** An integer of which nothing is known in place of 0. */
function orCount(integer: string): string {
  return integer === "0" ? "count" : integer;
}
