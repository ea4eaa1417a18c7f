/**
 * For tests: pairs of random programs, one with everyday forms of TypeScript and one with their long forms. The long form is
 * written by another rule than the analyzer's: statements first, and a value behind them. Each form stands in a place
 * where the order of evaluation shows. Both programs have the same outcomes, accesses and fuel. Same seed, same pair.
 */
import { Random } from "@radical/history";

export interface FormPair {
  readonly short: Readonly<Record<string, string>>;
  readonly long: Readonly<Record<string, string>>;
  readonly handlers: readonly string[];
  /** The forms and the places that the pair has. */
  readonly features: ReadonlySet<string>;
}

/** Texts that keys are made of; also for the store and the arguments. */
export const PAIR_TEXTS: readonly string[] = ["ka", "kb", "k0", "k1", "k2"];
export const PAIR_TABLES: readonly string[] = ["items", "texts", "seen"];

const PRELUDE = `import { Table, abort } from "@radical/sdk";
export class Part { n: i32 = 1; name: string = "p"; }
export class Item { n: i32 = 0; flag: bool = false; next: string = ""; tags: string[] = []; other: Part | null = null; part: Part = new Part(); }
const items = new Table<Item>("items");
const texts = new Table<string>("texts");
class Seen { n: i32 = 0; constructor(n: i32 = 0) { this.n = n; } }
const seen = new Table<Seen>("seen");
class Box {
  n: i32 = 2; flag: bool = false; name?: string; item: Item | null = null; list: i32[] = [1, 2, 3];
  bump(by: i32): i32 { this.n = (this.n + by) & 63; trace += "b"; return this.n; }
  itself(): Box | null { trace += "i"; return this.n % 3 == 0 ? null : this; }
  label(): string { return "l" + this.n.toString(); }
  add(a: i32, b: i32): i32 { return this.n + a * 3 + b; }
}
let trace: string = "";
let count: i32 = 3;
let shared: Box = new Box();
const limits: i32[] = [1, 2, 3];
const names: string[] = ["ka", "kb"];
const ages = new Map<string, i32>().set("ka", 4);
function clip(text: string): string { return text.length > 12 ? text.substring(text.length - 12) : text; }
function key(text: string): string { return "k" + (text.length > 0 ? text.charAt(text.length - 1) : "0"); }
function near(n: i32): string { return "k" + (n & 1).toString(); }
function note(n: i32): i32 { trace = clip(trace + "n"); count = (count + n + 1) & 15; seen.put(near(n), new Seen(count)); return count; }
function tell(text: string): string { trace = clip(trace + "t"); return clip(text + trace); }
function found(text: string): Item | null { trace = clip(trace + "f"); return items.get(key(text)); }
function made(n: i32): Box | null { trace = clip(trace + "m"); if (n % 3 == 0) return null; const box = new Box(); box.n = n & 31; if (n % 2 != 0) box.name = "x"; return box; }
function take(a: i32, b: i32): i32 { return a * 2 + b; }
function known(at: string): i32 { const one = seen.get(at); return one == null ? 0 : one.n; }
function few(n: i32): i32 { return n & 3; }
const holes: (i32 | null)[] = [1, null, 3, 2, null];
function stamp(n: i32): i64 { trace = clip(trace + "s"); return n; }
function ratio(n: i32): f64 { trace = clip(trace + "h"); return n * 0.5; }
function scaled(n: i32, by = 3, more = by): i32 { return (n & 63) * by + more; }
function inside(at: i32, length: i32): bool { return at >= 0 && at < length; }
function eachOf(list: string[], act: (key: string, at: i32) => void): void { for (let i = 0; i < list.length; i++) act(list[i], i); }
function fold(many: i32, give: (at: i32) => i32): i32 { let sum = 0; for (let i = 0; i < many; i++) sum = (sum * 3 + give(i)) & 1023; return sum; }
function passOn(many: i32, give: (at: i32) => i32): i32 { return many > 2 ? fold(1, give) + passOn(many - 1, give) : fold(many, give) + give(7); }
function changed<T, R>(list: T[], change: (each: T) => R): R[] { const all: R[] = []; for (let i = 0; i < list.length; i++) all.push(change(list[i])); return all; }
function within(text: string): string { let plain = true; for (let at = 0; at < text.length; at++) { const code = text.charCodeAt(at); if (code < 32 || code == 34 || code == 92 || (code & 0xf800) == 0xd800) plain = false; } return '"' + (plain ? text : text.split("\\\\").join("\\\\\\\\").split('"').join('\\\\"')) + '"'; }
function absentItem(): Item | null { return null; }
const votes: Record<string, i32> = { ka: 1, q: 2 };
function vote(n: i32): i32 { trace = clip(trace + "v"); votes["k" + (n & 3).toString()] = n & 7; return n & 3; }
function ballot(n: i32): Record<string, i32> { vote(n); return votes; }
function shown(all: Record<string, i32>): string { let text = ""; for (const [key, value] of Object.entries(all)) text += key + value.toString(); return text; }
const boxes: Box[] = [new Box(), new Box()];
const listed: string[] = ["ka"];
function enlist(text: string): string { trace = clip(trace + "e"); if (listed.length < 4) listed.push(text); return text; }
class Two { first: i32 = 0; second: string = ""; }
class Own { own: i32 = 0; text: string = ""; more: i32 = 0; constructor() {} }
function recent(at: string, n: i32) { const one = seen.get(at); if (one == null) return null; trace = clip(trace + "e"); return { own: one.n + n, at }; }
function pairOf(n: i32, text: string): [i32, string] { trace = clip(trace + "2"); return [n, text]; }
function twoOf(n: i32, text: string): Two { trace = clip(trace + "2"); const two = new Two(); two.first = n; two.second = text; return two; }
function sumOf(first: i32, ...more: i32[]): i32 { trace = clip(trace + "r"); let all = first; for (let i = 0; i < more.length; i++) all += more[i] * (i + 1); return all & 1023; }
function sumIn(first: i32, more: i32[]): i32 { trace = clip(trace + "r"); let all = first; for (let i = 0; i < more.length; i++) all += more[i] * (i + 1); return all & 1023; }
function presentItem(): Item | null { return new Item(); }
function absentBox(): Box | null { return null; }
function absentText(): string | null { return null; }
`;

type Kind = "i32" | "string" | "bool";

/** The same in both programs: the short form is one expression, the long one statements and a value. */
interface Written {
  readonly kind: Kind;
  readonly short: string;
  readonly before: readonly string[];
  readonly value: string;
}

/** Statements of both programs. */
interface Both {
  readonly short: string;
  readonly long: string;
}

export function formPair(seed: number, handlers = 8): FormPair {
  const writer = new PairWriter(new Random(seed));
  for (let index = 0; index < handlers; index++) writer.handler(`h${index}`);
  return writer.pair();
}

class PairWriter {
  readonly #random: Random;
  readonly #features = new Set<string>();
  readonly #handlers: string[] = [];
  /** The texts at the top of both files. */
  readonly #short: string[] = [PRELUDE];
  readonly #long: string[] = [PRELUDE];
  #names = 0;
  /** Whether only what a field or a global may be given is written. */
  #plain = false;
  /** Variables of the handler's that a form may name. */
  #inHandler = true;

  constructor(random: Random) {
    this.#random = random;
  }

  pair(): FormPair {
    return {
      short: { "handlers/pair.ts": this.#short.join("\n") },
      long: { "handlers/pair.ts": this.#long.join("\n") },
      handlers: this.#handlers,
      features: this.#features,
    };
  }

  handler(name: string): void {
    const statements: Both[] = [];
    for (let index = 0; index < 2 + this.#random.below(2); index++) statements.push(this.#statement());
    const head = `export function ${name}(a: string, n: i32, many: string[]): string {
  trace = ""; count = n & 15; shared = new Box(); if (n % 2 == 0) shared.item = new Item();
  let total = 0;
  let text: string | null = n % 2 == 0 ? null : a;
  const box: Box | null = n % 3 == 0 ? null : shared;
`;
    const end = `  return trace + "/" + total.toString() + "/" + count.toString() + "/" + shared.n.toString() + "/" + (text == null ? "-" : text!);\n}`;
    this.#short.push(head + statements.map(({ short }) => short).join("\n") + "\n" + end);
    this.#long.push(head + statements.map(({ long }) => `{ ${long} }`).join("\n") + "\n" + end);
    this.#handlers.push(name);
  }

  #name(purpose: string): string {
    return `${purpose}${this.#names++}`;
  }

  // ── Places ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A place with a form in it, as a statement that changes `total`. */
  #statement(): Both {
    const places: Readonly<Record<string, () => Both>> = {
      statement: () => {
        const { short, before, value } = this.#number();
        return both(`total += ${short};`, [...before, `total += ${value};`]);
      },
      "loop-condition": () => {
        const index = this.#name("i");
        const { short, before, value } = this.#number();
        const body = `total += ${index}; if (total % 5 == 4) { ${index} += 2; continue; } count = count ^ ${index}; ${index}++;`;
        return both(`let ${index} = 0; while (${index} < 3 && ${short} + ${index} >= few(n) - 9) { ${body} }`, [
          `let ${index} = 0;`,
          `while (true) { let go = ${index} < 3; if (go) { ${before.join(" ")} go = ${value} + ${index} >= few(n) - 9; } if (!go) break; ${body} }`,
        ]);
      },
      "do-condition": () => {
        const index = this.#name("i");
        const { short, before, value } = this.#number();
        const body = `total += ${index}; ${index}++;`;
        const inner = `if (count == 2) continue; total++;`;
        return both(`let ${index} = 0; do { ${body} ${inner} } while ((${short} & 1) == 1 && ${index} < 3);`, [
          `let ${index} = 0;`,
          `let go = true; while (go) { ${body} if (count != 2) total++; ${before.join(" ")} go = (${value} & 1) == 1 && ${index} < 3; }`,
        ]);
      },
      update: () => {
        const index = this.#name("i");
        const { short, before, value } = this.#number();
        const body = `total += ${index}; if (count % 3 == 1) continue; trace = clip(trace + "u");`;
        return both(`for (let ${index} = 0; ${index} < 4; ${index} += 1 + few(${short})) { ${body} }`, [
          `let ${index} = 0; let first = true;`,
          `while (true) { if (!first) { const old = ${index}; ${before.join(" ")} ${index} = old + (1 + few(${value})); } first = false; if (!(${index} < 4)) break; ${body} }`,
        ]);
      },
      "right-of-and": () => {
        const { short, before, value } = this.#number();
        const result = this.#name("r");
        return both(`const ${result} = note(1) % 2 == 0 && ${short} > 1; if (${result}) total++;`, [
          `let ${result} = note(1) % 2 == 0; if (${result}) { ${before.join(" ")} ${result} = ${value} > 1; } if (${result}) total++;`,
        ]);
      },
      "right-of-or": () => {
        const { short, before, value } = this.#number();
        return both(`if (note(2) % 2 == 0 || ${short} > 1) total++;`, [
          `let either = note(2) % 2 == 0; if (!either) { ${before.join(" ")} either = ${value} > 1; } if (either) total++;`,
        ]);
      },
      ternary: () => {
        const [yes, no] = [this.#number(), this.#number()];
        return both(`total += note(3) % 2 == 0 ? ${yes.short} : ${no.short};`, [
          `const old = total; let chosen = 0; if (note(3) % 2 == 0) { ${yes.before.join(" ")} chosen = ${yes.value}; } else { ${no.before.join(" ")} chosen = ${no.value}; }`,
          `total = old + chosen;`,
        ]);
      },
      "argument-after-write": () => {
        const { short, before, value } = this.#number();
        return both(`total += take(note(n), ${short});`, [
          `const first = note(n);`,
          ...before,
          `total += take(first, ${value});`,
        ]);
      },
      "after-changed-global": () => {
        const { short, before, value } = this.#number();
        return both(`total += count * 2 + ${short};`, [
          `const changed = count * 2;`,
          ...before,
          `total += changed + ${value};`,
        ]);
      },
      "after-changed-local": () => {
        const { short, before, value } = this.#number();
        return both(`total = total * 3 + (total = ${short} & 7);`, [
          `const old = total * 3;`,
          ...before,
          `total = ${value} & 7; total = old + total;`,
        ]);
      },
      "after-changed-field": () => {
        const { short, before, value } = this.#number();
        return both(`total += take(shared.n, ${short}) + shared.add(count, 0);`, [
          `const changed = shared.n;`,
          ...before,
          `total += take(changed, ${value}) + shared.add(count, 0);`,
        ]);
      },
      compound: () => {
        const { short, before, value } = this.#number();
        return both(`count += ${short} & 7; shared.n += few(${short});`, [
          `const old = count;`,
          ...before,
          `count = old + (${value} & 7);`,
          `{ const field = shared.n; ${before.join(" ")} shared.n = field + few(${value}); }`,
        ]);
      },
      element: () => {
        const { short, before, value } = this.#number();
        const list = this.#name("list");
        return both(
          `const ${list} = [0, 1, 2]; ${list}[note(n) % 3] = ${short}; total += ${list}[1] + [note(1), ${short}, count][0];`,
          [
            `const ${list} = [0, 1, 2]; const at = note(n) % 3;`,
            ...before,
            `${list}[at] = ${value}; const left = total; const one = ${list}[1]; const first = note(1); { ${before.join(" ")} const all = [first, ${value}, count]; total = left + (one + all[0]); }`,
          ],
        );
      },
      template: () => {
        const { short, before, value } = this.#number();
        return both("trace = clip(`${count}.${" + short + "}.${count}`);", [
          `const old = count;`,
          ...before,
          "trace = clip(`${old}.${" + value + "}.${count}`);",
        ]);
      },
      switch: () => {
        const { short, before, value } = this.#number();
        const cases = `case 0: total += 1; case 1: total += 2; break; default: total += 4;`;
        return both(`switch (${short} & 3) { ${cases} }`, [...before, `switch (${value} & 3) { ${cases} }`]);
      },
      access: () => {
        const { short, before, value } = this.#number();
        return both(`seen.put(near(note(1)), new Seen(${short})); total += known(near(${short}));`, [
          `const at = near(note(1));`,
          ...before,
          `seen.put(at, new Seen(${value})); const old = total; { ${before.join(" ")} total = old + known(near(${value})); }`,
        ]);
      },
      "default-value": () => this.#inFunction("default-value"),
      "generic-function": () => this.#inFunction("generic-function"),
      constructor: () => this.#inFunction("constructor"),
      "field-initializer": () => this.#atTop("field-initializer"),
      "module-level": () => this.#atTop("module-level"),
      loop: () => this.#loop(),
      assignment: () => this.#assignment(),
      call: () => this.#call(),
      pattern: () => this.#pattern(),
      closure: () => this.#closure(),
      sorting: () => this.#sorting(),
    };
    const place = this.#random.pick(Object.keys(places));
    this.#features.add(`place: ${place}`);
    return places[place]!();
  }

  /** A form in a function of its own, which has `a`, `n` and `many` only. */
  #inFunction(place: "default-value" | "generic-function" | "constructor"): Both {
    this.#inHandler = false;
    const { short, before, value } = this.#number();
    this.#inHandler = true;
    const name = this.#name("at");
    const parameters = "a: string, n: i32, many: string[]";
    const long = before.join(" ");
    switch (place) {
      case "default-value": {
        this.#short.push(`function ${name}(${parameters}, x: i32 = ${short}): i32 { return x + 1; }`);
        this.#long.push(
          `function ${name}x(${parameters}): i32 { ${long} return ${value}; } function ${name}(${parameters}, x: i32 = ${name}x(a, n, many)): i32 { return x + 1; }`,
        );
        return same(`total += ${name}(a, n, many);`);
      }
      case "generic-function": {
        const head = (body: string): string => `function ${name}<T>(v: T, ${parameters}): i32 { ${body} }`;
        this.#short.push(head(`return ${short};`));
        this.#long.push(head(`${long} return ${value};`));
        return same(`total += ${name}<string>(a, a, n, many) + ${name}<i32>(n, a, n, many);`);
      }
      case "constructor": {
        const head = (body: string): string => `class ${name} { x: i32 = 1; constructor(${parameters}) { ${body} } }`;
        this.#short.push(head(`this.x = this.x + ${short};`));
        this.#long.push(head(`const old = this.x; ${long} this.x = old + ${value};`));
        return same(`total += new ${name}(a, n, many).x;`);
      }
    }
  }

  /** A form that a field or a global is given at the start. */
  #atTop(place: "field-initializer" | "module-level"): Both {
    this.#plain = true;
    const { short, before, value } = this.#number();
    this.#plain = false;
    const name = this.#name("top");
    this.#long.push(`function ${name}x(): i32 { ${before.join(" ")} return ${value}; }`);
    if (place === "module-level") {
      this.#short.push(`const ${name}: i32 = ${short};`);
      this.#long.push(`const ${name}: i32 = ${name}x();`);
      return same(`total += ${name}; items.has(near(${name}));`);
    }
    this.#short.push(`class ${name} { n: i32 = ${short}; }`);
    this.#long.push(`class ${name} { n: i32 = ${name}x(); }`);
    return same(`total += new ${name}().n;`);
  }

  // ── Forms ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A form whose value is a number, or is made one. */
  #number(depth = 0): Written {
    const written = this.#form(depth);
    switch (written.kind) {
      case "i32":
        return written;
      case "string":
        return {
          ...written,
          kind: "i32",
          short: `${parenthesized(written.short)}.length`,
          value: `${written.value}.length`,
        };
      case "bool":
        return { ...written, kind: "i32", short: `(${written.short} ? 1 : 0)`, value: `(${written.value} ? 1 : 0)` };
    }
  }

  #form(depth: number): Written {
    const forms: Readonly<Record<string, () => Written | null>> = {
      "chain-number": () => {
        const object = this.#object(depth);
        const other = this.#value("i32", depth);
        return this.#orElse("i32", `(${object.short}?.n ?? ${other.short})`, object, (held) => `${held}.n`, other);
      },
      "chain-method": () => {
        const object = this.#box(depth);
        const other = this.#value("string", depth);
        return this.#orElse(
          "string",
          `(${object.short}?.label() ?? ${other.short})`,
          object,
          (held) => `${held}.label()`,
          other,
        );
      },
      "chain-of-two": () => {
        const object = this.#object(depth);
        const other = this.#value("i32", depth);
        const [held, second, result] = [this.#name("o"), this.#name("p"), this.#name("r")];
        return {
          kind: "i32",
          short: `(${object.short}?.other?.n ?? ${other.short})`,
          before: [
            ...object.before,
            `const ${held} = ${object.value}; let ${second}: Part | null = null; if (${held} != null) ${second} = ${held}.other;`,
            `let ${result} = 0; if (${second} != null) { ${result} = ${second}.n; } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "chain-of-path": () => {
        const object = this.#object(depth);
        const other = this.#value("string", depth);
        return this.#orElse(
          "string",
          `(${object.short}?.part.name ?? ${other.short})`,
          object,
          (held) => `${held}.part.name`,
          other,
        );
      },
      "chain-compared": () => {
        const object = this.#object(depth);
        const operator = this.#random.pick(["==", "===", "!=", "!==", "<", ">="]);
        const isUnequal = operator.startsWith("!");
        const right = this.#value("i32", depth);
        const [held, inner, other, result] = [this.#name("o"), this.#name("v"), this.#name("w"), this.#name("r")];
        return {
          kind: "bool",
          short: `(${object.short}?.n ${operator} ${right.short})`,
          before: [
            ...object.before,
            `const ${held} = ${object.value}; let ${inner} = 0; if (${held} != null) ${inner} = ${held}.n;`,
            ...right.before,
            `const ${other} = ${right.value}; const ${result} = ${held} == null ? ${String(isUnequal)} : ${inner} ${operator} ${other};`,
          ],
          value: result,
        };
      },
      "chain-condition": () => {
        const object = this.#object(depth);
        const isNegated = this.#random.chance(0.4);
        const [held, result] = [this.#name("o"), this.#name("r")];
        return {
          kind: "i32",
          short: `(${isNegated ? "!" : ""}${object.short}?.flag ? 1 : 2)`,
          before: [
            ...object.before,
            `const ${held} = ${object.value}; let ${result} = 2; if (${isNegated ? "!" : ""}(${held} != null && ${held}.flag)) ${result} = 1;`,
          ],
          value: result,
        };
      },
      "nullish-text": () => {
        const left = this.#text(depth);
        const right = this.#value("string", depth);
        const [held, result] = [this.#name("o"), this.#name("r")];
        return {
          kind: "string",
          short: `(${left.short} ?? ${right.short})`,
          before: [
            ...left.before,
            `const ${held} = ${left.value}; let ${result} = ""; if (${held} != null) { ${result} = ${held}; } else { ${right.before.join(" ")} ${result} = ${right.value}; }`,
          ],
          value: result,
        };
      },
      "nullish-abort": () => {
        if (this.#plain) return null;
        const object = this.#object(depth);
        const held = this.#name("o");
        return {
          kind: "i32",
          short: `(${object.short} ?? abort(404, "none", trace)).n`,
          before: [
            ...object.before,
            `const ${held} = ${object.value}; if (${held} == null) abort(404, "none", trace);`,
          ],
          value: `${held}.n`,
        };
      },
      "map-entry": () => {
        const at = this.#value("string", depth);
        const other = this.#value("i32", depth);
        const [held, result] = [this.#name("k"), this.#name("r")];
        return {
          kind: "i32",
          short: `(ages.get(${at.short}) ?? ${other.short})`,
          before: [
            ...at.before,
            `const ${held} = ${at.value}; let ${result} = 0; if (ages.has(${held})) { ${result} = ages.get(${held}); } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "array-element": () => {
        const at = this.#value("i32", depth);
        const other = this.#value("i32", depth);
        const [held, result] = [this.#name("k"), this.#name("r")];
        return {
          kind: "i32",
          short: `(limits[${at.short}] ?? ${other.short})`,
          before: [
            ...at.before,
            `const ${held} = ${at.value}; let ${result} = 0; if (inside(${held}, limits.length)) { ${result} = limits[${held}]; } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "chain-element": () => {
        if (this.#plain) return null;
        const at = this.#value("i32", depth);
        const other = this.#value("string", depth);
        const [held, result] = [this.#name("k"), this.#name("r")];
        return {
          kind: "string",
          short: `(boxes[${at.short}]?.label() ?? ${other.short})`,
          before: [
            ...at.before,
            `const ${held} = ${at.value}; let ${result} = ""; if (inside(${held}, boxes.length)) { ${result} = boxes[${held}].label(); } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "tested-field": () => {
        if (this.#plain) return null;
        const [first, other] = [this.#value("i32", depth), this.#value("i32", depth)];
        const [held, result] = [this.#name("k"), this.#name("r")];
        return {
          kind: "i32",
          short: `(shared.item != null && shared.item.n < 3 ? take(shared.item.n, ${first.short}) : ${other.short})`,
          before: [
            `let ${result} = 0; if (shared.item != null && shared.item!.n < 3) { const ${held} = shared.item!.n; ${first.before.join(" ")} ${result} = take(${held}, ${first.value}); } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "entries-spread": () => {
        if (this.#plain) return null;
        const key = this.#value("string", depth);
        const number = this.#random.chance(0.5) ? plainly("i32", "vote(n)") : this.#value("i32", depth);
        const [made, index, keys, held] = [this.#name("m"), this.#name("i"), this.#name("l"), this.#name("k")];
        return {
          kind: "string",
          short: `shown({ first: vote(1), ...votes, [${key.short}]: ${number.short}, ...votes })`,
          before: [
            `const ${made}: Record<string, i32> = {}; ${made}["first"] = vote(1); let ${keys} = votes.keys();`,
            `for (let ${index} = 0; ${index} < ${keys}.length; ${index}++) ${made}.set(${keys}[${index}], votes.get(${keys}[${index}]));`,
            ...key.before,
            `const ${held} = ${key.value};`,
            ...number.before,
            `${made}.set(${held}, ${number.value}); ${keys} = votes.keys();`,
            `for (let ${index} = 0; ${index} < ${keys}.length; ${index}++) ${made}.set(${keys}[${index}], votes.get(${keys}[${index}]));`,
          ],
          value: `shown(${made})`,
        };
      },
      membership: () => {
        if (this.#plain) return null;
        const key = this.#value("string", depth);
        const held = this.#name("k");
        return {
          kind: "bool",
          short: `(${key.short} in ballot(n))`,
          before: [...key.before, `const ${held} = ${key.value};`],
          value: `ballot(n).has(${held})`,
        };
      },
      "concat-many": () => {
        if (this.#plain) return null;
        const [first, second] = [this.#value("string", depth), this.#value("string", depth)];
        const [list, one, other, index] = [this.#name("l"), this.#name("k"), this.#name("k"), this.#name("i")];
        return {
          kind: "string",
          short: `listed.concat(${first.short}, [enlist("q")], ${second.short}).join()`,
          before: [
            ...first.before,
            `const ${one} = ${first.value}; const ${other} = [enlist("q")];`,
            ...second.before,
            `const ${list}x = ${second.value}; const ${list} = listed.slice(); ${list}.push(${one});`,
            `for (let ${index} = 0; ${index} < ${other}.length; ${index}++) ${list}.push(${other}[${index}]);`,
            `${list}.push(${list}x);`,
          ],
          value: `${list}.join()`,
        };
      },
      "conversion-name": () => {
        if (this.#plain) return null;
        const number = this.#value("i32", depth);
        const [list, texts, index] = [this.#name("l"), this.#name("l"), this.#name("i")];
        return {
          kind: "string",
          short: `[${number.short}, 7].map(String).join()`,
          before: [
            ...number.before,
            `const ${list} = [${number.value}, 7]; const ${texts}: string[] = [];`,
            `for (let ${index} = 0; ${index} < ${list}.length; ${index}++) ${texts}.push(${list}[${index}].toString());`,
          ],
          value: `${texts}.join()`,
        };
      },
      "tuple-part": () => {
        const [number, text] = [this.#value("i32", depth), this.#value("string", depth)];
        const [first, two] = [this.#name("f"), this.#name("two")];
        const isFirst = this.#random.chance(0.5);
        if (this.#plain)
          return {
            kind: isFirst ? "i32" : "string",
            short: `([${number.short}, ${text.short}] as [i32, string])[${isFirst ? 0 : 1}]`,
            before: [
              ...number.before,
              `const ${first} = ${number.value};`,
              ...text.before,
              `const ${two} = new Two(); ${two}.first = ${first}; ${two}.second = ${text.value};`,
            ],
            value: `${two}.${isFirst ? "first" : "second"}`,
          };
        return {
          kind: isFirst ? "i32" : "string",
          short: `pairOf(${number.short}, ${text.short})[${isFirst ? 0 : 1}]`,
          before: [
            ...number.before,
            `const ${first} = ${number.value};`,
            ...text.before,
            `const ${two} = twoOf(${first}, ${text.value});`,
          ],
          value: `${two}.${isFirst ? "first" : "second"}`,
        };
      },
      "literal-untyped": () => {
        const [number, text] = [this.#value("i32", depth), this.#value("string", depth)];
        const [first, second, own] = [this.#name("f"), this.#name("t"), this.#name("own")];
        const isFirst = this.#random.chance(0.5);
        return {
          kind: isFirst ? "i32" : "string",
          short: `({ text: ${text.short}, own: ${number.short}, more: 1 }).${isFirst ? "own" : "text"}`,
          before: [
            ...text.before,
            `const ${second} = ${text.value};`,
            ...number.before,
            `const ${first} = ${number.value};`,
            `const ${own} = new Own(); ${own}.text = ${second}; ${own}.own = ${first}; ${own}.more = 1;`,
          ],
          value: `${own}.${isFirst ? "own" : "text"}`,
        };
      },
      "literal-fitting": () => {
        const [number, text] = [this.#value("i32", depth), this.#value("string", depth)];
        const [first, two] = [this.#name("f"), this.#name("two")];
        return {
          kind: "i32",
          short: `({ first: ${number.short}, second: ${text.short} }).first`,
          before: [
            ...number.before,
            `const ${first} = ${number.value};`,
            ...text.before,
            `const ${two} = new Two(); ${two}.first = ${first}; ${two}.second = ${text.value};`,
          ],
          value: `${two}.first`,
        };
      },
      "result-inferred": () => {
        if (this.#plain) return null;
        const [at, number] = [this.#value("string", depth), this.#value("i32", depth)];
        const [key, n, one, result] = [this.#name("k"), this.#name("n"), this.#name("one"), this.#name("r")];
        return {
          kind: "i32",
          short: `(recent(key(${at.short}), ${number.short})?.own ?? 7)`,
          before: [
            ...at.before,
            `const ${key} = key(${at.value});`,
            ...number.before,
            `const ${n} = ${number.value}; const ${one} = recent(${key}, ${n}); let ${result} = 7; if (${one} != null) ${result} = ${one}.own;`,
          ],
          value: result,
        };
      },
      "rest-call": () => {
        if (this.#plain) return null;
        const [first, last] = [this.#value("i32", depth), this.#value("i32", depth)];
        const [held, list] = [this.#name("f"), this.#name("list")];
        return {
          kind: "i32",
          short: `sumOf(${first.short}, ...limits, ${last.short})`,
          before: [
            ...first.before,
            `const ${held} = ${first.value}; const ${list} = limits.slice();`,
            ...last.before,
            `${list}.push(${last.value});`,
          ],
          value: `sumIn(${held}, ${list})`,
        };
      },
      "max-of-list": () => {
        const first = this.#value("i32", depth);
        const [result, index] = [this.#name("r"), this.#name("i")];
        return {
          kind: "i32",
          short: `(Math.max(${first.short}, ...limits) as i32)`,
          before: [
            `let ${result}: f64 = -Infinity;`,
            ...first.before,
            `${result} = Math.max(${result}, ${first.value}); for (let ${index} = 0; ${index} < limits.length; ${index}++) ${result} = Math.max(${result}, limits[${index}]);`,
          ],
          value: `(${result} as i32)`,
        };
      },
      "array-at": () => {
        const at = this.#value("i32", depth);
        const other = this.#value("i32", depth);
        const [held, result] = [this.#name("k"), this.#name("r")];
        return {
          kind: "i32",
          short: `(limits.at(${at.short} - 3) ?? ${other.short})`,
          before: [
            ...at.before,
            `const ${held} = ${at.value} - 3; let ${result} = 0; if (inside(${held} + limits.length, limits.length * 2)) { ${result} = limits.at(${held}); } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
          ],
          value: result,
        };
      },
      "nullable-search": () => {
        const { short, before, value } = this.#value("i32", depth);
        const [held, index, result] = [this.#name("k"), this.#name("i"), this.#name("r")];
        return {
          kind: "i32",
          short: `holes.indexOf(${short})`,
          before: [
            ...before,
            `const ${held} = ${value}; let ${result} = -1; for (let ${index} = 0; ${index} < holes.length; ${index}++) if (holes[${index}] == ${held}) { ${result} = ${index}; break; }`,
          ],
          value: result,
        };
      },
      "mixed-numbers": () => {
        const [left, right] = [this.#value("i32", depth), this.#value("i32", depth)];
        const held = this.#name("k");
        return {
          kind: "i32",
          short: `(stamp(${left.short}) < ratio(${right.short}) ? 1 : 2)`,
          before: [...left.before, `const ${held} = stamp(${left.value});`, ...right.before],
          value: `((${held} as f64) < ratio(${right.value}) ? 1 : 2)`,
        };
      },
      "typed-default": () => {
        const { short, before, value } = this.#value("i32", depth);
        return { kind: "i32", short: `scaled(${short})`, before, value: `scaled(${value}, 3, 3)` };
      },
      "text-of": () => {
        const { short, before, value } = this.#value(this.#random.pick(["i32", "bool"]), depth);
        return { kind: "string", short: `String(${short})`, before, value: `(${value}).toString()` };
      },
      "text-and-number": () => {
        const [left, right] = [this.#value("string", depth), this.#value("i32", depth)];
        const held = this.#name("k");
        return {
          kind: "string",
          short: `(${left.short} + ${right.short})`,
          before: [...left.before, `const ${held} = ${left.value};`, ...right.before],
          value: `(${held} + (${right.value}).toString())`,
        };
      },
      "json-text": () => {
        const [number, text] = [this.#value("i32", depth), this.#value("string", depth)];
        const [first, second] = [this.#name("k"), this.#name("k")];
        return {
          kind: "string",
          short: `JSON.stringify({ a: ${number.short}, b: ${text.short} })`,
          before: [
            ...number.before,
            `const ${first} = (${number.value}).toString();`,
            ...text.before,
            `const ${second} = within(${text.value});`,
          ],
          value: `('{"a":' + ${first} + ',"b":' + ${second} + "}")`,
        };
      },
      "assigned-record": () => {
        if (this.#plain) return null;
        const [number, text] = [this.#value("i32", depth), this.#value("string", depth)];
        const [object, first, second] = [this.#name("o"), this.#name("k"), this.#name("k")];
        return {
          kind: "i32",
          short: `Object.assign(shared, { n: ${number.short} & 63, name: ${text.short} }).n`,
          before: [
            `const ${object} = shared;`,
            ...number.before,
            `const ${first} = ${number.value} & 63;`,
            ...text.before,
            `const ${second} = ${text.value}; ${object}.n = ${first}; ${object}.name = ${second};`,
          ],
          value: `${object}.n`,
        };
      },
      "assign-value": () => {
        if (this.#plain || !this.#inHandler) return null;
        const other = this.#value("string", depth);
        return {
          kind: "string",
          short: `(text ??= ${other.short})`,
          before: [`if (text == null) { ${other.before.join(" ")} text = ${other.value}; }`],
          value: "text!",
        };
      },
    };
    for (;;) {
      const name = this.#random.pick(Object.keys(forms));
      const written = forms[name]!();
      if (written === null) continue;
      this.#features.add(name);
      return written;
    }
  }

  /** `object?.… ?? other`. */
  #orElse(
    kind: Kind,
    short: string,
    object: Omit<Written, "kind">,
    rest: (held: string) => string,
    other: Written,
  ): Written {
    const [held, result] = [this.#name("o"), this.#name("r")];
    return {
      kind,
      short,
      before: [
        ...object.before,
        `const ${held} = ${object.value}; let ${result} = ${kind === "string" ? '""' : "0"}; if (${held} != null) { ${result} = ${rest(held)}; } else { ${other.before.join(" ")} ${result} = ${other.value}; }`,
      ],
      value: result,
    };
  }

  /** An operand that may be a form itself. */
  #value(kind: Kind, depth: number): Written {
    if (depth < 2 && this.#random.chance(0.3)) {
      const inner = this.#form(depth + 1);
      if (inner.kind === kind) return inner;
    }
    const texts = this.#plain ? ['"ka"', '"q"', "names[0]"] : ['"ka"', "tell(a)", "key(a)", "trace"];
    const numbers = this.#plain
      ? ["1", "limits[1]", "limits.length"]
      : ["1", "note(n)", "count", "n", "many.length", "shared.bump(1)"];
    return plainly(kind, this.#random.pick(kind === "string" ? texts : kind === "i32" ? numbers : ["true", "false"]));
  }

  /** An item that may be missing. */
  #object(depth: number): Omit<Written, "kind"> {
    if (this.#plain) return plainly("i32", this.#random.pick(["absentItem()", "presentItem()"]));
    if (depth < 2 && this.#random.chance(0.25)) {
      const text = this.#value("string", depth + 1);
      return { short: `found(${text.short})`, before: text.before, value: `found(${text.value})` };
    }
    return plainly("i32", this.#random.pick(["found(a)", "items.get(key(a))", "items.get(near(n))", "shared.item"]));
  }

  #box(depth: number): Omit<Written, "kind"> {
    if (this.#plain) return plainly("i32", "absentBox()");
    if (depth < 2 && this.#random.chance(0.25)) {
      const number = this.#value("i32", depth + 1);
      return { short: `made(${number.short})`, before: number.before, value: `made(${number.value})` };
    }
    return plainly("i32", this.#random.pick(["made(n)", "shared.itself()", ...(this.#inHandler ? ["box"] : [])]));
  }

  /** A text that may be null. */
  #text(depth: number): Omit<Written, "kind"> {
    if (this.#plain) return plainly("i32", "absentText()");
    if (depth < 2 && this.#random.chance(0.3)) {
      const at = this.#value("string", depth + 1);
      return { short: `texts.get(key(${at.short}))`, before: at.before, value: `texts.get(key(${at.value}))` };
    }
    return plainly(
      "i32",
      this.#random.pick(["texts.get(key(a))", "shared.name", ...(this.#inHandler ? ["text"] : [])]),
    );
  }

  // ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #loop(): Both {
    const name = this.#name("x");
    const index = this.#name("i");
    const { short, before, value } = this.#number(1);
    const kinds: Readonly<Record<string, () => Both>> = {
      "loop-over-array": () => {
        const jump = this.#random.pick([
          "",
          `if (${name} == "kb") continue;`,
          `if (total > 40) break;`,
          `if (many.length < 3) many.push("k0");`,
        ]);
        const body = (inner: string): string =>
          `${jump} trace = clip(trace + ${name}); items.has(key(${name})); ${inner}`;
        return both(`for (const ${name} of many) { ${body(`total += ${short};`)} }`, [
          `for (let ${index} = 0; ${index} < many.length; ${index}++) { const ${name} = many[${index}]; ${body(`const old = total; ${before.join(" ")} total = old + ${value};`)} }`,
        ]);
      },
      "loop-over-call": () =>
        both(`for (let ${name} of (note(1), limits.slice(0, 2))) { ${name} += count; total += ${name}; }`, [
          `note(1); const list = limits.slice(0, 2); for (let ${index} = 0; ${index} < list.length; ${index}++) { let ${name} = list[${index}]; ${name} += count; total += ${name}; }`,
        ]),
      "loop-over-text": () =>
        both(`for (const ${name} of a + "é𝄞") { trace = clip(trace + ${name}); total += ${name}.length; }`, [
          `const all = a + "é𝄞"; let ${index} = 0; while (${index} < all.length) { const end = ${index} + (all.codePointAt(${index}) > 0xffff ? 2 : 1); const ${name} = all.substring(${index}, end); ${index} = end; trace = clip(trace + ${name}); total += ${name}.length; }`,
        ]),
      "loop-over-set": () => {
        const set = `const set = new Set<string>(); for (let ${index} = 0; ${index} < many.length; ${index}++) set.add(many[${index}]);`;
        const body = `items.has(key(${name})); trace = clip(trace + ${name});`;
        return both(`{ ${set} for (const ${name} of set) { ${body} } }`, [
          `${set} const list = set.values(); for (let ${index}j = 0; ${index}j < list.length; ${index}j++) { const ${name} = list[${index}j]; ${body} }`,
        ]);
      },
      "loop-over-map": () => {
        const map = `const map = new Map<string, i32>(); for (let ${index} = 0; ${index} < many.length; ${index}++) map.set(many[${index}], ${index});`;
        const body = (inner: string): string => `if (${name}v == 1) continue; items.has(key(${name})); ${inner}`;
        return both(`{ ${map} for (const [${name}, ${name}v] of map) { ${body(`total += ${name}v + ${short};`)} } }`, [
          `${map} const keys = map.keys(); const values = map.values(); for (let ${index}j = 0; ${index}j < keys.length; ${index}j++) { const ${name} = keys[${index}j]; const ${name}v = values[${index}j]; ${body(`const old = total; ${before.join(" ")} total = old + (${name}v + ${value});`)} }`,
        ]);
      },
      "list-of-length": () => {
        const length = this.#number(1);
        const list = this.#name("list");
        return both(
          `const ${list} = Array.from({ length: few(${length.short}) }, (_, ${index}) => { if (${index} == 1) return count; return ${index} + ${short}; }); for (const ${name} of ${list}) total += ${name};`,
          [
            ...length.before,
            `const end = few(${length.value}); const ${list}: i32[] = []; for (let ${index} = 0; ${index} < end; ${index}++) { if (${index} == 1) { ${list}.push(count); continue; } ${before.join(" ")} ${list}.push(${index} + ${value}); }`,
            `for (let ${index} = 0; ${index} < ${list}.length; ${index}++) { const ${name} = ${list}[${index}]; total += ${name}; }`,
          ],
        );
      },
      "list-of-set": () => {
        const set = `const set = new Set<string>(); for (let ${index} = 0; ${index} < many.length; ${index}++) set.add(many[${index}]);`;
        const list = this.#name("list");
        return both(
          `{ ${set} const ${list} = Array.from(set, (${name}) => { items.has(key(${name})); return ${name} + total.toString(); }); trace = clip(trace + ${list}.join("")); }`,
          [
            `${set} const ${list}: string[] = []; const all = set.values(); for (let ${index}j = 0; ${index}j < all.length; ${index}j++) { const ${name} = all[${index}j]; items.has(key(${name})); ${list}.push(${name} + total.toString()); } trace = clip(trace + ${list}.join(""));`,
          ],
        );
      },
      "list-of-some": () => {
        const list = this.#name("list");
        const all = `const all: (Item | null)[] = []; for (let ${index} = 0; ${index} < many.length; ${index}++) all.push(items.get(key(many[${index}])));`;
        return both(
          `{ ${all} const ${list} = all.filter((one) => one != null); for (const ${name} of ${list}) { total += ${name}.n; ${name}.n = ${short}; seen.has(near(${name}.n)); } }`,
          [
            `${all} const ${list}: Item[] = []; for (let ${index}j = 0; ${index}j < all.length; ${index}j++) { const one = all[${index}j]; if (one != null) ${list}.push(one); }`,
            `for (let ${index}j = 0; ${index}j < ${list}.length; ${index}j++) { const ${name} = ${list}[${index}j]; total += ${name}.n; ${before.join(" ")} ${name}.n = ${value}; seen.has(near(${name}.n)); }`,
          ],
        );
      },
      "set-of-list": () =>
        both(
          `const ${name} = new Set(many); for (const one of ${name}) { items.has(key(one)); } total += ${name}.size + ${short};`,
          [
            `const ${name} = new Set<string>(); for (let ${index} = 0; ${index} < many.length; ${index}++) ${name}.add(many[${index}]); const all = ${name}.values(); for (let ${index}j = 0; ${index}j < all.length; ${index}j++) { items.has(key(all[${index}j])); }`,
            `const old = total + 0; const size = ${name}.size; ${before.join(" ")} total = old + (size + ${value});`,
          ],
        ),
      "map-of-entries": () => {
        const pair = this.#name("pair");
        return both(
          `const ${name} = new Map([["one", count], ["two", ${short}]]); for (const ${pair} of ${name}) { trace = clip(trace + ${pair}[0]); total += ${pair}[1]; }`,
          [
            `const entries: Two[] = []; { const two = new Two(); two.second = "one"; two.first = count; entries.push(two); } { const two = new Two(); two.second = "two"; ${before.join(" ")} two.first = ${value}; entries.push(two); }`,
            `const ${name} = new Map<string, i32>(); for (let ${index} = 0; ${index} < entries.length; ${index}++) ${name}.set(entries[${index}].second, entries[${index}].first);`,
            `const keys = ${name}.keys(); const values = ${name}.values(); for (let ${index}j = 0; ${index}j < keys.length; ${index}j++) { trace = clip(trace + keys[${index}j]); total += values[${index}j]; }`,
          ],
        );
      },
      "delete-entry": () => {
        const other = this.#value("string", 1);
        return both(
          `const ${name}: Record<string, i32> = {}; for (let ${index} = 0; ${index} < many.length; ${index}++) ${name}[many[${index}]] = ${index}; delete ${name}[${other.short}]; total += ${name}.size;`,
          [
            `const ${name} = new Map<string, i32>(); for (let ${index} = 0; ${index} < many.length; ${index}++) ${name}.set(many[${index}], ${index});`,
            ...other.before,
            `${name}.delete(${other.value}); total += ${name}.size;`,
          ],
        );
      },
      "loop-over-entries": () => {
        const record = `const record: Record<string, i32> = {}; for (let ${index} = 0; ${index} < many.length; ${index}++) record[many[${index}]] = ${index};`;
        const body = `items.has(key(${name})); total += ${name}v; record[${name} + "x"] = total;`;
        return both(
          `{ ${record} for (const [${name}, ${name}v] of Object.entries(record)) { ${body} } total += Object.keys(record).length; }`,
          [
            `${record} const keys = record.keys(); const values = record.values(); for (let ${index}j = 0; ${index}j < keys.length; ${index}j++) { const ${name} = keys[${index}j]; const ${name}v = values[${index}j]; ${body} } total += record.keys().length;`,
          ],
        );
      },
      "loop-over-keys": () =>
        both(`for (const ${name} of ages.keys()) { total += ages.get(${name}); }`, [
          `const keys = ages.keys(); for (let ${index} = 0; ${index} < keys.length; ${index}++) { total += ages.get(keys[${index}]); }`,
        ]),
      "loop-of-place": () => {
        const place = this.#name("last");
        return both(
          `let ${place} = ""; for (${place} of many) { if (total > 30) break; total += ${place}.length; } trace = clip(trace + ${place});`,
          [
            `let ${place} = ""; for (let ${index} = 0; ${index} < many.length; ${index}++) { ${place} = many[${index}]; if (total > 30) break; total += ${place}.length; } trace = clip(trace + ${place});`,
          ],
        );
      },
    };
    const kind = this.#random.pick(Object.keys(kinds));
    this.#features.add(kind);
    return kinds[kind]!();
  }

  #assignment(): Both {
    const other = this.#value("string", 1);
    const number = this.#number(1);
    const kinds: Readonly<Record<string, () => Both>> = {
      "assign-local": () =>
        both(`text ??= ${other.short};`, [`if (text == null) { ${other.before.join(" ")} text = ${other.value}; }`]),
      "assign-field": () =>
        both(`shared.name ??= ${other.short};`, [
          `const object = shared; if (object.name == null) { ${other.before.join(" ")} object.name = ${other.value}; }`,
        ]),
      "assign-tested": () =>
        both(`if (shared.name != null) { shared.name += ${other.short}; shared.name = clip(shared.name); }`, [
          `const held = shared.name; if (held != null) { const object = shared; ${other.before.join(" ")} object.name = held + ${other.value}; shared.name = clip(shared.name!); }`,
        ]),
      "assign-or": () =>
        both(`shared.n ||= ${number.short};`, [
          `const object = shared; if (object.n == 0) { ${number.before.join(" ")} object.n = ${number.value}; }`,
        ]),
      "assign-and": () => {
        const list = this.#name("list");
        return both(`const ${list} = [0, 5, 6]; ${list}[few(note(n)) % 3] &&= ${number.short}; total += ${list}[1];`, [
          `const ${list} = [0, 5, 6]; const at = few(note(n)) % 3; if (${list}[at] != 0) { ${number.before.join(" ")} ${list}[at] = ${number.value}; } total += ${list}[1];`,
        ]);
      },
    };
    const kind = this.#random.pick(Object.keys(kinds));
    this.#features.add(kind);
    return kinds[kind]!();
  }

  /** Chains whose value nobody wants. */
  #call(): Both {
    const number = this.#number(1);
    const object = this.#box(1);
    const held = this.#name("o");
    this.#features.add("chain-statement");
    return both(`${object.short}?.bump(${number.short});`, [
      ...object.before,
      `const ${held} = ${object.value}; if (${held} != null) { ${number.before.join(" ")} ${held}.bump(${number.value}); }`,
    ]);
  }

  /** Functions that capture, given to functions of the program; in the long form an object is in their place. */
  #closure(): Both {
    this.#inHandler = false;
    const { short, before, value } = this.#number(1);
    this.#inHandler = true;
    const [type, held, result, own] = [this.#name("Held"), this.#name("held"), this.#name("r"), this.#name("f")];
    const start = "const a = this.a; const n = this.n; const many = this.many;";
    const declare = (method: string): void => {
      this.#long.push(
        `class ${type} { constructor(public total: i32, public a: string, public n: i32, public many: string[]) {} ${method} }`,
      );
    };
    const made = `const ${held} = new ${type}(total, a, n, many);`;
    const back = `total = ${held}.total;`;
    const kinds: Readonly<Record<string, () => Both>> = {
      "closure-changes": () => {
        declare(
          `act(each: string, at: i32): void { ${start} if (each == "kb") { this.total += 2; return; } const old = this.total; ${before.join(" ")} this.total = (old + ${value} + at) & 4095; trace = clip(trace + each); }`,
        );
        this.#long.push(
          `function ${own}(list: string[], held: ${type}): void { for (let i = 0; i < list.length; i++) held.act(list[i], i); }`,
        );
        return both(
          `eachOf(many, (each, at) => { if (each == "kb") { total += 2; return; } total = (total + ${short} + at) & 4095; trace = clip(trace + each); });`,
          [made, `${own}(many, ${held});`, back],
        );
      },
      "closure-passed-on": () => {
        declare(
          `give(at: i32): i32 { ${start} this.total++; const left = at + this.total; ${before.join(" ")} return left + ${value}; }`,
        );
        this.#long.push(
          `function ${own}s(many: i32, held: ${type}): i32 { let sum = 0; for (let i = 0; i < many; i++) sum = (sum * 3 + held.give(i)) & 1023; return sum; }`,
          `function ${own}(many: i32, held: ${type}): i32 { return many > 2 ? ${own}s(1, held) + ${own}(many - 1, held) : ${own}s(many, held) + held.give(7); }`,
        );
        return both(
          `const ${result} = passOn(note(n) & 3, (at) => { total++; return at + total + ${short}; }); count = ${result} & 15;`,
          [
            `const times = note(n) & 3; ${made} const ${result} = ${own}(times, ${held}); ${back} count = ${result} & 15;`,
          ],
        );
      },
      "closure-constant": () => {
        declare(
          `give(at: i32): i32 { ${start} this.total = (this.total + at) & 255; const left = at + this.total; ${before.join(" ")} return left + ${value}; }`,
        );
        return both(
          `const ${own} = (at: i32): i32 => { total = (total + at) & 255; return at + total + ${short}; }; const ${result} = ${own}(note(n) & 3) * 3 + ${own}(2); total += 5; count = (${result} + ${own}(1)) & 15;`,
          [
            `const at = note(n) & 3; ${made} const ${result} = ${held}.give(at) * 3 + ${held}.give(2); ${held}.total += 5; const last = ${result} + ${held}.give(1); ${back} count = last & 15;`,
          ],
        );
      },
      "closure-nested": () => {
        declare(
          `give(at: i32): i32 { ${start} const inner = new ${type}x(this.total, a, n, many, at); const sum = ${own}x(2, inner); this.total = inner.total; return sum; }`,
        );
        this.#long.push(
          `class ${type}x { constructor(public total: i32, public a: string, public n: i32, public many: string[], public at: i32) {} give(by: i32): i32 { ${start} this.total = (this.total + by + this.at) & 255; const left = this.total; ${before.join(" ")} return left + ${value}; } }`,
          `function ${own}x(many: i32, held: ${type}x): i32 { let sum = 0; for (let i = 0; i < many; i++) sum = (sum * 3 + held.give(i)) & 1023; return sum; }`,
          `function ${own}(many: i32, held: ${type}): i32 { let sum = 0; for (let i = 0; i < many; i++) sum = (sum * 3 + held.give(i)) & 1023; return sum; }`,
        );
        return both(
          `count = fold(2, (at) => fold(2, (by) => { total = (total + by + at) & 255; return total + ${short}; })) & 15;`,
          [`${made} const ${result} = ${own}(2, ${held}); ${back} count = ${result} & 15;`],
        );
      },
      "closure-inferred": () => {
        declare(
          `change(each: string): string { ${start} const left = each + n.toString(); ${before.join(" ")} return left + (${value}).toString(); }`,
        );
        this.#long.push(
          `function ${own}(list: string[], held: ${type}): string[] { const all: string[] = []; for (let i = 0; i < list.length; i++) all.push(held.change(list[i])); return all; }`,
        );
        return both(
          `trace = clip(trace + changed(many, (each) => each + n.toString() + (${short}).toString()).join());`,
          [`const old = trace; ${made} const ${result} = ${own}(many, ${held}); trace = clip(old + ${result}.join());`],
        );
      },
    };
    const kind = this.#random.pick(Object.keys(kinds));
    this.#features.add(kind);
    return kinds[kind]!();
  }

  /** A sort whose comparison captures; in the long form the merging of runs is written out. */
  #sorting(): Both {
    const { short, before, value } = this.#number(1);
    const list = this.#name("list");
    const fill = `const ${list} = [n & 7, count, 3, 9 - count, many.length, 5, n & 1];`;
    const merge = (compared: readonly string[]): readonly string[] => [
      `let from = ${list}.slice(); let to = ${list}.slice(); const length: u32 = from.length;`,
      `for (let width: u32 = 1; width < length; width = width + width) { let left: u32 = 0, right: u32 = 0, middle: u32 = 0, end: u32 = 0;`,
      `for (let place: u32 = 0; place < length; ++place) {`,
      `if (place == end) { left = place; middle = place + width < length ? place + width : length; right = middle; end = middle + width < length ? middle + width : length; }`,
      `let isRight = left == middle;`,
      `if (left < middle && right < end) { let p = from[left]; let q = from[right]; ${compared.join(" ")} isRight = order > 0; }`,
      `if (isRight) { to[place] = from[right]; right = right + 1; } else { to[place] = from[left]; left = left + 1; } }`,
      `const swapped = from; from = to; to = swapped; }`,
    ];
    const use = (sorted: string): string =>
      `trace = clip(trace + ${sorted}.join("")); total += ${sorted}[2] * 2 + ${sorted}[3];`;
    const kinds: Readonly<Record<string, () => Both>> = {
      "sort-in-place": () =>
        // It names a variable of the handler's: a function that captures nothing goes to AssemblyScript's own sort.
        both(`${fill} ${list}.sort((p, q) => (p & 7) - (q & 7) - (n & 0) + (${short} & 1)); ${use(list)}`, [
          fill,
          ...merge([
            `const difference = (p & 7) - (q & 7) - (n & 0);`,
            ...before,
            `const order = difference + (${value} & 1);`,
          ]),
          `for (let i = 0; i < ${list}.length; ++i) ${list}[i] = from[i];`,
          use(list),
        ]),
      "sort-copy": () =>
        both(
          `${fill} const ${list}s = ${list}.toSorted((p, q) => { total = (total + 1) & 255; if ((p ^ q) > 5) return ${short}; return (q & 3) - (p & 3); }); ${use(`${list}s`)} count = ${list}[0] & 15;`,
          [
            fill,
            ...merge([
              `let order = 0; total = (total + 1) & 255; if ((p ^ q) > 5) { ${before.join(" ")} order = ${value}; } else { order = (q & 3) - (p & 3); }`,
            ]),
            `const ${list}s = from; ${use(`${list}s`)} count = ${list}[0] & 15;`,
          ],
        ),
    };
    const kind = this.#random.pick(Object.keys(kinds));
    this.#features.add(kind);
    return kinds[kind]!();
  }

  #pattern(): Both {
    const object = this.#object(1);
    const other = this.#value("string", 1);
    const [p, q, r, s] = [this.#name("p"), this.#name("q"), this.#name("r"), this.#name("s")];
    const kinds: Readonly<Record<string, () => Both>> = {
      "pattern-record": () =>
        both(
          `const { n: ${p}, part: { name: ${q} }, tags: ${r} } = ${object.short} ?? new Item(); total += ${p} + ${q}.length + ${r}.length;`,
          [
            ...object.before,
            `const ${s} = ${object.value}; const whole = ${s} != null ? ${s} : new Item(); const ${p} = whole.n; const ${q} = whole.part.name; const ${r} = whole.tags; total += ${p} + ${q}.length + ${r}.length;`,
          ],
        ),
      "pattern-array": () =>
        both(`let [${p}, , ${q}] = [note(1), note(2), note(3)]; total += ${p} * 2 + ${q};`, [
          `const parts = [note(1), note(2), note(3)]; const ${p} = parts[0]; const ${q} = parts[2]; total += ${p} * 2 + ${q};`,
        ]),
      "pattern-rest": () =>
        both(`const [${p}, ...${q}] = limits; total += ${p} + ${q}.length;`, [
          `const ${p} = limits[0]; const ${q} = limits.slice(1); total += ${p} + ${q}.length;`,
        ]),
      "pattern-assigned": () =>
        both(
          `let ${p}: string | null = "", ${q} = 0; ({ name: ${p} = ${other.short}, n: ${q} } = shared); if (${p} != null) trace = clip(trace + ${p}); total += ${q};`,
          [
            `let ${p} = ""; let ${q} = 0; const whole = shared; const ${s} = whole.name; if (${s} != null) { ${p} = ${s}; } else { ${other.before.join(" ")} ${p} = ${other.value}; } ${q} = whole.n; trace = clip(trace + ${p}); total += ${q};`,
          ],
        ),
      "tuple-pattern": () => {
        const number = this.#number(1);
        return both(
          `const [${p}, ${q}] = pairOf(${number.short}, ${other.short}); total += ${p}; trace = clip(trace + ${q});`,
          [
            ...number.before,
            `const ${r} = ${number.value};`,
            ...other.before,
            `const ${s} = twoOf(${r}, ${other.value}); total += ${s}.first; trace = clip(trace + ${s}.second);`,
          ],
        );
      },
      "tuple-assigned": () => {
        const [number, more] = [this.#number(1), this.#number(1)];
        return both(
          `const ${p}: [i32, string] = [${number.short}, ${other.short}]; ${p}[0] += ${more.short}; ${p}[1] += "p"; total += ${p}[0]++; items.has(key(${p}[1])); total += ${p}[0];`,
          [
            ...number.before,
            `const ${p} = new Two(); ${p}.first = ${number.value};`,
            ...other.before,
            `${p}.second = ${other.value}; const ${q} = ${p}.first;`,
            ...more.before,
            `${p}.first = ${q} + ${more.value}; ${p}.second += "p"; total += ${p}.first++; items.has(key(${p}.second)); total += ${p}.first;`,
          ],
        );
      },
      "tuple-list": () => {
        const number = this.#number(1);
        const loop = (body: string): string => `for (let ${r} = 0; ${r} < many.length; ${r}++) { ${body} }`;
        return both(
          `const ${p}: [i32, string][] = []; ${loop(`${p}.push([${number.short}, many[${r}]]);`)} for (const [${q}, ${s}] of ${p}) { total += ${q}; items.has(key(${s})); }`,
          [
            `const ${p}: Two[] = [];`,
            loop(
              `${number.before.join(" ")} const two = new Two(); two.first = ${number.value}; two.second = many[${r}]; ${p}.push(two);`,
            ),
            `for (let ${q} = 0; ${q} < ${p}.length; ${q}++) { const ${s} = ${p}[${q}]; total += ${s}.first; items.has(key(${s}.second)); }`,
          ],
        );
      },
      "pattern-default": () =>
        both(`const { name: ${p} = ${other.short} } = shared; trace = clip(trace + ${p});`, [
          `const whole = shared; const ${s} = whole.name; let ${p} = ""; if (${s} != null) { ${p} = ${s}; } else { ${other.before.join(" ")} ${p} = ${other.value}; } trace = clip(trace + ${p});`,
        ]),
    };
    const kind = this.#random.pick(Object.keys(kinds));
    this.#features.add(kind);
    return kinds[kind]!();
  }
}

function plainly(kind: Kind, text: string): Written {
  return { kind, short: text, before: [], value: text };
}

function both(short: string, long: readonly string[]): Both {
  return { short, long: long.join(" ") };
}

function same(text: string): Both {
  return { short: text, long: text };
}

function parenthesized(text: string): string {
  return text.startsWith("(") ? text : `(${text})`;
}
