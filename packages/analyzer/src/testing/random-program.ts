/**
 * For tests: random applications that stress the slicer. They alias objects, mutate them through helpers, read what
 * they wrote, jump out of nested loops, hide accesses in conditions and arguments, draw, abort, throw and trap. They
 * are type-correct and always end. Same seed, same program.
 */

export interface RandomProgram {
  readonly files: Readonly<Record<string, string>>;
  readonly handlers: readonly string[];
}

/** Texts that keys are made of; also for the store and the arguments. */
export const KEY_TEXTS: readonly string[] = ["ka", "kb", "k0", "k1", "k2"];
export const TABLES: readonly string[] = ["A", "B", "C"];

/** `slow` looks expensive, and is not: there are many runs. */
const PRELUDE = `import { Table, abort, now, random, uuid } from "@radical/sdk";
export class Part { label: string = "p"; weight: i32 = 1; }
export class Item { n: i32 = 0; list: string[] = []; part: Part = new Part(); constructor(public id: string) {} }
const A = new Table<Item>("A");
const B = new Table<Item>("B");
const C = new Table<Item>("C");
class Node {
  next: Node | null = null;
  numbers: i32[] = [];
  constructor(public x: i32, public s: string) { this.numbers.push(x); }
  get twice(): i32 { return this.x * 2; }
  set twice(value: i32) { this.x = value / 2; }
  bump(by: i32): i32 { this.x = (this.x + by) % 97; return this.x; }
  label(): string { return "n" + this.x.toString(); }
  attach(other: Node): Node { this.next = other; return this; }
}
abstract class Shape {
  constructor(public tag: string) {}
  abstract go(node: Node): string;
  side(): void { B.has(key(this.tag)); }
}
class Circle extends Shape { go(node: Node): string { node.x += 1; return this.tag + node.s; } }
class Square extends Shape {
  size: i32 = 2;
  constructor(tag: string) { super("s" + tag); }
  go(node: Node): string { this.size += node.x; return this.size.toString(); }
  side(): void { C.has(key(this.tag)); super.side(); }
}
let count: i32 = 3;
let word: string = "a";
let shared: Node = new Node(5, "g");
const texts: string[] = ["a", "b"];
const limits: i32[] = [1, 2, 3];
function key(text: string): string { return "k" + (text.length > 0 ? text.charAt(text.length - 1) : "0"); }
function clip(text: string): string { return text.length > 6 ? text.substring(text.length - 6) : text; }
function item(id: string, n: i32, list: string[]): Item { const made = new Item(id); made.n = n; made.list = list; return made; }
function shape(n: i32, tag: string): Shape { return n % 2 == 0 ? new Circle(tag) : new Square(tag); }
function slow(text: string): i32 { let h = 7; for (let i = 0; i < 30000; i++) { if (i > 9) break; h = h * 31 + (text.length > 0 ? <i32>text.charCodeAt(i % text.length) : 1); } return h & 255; }
function same<T>(value: T): T { return value; }
function choose<T>(first: T, second: T, n: i32): T { if (n > 2) return first; count++; return second; }
`;

type TypeName =
  | "i32"
  | "string"
  | "bool"
  | "Node"
  | "Node | null"
  | "Item | null"
  | "i32[]"
  | "string[]"
  | "Node[]"
  | "Map<string, i32>"
  | "Set<string>";

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

const VARIABLE_TYPES: readonly TypeName[] = [
  "i32",
  "string",
  "bool",
  "Node",
  "Node | null",
  "Item | null",
  "i32[]",
  "string[]",
  "Node[]",
  "Map<string, i32>",
  "Set<string>",
];

export function randomProgram(seed: number): RandomProgram {
  const random = new Random(seed);
  const helpers: Helper[] = [];
  const text: string[] = [PRELUDE];
  for (let index = 0; index < 1 + random.below(4); index++) {
    const recursive = random.chance(0.4);
    const helper: Helper = {
      name: `helper${index}`,
      parameters: Array.from({ length: random.below(3) }, () => random.pick(VARIABLE_TYPES)),
      result: random.pick(["i32", "string", "bool", "Node", "void", "void"]),
      recursive,
    };
    // A recursive helper may call itself; its depth parameter ends it.
    if (recursive) helpers.push(helper);
    text.push(new FunctionWriter(random, helpers, helper.result, recursive).helper(helper));
    if (!recursive) helpers.push(helper);
  }
  const handlers = ["first", "second", "third"];
  for (const name of handlers)
    text.push(new FunctionWriter(random, helpers, random.pick(["string", "i32", "void"]), false).handler(name));
  return { files: { "handlers/random.ts": text.join("\n") }, handlers };
}

/** A small deterministic generator (mulberry32). */
class Random {
  private state: number;
  private names = 0;

  constructor(seed: number) {
    this.state = (seed * 2654435761 + 97) >>> 0;
  }

  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  /** A name that was not used before. */
  name(): string {
    return `v${this.names++}`;
  }

  chance(probability: number): boolean {
    return this.below(1000) < probability * 1000;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error("nothing to pick from");
    return choice;
  }
}

class FunctionWriter {
  private readonly random: Random;
  private readonly helpers: readonly Helper[];
  private readonly result: TypeName | "void";
  private readonly scopes: Variable[][] = [[]];
  private readonly hasDepth: boolean;
  private budget = 16;
  private loops = 0;
  /** Loops that `break` and `continue` may leave here. */
  private jumps = 0;
  private calls = 0;

  constructor(random: Random, helpers: readonly Helper[], result: TypeName | "void", hasDepth: boolean) {
    this.random = random;
    this.helpers = helpers;
    this.result = result;
    this.hasDepth = hasDepth;
  }

  handler(name: string): string {
    this.budget = 26;
    this.scopes[0]?.push(
      { name: "a", type: "string", constant: false },
      { name: "n", type: "i32", constant: false },
      { name: "many", type: "string[]", constant: false },
    );
    return this.function(name, "a: string, n: i32, many: string[]", true);
  }

  helper(helper: Helper): string {
    const parameters = helper.parameters.map((type) => `${this.newVariable(type)}: ${type}`);
    if (helper.recursive) parameters.push("depth: i32");
    return this.function(helper.name, parameters.join(", "), false);
  }

  private function(name: string, parameters: string, exported: boolean): string {
    const body = this.block(6 + this.random.below(8));
    const guard = this.hasDepth
      ? [`if (depth <= 0) return${this.result === "void" ? "" : ` ${this.base(this.result)}`};`]
      : [];
    const last = this.result === "void" ? [] : [`return ${this.value(this.result)};`];
    return `${exported ? "export " : ""}function ${name}(${parameters}): ${this.result} {\n${[...guard, ...body, ...last].map((line) => `  ${line}`).join("\n")}\n}`;
  }

  // ----------------------------------------------------------------------------------------------------------- variables

  private newVariable(type: TypeName, constant = false): string {
    const name = this.random.name();
    this.scopes.at(-1)?.push({ name, type, constant });
    return name;
  }

  private variables(type: TypeName, assignable = false): string[] {
    return this.scopes
      .flat()
      .flatMap((variable) => (variable.type === type && !(assignable && variable.constant) ? [variable.name] : []));
  }

  private variable(type: TypeName): string | null {
    const known = this.variables(type);
    return known.length === 0 ? null : this.random.pick(known);
  }

  // --------------------------------------------------------------------------------------------------------- expressions

  private value(type: TypeName, depth = 1): string {
    const { random } = this;
    const known = this.variables(type);
    const call = random.chance(0.12) ? this.call(type, depth) : null;
    if (call !== null) return call;
    if (known.length > 0 && random.chance(depth > 2 ? 0.9 : 0.45)) return random.pick(known);
    if (random.chance(0.04) && type !== "bool" && !type.includes("null"))
      return `choose<${type}>(${this.value(type, depth + 1)}, ${this.base(type)}, ${this.value("i32", depth + 1)})`;
    if (depth > 3) return this.base(type);
    return random.pick(this.choices(type, depth))();
  }

  private base(type: TypeName): string {
    const { random } = this;
    switch (type) {
      case "i32":
        return random.pick(["0", "1", "2", "7", "count", "limits.length"]);
      case "string":
        return random.pick(['"a"', '"b"', '"1"', "word", '""']);
      case "bool":
        return random.pick(["true", "false"]);
      case "Node":
        return random.pick(["shared", 'new Node(1, "x")']);
      case "Node | null":
        return random.pick(["<Node | null>null", "shared", "shared.next"]);
      case "Item | null":
        return random.pick(["<Item | null>null", 'new Item("q")']);
      case "i32[]":
        return random.pick(["limits", "[1]", "shared.numbers"]);
      case "string[]":
        return random.pick(["texts", '["z"]', "new Array<string>()"]);
      case "Node[]":
        return random.pick(["[shared]", "new Array<Node>()"]);
      case "Map<string, i32>":
        return "new Map<string, i32>()";
      case "Set<string>":
        return "new Set<string>()";
    }
  }

  private choices(type: TypeName, depth: number): (() => string)[] {
    const { random } = this;
    const next = depth + 1;
    const int = (): string => this.value("i32", next);
    const text = (): string => this.value("string", next);
    const bool = (): string => this.value("bool", next);
    const node = (): string => this.value("Node", next);
    const integers = this.variables("i32", true);
    const strings = this.variables("string", true);
    switch (type) {
      case "i32":
        return [
          () => this.base(type),
          () => `(${int()} ${random.pick(["+", "-", "*", "&", "|", "^"])} ${int()})`,
          () => `(${int()} ${random.pick(["/", "%"])} ${random.pick(["3", "5", "-2"])})`,
          () => `(${bool()} ? ${int()} : ${int()})`,
          () => `${text()}.length`,
          () => `${node()}.${random.pick(["x", "twice", "numbers.length", "numbers[0]", `bump(${int()})`])}`,
          () =>
            `${this.value("i32[]", next)}.${random.pick(["length", `indexOf(${int()})`, `reduce<i32>((p, c) => p + c, 0)`])}`,
          () => `${this.value("string[]", next)}.${random.pick(["length", `indexOf(${text()})`])}`,
          () => `${random.pick(["min", "max"])}<i32>(${int()}, ${int()})`,
          () => (random.chance(0.3) ? `slow(${text()})` : `(<i32>(random() * 5))`),
          () => `same<i32>(${int()})`,
          () => `${this.value("Map<string, i32>", next)}.size`,
          () =>
            integers.length === 0
              ? int()
              : random.pick([
                  `(${random.pick(integers)}++)`,
                  `(--${random.pick(integers)})`,
                  `(${random.pick(integers)} = ${int()})`,
                  `(${random.pick(integers)} += ${int()})`,
                ]),
          () => `((${int()}, ${int()}))`,
        ];
      case "string":
        return [
          () => this.base(type),
          () => `clip(${text()} + ${text()})`,
          () => `${int()}.toString()`.replace(/^(-?\d+)\./, "($1)."),
          () => `\`\${${text()}}-\${${int()}}\``,
          () => `(${bool()} ? ${text()} : ${text()})`,
          () => `key(${text()})`,
          () => `${node()}.${random.pick(["s", "label()"])}`,
          () =>
            this.onItem(
              (item) =>
                `(${item} != null ? ${item}!.${random.pick(["id", "part.label", "list.join()", "n.toString()"])} : ${text()})`,
              text,
            ),
          () => `${this.value("string[]", next)}.${random.pick(['join("+")', "slice(0, 1).toString()"])}`,
          () => `${text()}.${random.pick(["toUpperCase()", "charAt(0)", "substring(1)", 'replace("a", "b")'])}`,
          () => (strings.length === 0 ? text() : `(${random.pick(strings)} = ${text()})`),
          () => `shape(${int()}, ${text()}).${random.pick(["tag", `go(${node()})`])}`,
          () => (random.chance(0.3) ? "uuid()" : "now().toString()"),
        ];
      case "bool":
        return [
          () => this.base(type),
          () => `((${int()}) ${random.pick(["<", ">", "==", "!=", "<="])} ${int()})`,
          () => `((${text()}) ${random.pick(["==", "!=", "<"])} ${text()})`,
          () => `(${bool()} ${random.pick(["&&", "||"])} ${bool()})`,
          () => `!${bool()}`,
          () => `${this.table()}.has(key(${text()}))`,
          () => `(${this.table()}.get(key(${text()})) ${random.pick(["==", "!="])} null)`,
          () => `${this.value("string[]", next)}.includes(${text()})`,
          () => `${this.value("Set<string>", next)}.has(${text()})`,
          () => `(${this.value("Node | null", next)} == null)`,
          () => (random.chance(0.25) ? `slow(${text()}) > 100` : `${int()} > 1`).replace(/^(.*)$/, "($1)"),
          () => `${this.value("Node[]", next)}.some((x) => x.x > 2)`,
        ];
      case "Node":
        return [
          () => this.base(type),
          () => `new Node(${int()}, ${text()})`,
          () => (this.variables("Node").length === 0 ? this.base(type) : `${this.variable("Node")!}.attach(${node()})`),
          () => `(${bool()} ? ${node()} : ${node()})`,
          () => `same<Node>(${node()})`,
        ];
      case "Node | null":
        return [() => this.base(type), node, () => `${node()}.next`];
      case "Item | null":
        return [
          () => `${this.table()}.get(key(${text()}))`,
          () => `${this.table()}.get(key(${text()}))`,
          () => `item(key(${text()}), ${int()}, ${this.value("string[]", next)})`,
        ];
      case "i32[]":
        return [
          () => this.base(type),
          () => `[${int()}, ${int()}]`,
          () => `${node()}.numbers`,
          () => `${this.value("i32[]", next)}.map<i32>((x) => x + 1)`,
          () => `${this.value("i32[]", next)}.slice(1)`,
        ];
      case "string[]":
        return [
          () => this.base(type),
          () => `[${text()}, ${text()}]`,
          () => `${this.value("Map<string, i32>", next)}.keys()`,
          () => `${this.value("Set<string>", next)}.values()`,
          () => `${this.value("string[]", next)}.concat(${this.value("string[]", next)})`,
          () => `${this.value("string[]", next)}.filter((x) => x.length > 1)`,
          () => `${text()}.split("-")`,
          () =>
            this.onItem(
              (item) => `(${item} != null ? ${item}!.list : ${this.value("string[]", next)})`,
              () => this.base(type),
            ),
        ];
      case "Node[]":
        return [
          () => this.base(type),
          () => `[${node()}, ${node()}]`,
          () => `${this.value("Node[]", next)}.slice(0, 2)`,
        ];
      case "Map<string, i32>":
      case "Set<string>":
        return [() => this.base(type)];
    }
  }

  private onItem(use: (item: string) => string, otherwise: () => string): string {
    const item = this.variable("Item | null");
    return item === null ? otherwise() : use(item);
  }

  private table(): string {
    return this.random.pick(TABLES);
  }

  private call(type: TypeName | "void", depth: number): string | null {
    const candidates = this.helpers.filter((helper) => helper.result === type);
    if (candidates.length === 0 || this.loops > 1 || this.calls > 6) return null;
    this.calls++;
    const helper = this.random.pick(candidates);
    const args = helper.parameters.map((parameter) => this.value(parameter, depth + 1));
    if (helper.recursive) args.push(this.hasDepth ? "depth - 1" : "2");
    return `${helper.name}(${args.join(", ")})`;
  }

  // ---------------------------------------------------------------------------------------------------------- statements

  private block(length: number): string[] {
    this.scopes.push([]);
    const lines: string[] = [];
    for (let index = 0; index < length && this.budget > 0; index++) lines.push(...this.statement());
    this.scopes.pop();
    return lines;
  }

  private braced(head: string, length: number): string[] {
    return [`${head} {`, ...this.block(length).map((line) => `  ${line}`), "}"];
  }

  private statement(): string[] {
    this.budget--;
    const { random } = this;
    const int = (): string => this.value("i32");
    const text = (): string => this.value("string");
    const bool = (): string => this.value("bool");
    const use = (type: TypeName, forms: (name: string) => readonly string[]): string[] => {
      const name = this.variable(type);
      return name === null ? [] : [random.pick(forms(name))];
    };
    const access = (): string[] => [
      random.pick([
        `${this.table()}.get(key(${text()}));`,
        `${this.table()}.put(key(${text()}), item(key(${text()}), ${int()}, ${this.value("string[]")}));`,
        `${this.table()}.delete(key(${text()}));`,
        `${this.table()}.has(key(${text()}));`,
      ]),
    ];
    const choices: (() => string[])[] = [
      access,
      access,
      access,
      () => this.declaration(random.pick(VARIABLE_TYPES)),
      () => this.declaration(random.pick(["i32", "string", "Node", "Item | null"])),
      () => this.declaration("Item | null"),
      () => this.assignment(),
      () => this.assignment(),
      () =>
        use("i32", () => [
          `count ${random.pick(["=", "+=", "^="])} ${int()};`,
          "count++;",
          `word = clip(${text()});`,
          `shared = ${this.value("Node")};`,
          `texts.push(clip(${text()}));`,
          `shared.s = clip(${text()});`,
        ]),
      () =>
        use("Item | null", (name) => [
          `if (${name} != null) ${name}!.n = ${int()};`,
          `if (${name} != null) ${name}!.list.push(clip(${text()}));`,
          `if (${name} != null) ${name}!.part.label = clip(${text()});`,
          `if (${name} != null) ${this.table()}.put(key(${text()}), ${name}!);`,
          `if (${name} != null) for (let i = 0; i < ${name}!.list.length && i < 4; i++) ${this.table()}.get(key(${name}!.list[i]));`,
          `if (${name} == null) ${this.exit()}`,
        ]),
      () =>
        use("Node", (name) => [
          `${name}.x = ${int()};`,
          `${name}.s = clip(${text()});`,
          `${name}.numbers.push(${int()});`,
          `${name}.next = ${this.value("Node")};`,
          `${name}.twice = ${int()};`,
          `${name}.x ${random.pick(["+=", "-=", "*="])} ${int()};`,
          `${name}.bump(${int()});`,
          `shape(${int()}, ${text()}).side();`,
        ]),
      () =>
        use("string[]", (name) => [
          `${name}.push(clip(${text()}));`,
          `if (${name}.length > 1) ${name}.pop();`,
          `if (${name}.length > 0) ${name}[0] = clip(${text()});`,
          `${name}.reverse();`,
          `${name}.sort();`,
          `${name}.forEach((x) => { C.has(key(x)); });`,
          `for (let i = 0; i < ${name}.length && i < 4; i++) { ${this.table()}.get(key(${name}[i])); }`,
        ]),
      () =>
        use("i32[]", (name) => [
          `${name}.push(${int()});`,
          `if (${name}.length > 0) ${name}[0] += 2;`,
          `${name}.sort((a, b) => b - a);`,
          `if (${name}.length > 0) ${name}[${name}.length - 1]++;`,
        ]),
      () =>
        use("Node[]", (name) => [
          `${name}.push(${this.value("Node")});`,
          `if (${name}.length > 0) ${name}[0].s = clip(${text()});`,
          `${name}.sort((p, q) => p.x - q.x);`,
          `for (let i = 0; i < ${name}.length && i < 3; i++) A.get(key(${name}[i].s));`,
        ]),
      () =>
        use("Map<string, i32>", (name) => [
          `${name}.set(clip(${text()}), ${int()});`,
          `${name}.delete(${text()});`,
          `if (${name}.has("a")) A.get(key(${name}.get("a").toString()));`,
        ]),
      () => use("Set<string>", (name) => [`${name}.add(clip(${text()}));`, `${name}.clear();`]),
      () => [
        ...this.braced(`if (${bool()})`, 1 + random.below(3)).slice(0, -1),
        ...(random.chance(0.4) ? this.braced("} else", 1 + random.below(3)) : ["}"]),
      ],
      () => this.braced(`if (${bool()})`, 1 + random.below(3)),
      () => this.switch(),
      () => this.expensiveBranch(),
      () => this.expensiveBranch(),
      () => {
        const call = this.call("void", 1);
        return call === null ? [] : [`${call};`];
      },
      () => (random.chance(0.35) ? [`if (${bool()}) ${this.exit()}`] : []),
      () => (this.jumps > 0 ? [`if (${bool()}) ${random.pick(["break;", "continue;"])}`] : []),
      () => (this.jumps > 0 ? [`if (${bool()}) ${random.pick(["break;", "continue;"])}`] : []),
    ];
    if (this.loops < 2)
      choices.push(
        () => this.loop(),
        () => this.loop(),
      );
    return random.pick(choices)();
  }

  /** What decides is expensive, alone or beside something cheap. */
  private slow(): string {
    const { random } = this;
    const test = `slow(${this.value("string", 2)}) ${random.pick(["> 100", "< 40", "!= 7"])}`;
    if (random.chance(0.5)) return test;
    const operator = random.pick(["&&", "||"]);
    const cheap = this.value("bool", 2);
    return random.chance(0.5) ? `(${cheap} ${operator} ${test})` : `(${test} ${operator} ${cheap})`;
  }

  /** Branches of every shape that a union may be made of, and some that it may not. */
  private expensiveBranch(): string[] {
    const { random } = this;
    const access = (): string =>
      `${this.table()}.${random.pick(["get", "has", "delete"])}(key(${this.value("string", 2)}))`;
    const forms: (() => string[])[] = [
      () => [`if (${this.slow()}) ${this.exit()}`],
      () => [`if (${this.slow()}) ${this.exit()}`],
      () => [
        ...this.braced(`if (${this.slow()})`, 1 + random.below(3)).slice(0, -1),
        ...this.braced("} else", 1 + random.below(3)),
      ],
      () => this.braced(`if (!(${this.slow()}))`, 1 + random.below(3)),
      () => [`(${this.slow()}) ${random.pick(["&&", "||"])} ${this.table()}.has(key(${this.value("string", 2)}));`],
      () => [`(${this.slow()}) ? ${this.table()}.has(key(${this.value("string", 2)})) : ${this.value("bool", 2)};`],
      () => {
        const name = this.random.name();
        return [
          `const ${name} = slow(${this.value("string", 2)});`,
          ...this.braced(`if (${name} > 90)`, 1 + random.below(3)),
        ];
      },
      () => this.switch(`slow(${this.value("string", 2)})`),
      () => (this.jumps > 0 ? [`if (${this.slow()}) ${random.pick(["break;", "continue;"])}`] : []),
      () => (this.jumps > 0 ? [`if (${this.slow()}) { ${access()}; ${random.pick(["break;", "continue;"])} }`] : []),
      () => {
        const counter = this.random.name();
        if (this.loops > 1) return [];
        this.loops++;
        this.jumps++;
        const lines = [
          `for (let ${counter} = 0; ${counter} < ${1 + random.below(3)} && ${this.slow()}; ${counter}++) {`,
          ...this.block(1 + random.below(3)).map((line) => `  ${line}`),
          "}",
        ];
        this.jumps--;
        this.loops--;
        return lines;
      },
    ];
    return random.pick(forms)();
  }

  private exit(): string {
    return this.random.pick([
      `return${this.result === "void" ? "" : ` ${this.value(this.result, 2)}`};`,
      `return${this.result === "void" ? "" : ` ${this.value(this.result, 2)}`};`,
      'throw new Error("stop");',
      `abort(409, "stopped", ${this.value("string", 2)});`,
    ]);
  }

  private declaration(type: TypeName): string[] {
    const initial = this.value(type);
    const constant = this.random.chance(0.3);
    const name = this.newVariable(type, constant);
    return [`${constant ? "const" : "let"} ${name}: ${type} = ${initial};`];
  }

  private assignment(): string[] {
    const type = this.random.pick(VARIABLE_TYPES);
    const known = this.variables(type, true);
    if (known.length === 0) return [];
    const name = this.random.pick(known);
    if (type === "i32") return [`${name} ${this.random.pick(["=", "+=", "-=", "^="])} ${this.value(type)};`];
    if (type === "string") return [`${name} = clip(${this.value(type)});`];
    return [`${name} = ${this.value(type)};`];
  }

  private switch(discriminant = this.value("i32")): string[] {
    const { random } = this;
    const lines = [`switch (${discriminant} & 3) {`];
    const outer = this.jumps;
    // `continue` in a switch belongs to the loop around it; `break` is written below.
    this.jumps = 0;
    for (let label = 0; label < 1 + random.below(3); label++) {
      lines.push(`  case ${label}: {`, ...this.block(1 + random.below(2)).map((line) => `    ${line}`), "  }");
      if (random.chance(0.6)) lines.push(outer > 0 && random.chance(0.2) ? "  continue;" : "  break;");
    }
    if (random.chance(0.5)) lines.push("  default: {", ...this.block(1).map((line) => `    ${line}`), "  }");
    this.jumps = outer;
    return [...lines, "}"];
  }

  private loop(): string[] {
    const { random } = this;
    this.loops++;
    this.scopes.push([]);
    const bound = 1 + random.below(3);
    const lines = ((): string[] => {
      switch (random.below(3)) {
        case 0: {
          const counter = this.newVariable("i32", true);
          this.jumps++;
          return this.braced(`for (let ${counter} = 0; ${counter} < ${bound}; ${counter}++)`, 1 + random.below(4));
        }
        case 1: {
          const counter = this.random.name();
          const condition = this.value("bool");
          this.jumps++;
          return [
            `let ${counter} = 0;`,
            ...this.braced(`while (${counter}++ < ${bound} && ${condition})`, 1 + random.below(4)),
          ];
        }
        default: {
          const counter = this.random.name();
          const condition = this.value("bool");
          this.jumps++;
          const body = this.block(1 + random.below(3)).map((line) => `  ${line}`);
          return [
            `let ${counter} = 0;`,
            "do {",
            `  if (${counter}++ > ${bound}) break;`,
            ...body,
            `} while (${condition});`,
          ];
        }
      }
    })();
    this.jumps--;
    this.scopes.pop();
    this.loops--;
    return lines;
  }
}
