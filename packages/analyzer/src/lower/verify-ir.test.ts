import { describe, expect, test } from "vitest";
import { fixture } from "../testing/fixtures.ts";
import { loweredHandlers } from "../testing/lowered.ts";
import { randomProgram } from "../testing/random-program.ts";
import {
  VOID,
  nonNullable,
  statementExpressions,
  walkExpression,
  walkStatements,
  type Expression,
  type FunctionDeclaration,
  type Program,
  type Statement,
  type Type,
} from "./ir.ts";
import { printProgram } from "./print-ir.ts";
import { MalformedProgram, verifyProgram } from "./verify-ir.ts";

const SMALL = `import { Table, abort } from "@radical/sdk";
class Item { n: i32 = 1; tags: string[] = []; }
abstract class Named { constructor(public name: string) {} abstract key(): string; }
class Plain extends Named { key(): string { return this.name; } }
const items = new Table<Item>("items");
const limit: i32 = 3;
let count: i32 = limit;
function each(list: string[], use: (text: string) => void): void {
  for (let i = 0; i < list.length; i++) {
    if (list[i] == "") continue;
    use(list[i]);
  }
}
export function small(a: string, n: i32 = 2): i32 {
  const item = items.get(new Plain(a).key());
  if (item == null) abort(404, "none", \`no \${a}\`);
  switch (n) {
    case 1:
      item.n += count++;
      break;
    default:
      return 0;
  }
  each(item.tags, (text) => { items.touch(text); });
  items.put(a, item);
  return item.n > 2 && n != 0 ? 1 : limit;
}`.replace("items.touch", "items.has");

test("a program as text", () => {
  const program = loweredHandlers({ "handlers/small.ts": SMALL }).get("small")!;
  verifyProgram(program, "lowered");
  expect(printProgram(program)).toMatchInlineSnapshot(`
    "constant items: Table<Item> = table "items"
    constant limit: i32 = 3
    global count: i32 = global limit
    function small(a: string, n: i32 = 2): i32
      variable item: Item | null = get(global items, call Plain.key(new Plain(a)))
      if ==(item, null)
        expression abort(404, "none", template ["no ",""](a))
      switch n
        case 1
          expression += field n(item, ++ global count)
          break
        default
          return 0
      expression call each(field tags(item), function anonymous_0)
      expression put(global items, a, item)
      return conditional(&&(>(field n(item), 2), !=(n, 0)), 1, global limit)
    constructor Plain.constructor(this: Plain, name: string): void implicit
      expression call super Named.constructor#2(this, name)
    method Plain.key(this#2: Plain): string
      return field name(this#2)
    lambda anonymous_0(text: string): void escapes
      expression has(global items, text)
    function each(list: Array<string>, use: (string) => void): void
      loop for while <(i, library Array.length(list))
        first variable i: i32 = 0
        if ==(library Array.[](list, i), "")
          continue
        expression indirect-call(use, library Array.[](list, i))
        then ++ i
    constructor Named.constructor#2(this#3: Named, name#2: string): void
      field expression = field name(this#3, name#2)
    class Item
      n: i32 = 1
      tags: Array<string> = array<Array<string>>
    class Plain extends Named
    abstract class Named
      name: string
    "
  `);
});

// Mistakes that the verifier must notice. Programs are changed in place and changed back.

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Corruption {
  readonly name: string;
  /** Every way to do it to the program: each answers how to undo it. */
  readonly places: (program: Program) => (() => () => void)[];
}

function set<T extends object, Key extends keyof T>(object: T, key: Key, value: T[Key]): () => () => void {
  return () => {
    const old = object[key];
    (object as Writable<T>)[key] = value;
    return () => void ((object as Writable<T>)[key] = old);
  };
}

function expressions(program: Program): Expression[] {
  const found: Expression[] = [];
  for (const { body } of program.functions)
    walkStatements(body, (statement) => {
      for (const own of statementExpressions(statement)) walkExpression(own, (inner) => found.push(inner));
    });
  return found;
}

function statements(program: Program): Statement[] {
  const found: Statement[] = [];
  for (const { body } of program.functions) walkStatements(body, (statement) => found.push(statement));
  return found;
}

function ofKind<Kind extends Expression["kind"]>(program: Program, kind: Kind): Extract<Expression, { kind: Kind }>[] {
  return expressions(program).filter((expression) => expression.kind === kind) as Extract<Expression, { kind: Kind }>[];
}

function withBody(
  declaration: FunctionDeclaration,
  change: (body: readonly Statement[]) => Statement[],
): () => () => void {
  return set(declaration, "body", change(declaration.body));
}

/** How many arguments a function value takes at least. */
function requiredBy(type: Type): number {
  const taken = nonNullable(type);
  return taken.kind === "function" ? taken.required : 0;
}

const NO_VALUE = (span: Expression["span"]): Expression => ({ kind: "constant", text: "void", type: VOID, span });

const CORRUPTIONS: readonly Corruption[] = [
  {
    name: "a variable is used where it is not declared",
    places: (program) =>
      program.functions.flatMap((declaration) => {
        const used = new Set(ofKind({ ...program, functions: [declaration] }, "local").map(({ local }) => local));
        return declaration.body.flatMap((statement) =>
          statement.kind === "variable" && used.has(statement.local)
            ? [withBody(declaration, (body) => body.filter((other) => other !== statement))]
            : [],
        );
      }),
  },
  {
    name: "a variable is declared behind its use",
    places: (program) =>
      program.functions.flatMap((declaration) => {
        const [first, ...rest] = declaration.body;
        const isUsed =
          first?.kind === "variable" &&
          ofKind({ ...program, functions: [{ ...declaration, body: rest }] }, "local").some(
            ({ local }) => local === first.local,
          );
        return first !== undefined && isUsed ? [withBody(declaration, () => [...rest, first])] : [];
      }),
  },
  {
    name: "a variable is declared twice",
    places: (program) =>
      program.functions.flatMap((declaration) =>
        declaration.body.flatMap((statement) =>
          statement.kind === "variable" ? [withBody(declaration, (body) => [...body, statement])] : [],
        ),
      ),
  },
  {
    name: "a callee is missing",
    places: (program) =>
      ofKind(program, "call").flatMap(({ callees }) =>
        callees[0] === program.handler
          ? []
          : [
              set(
                program,
                "functions",
                program.functions.filter((other) => other !== callees[0]),
              ),
            ],
      ),
  },
  {
    name: "a global is missing",
    places: (program) =>
      ofKind(program, "global").map(({ global }) =>
        set(
          program,
          "globals",
          program.globals.filter((other) => other !== global),
        ),
      ),
  },
  {
    name: "an initial value runs before what it reads",
    places: (program) =>
      program.globals.flatMap((global, index) => {
        if (global.initializer === null) return [];
        const reads = new Set<unknown>();
        walkExpression(global.initializer, (inner) => void (inner.kind === "global" && reads.add(inner.global)));
        return program.globals.slice(0, index).some((other) => reads.has(other))
          ? [set(program, "globals", [global, ...program.globals.filter((other) => other !== global)])]
          : [];
      }),
  },
  {
    name: "an argument is missing",
    places: (program) =>
      [...ofKind(program, "call"), ...ofKind(program, "construction"), ...ofKind(program, "indirect-call")].flatMap(
        (call) => {
          const fewest = call.kind === "indirect-call" ? requiredBy(call.callee.type) : call.arguments.length;
          return fewest === 0 ? [] : [set(call, "arguments", call.arguments.slice(0, fewest - 1))];
        },
      ),
  },
  {
    name: "an argument is too many",
    places: (program) =>
      ofKind(program, "call").map((call) =>
        set(
          call,
          "arguments",
          [...call.arguments, ...call.arguments, program.globals[0]!.initializer!].slice(0, call.arguments.length + 1),
        ),
      ),
  },
  {
    name: "a method has no receiver",
    places: (program) =>
      ofKind(program, "call").flatMap((call) => (call.receiver === null ? [] : [set(call, "receiver", null)])),
  },
  {
    name: "an abstract class is constructed",
    places: (program) => ofKind(program, "construction").map(({ declaration }) => set(declaration, "isAbstract", true)),
  },
  {
    name: "a field is no member of its object",
    places: (program) => {
      const fields = ofKind(program, "field");
      return fields.flatMap((read) => {
        const other = fields.find(
          ({ field }) =>
            field.owner.base === null && read.field.owner.base === null && field.owner !== read.field.owner,
        );
        return other === undefined ? [] : [set(read, "field", other.field)];
      });
    },
  },
  {
    name: "break and continue outside of a loop",
    places: (program) =>
      program.functions.flatMap((declaration) =>
        (["break", "continue"] as const).map((kind) =>
          withBody(declaration, (body) => [...body, { kind, span: declaration.span }]),
        ),
      ),
  },
  {
    name: "a return without the value",
    places: (program) =>
      program.functions
        .filter(({ result }) => result.kind !== "void")
        .map((declaration) =>
          withBody(declaration, (body) => [...body, { kind: "return", value: null, span: declaration.span }]),
        ),
  },
  {
    name: "a return with a value that nobody expects",
    places: (program) =>
      program.functions
        .filter(({ result, body }) => result.kind !== "void" && body.some(({ kind }) => kind === "return"))
        .map((declaration) => set(declaration, "result", VOID)),
  },
  {
    name: "a key is no text",
    places: (program) =>
      ofKind(program, "access").map((access) =>
        set(access, "key", { ...access.table, kind: "now", type: { kind: "number", name: "i64" }, span: access.span }),
      ),
  },
  {
    name: "a put without value",
    places: (program) =>
      ofKind(program, "access").flatMap((access) => (access.value === null ? [] : [set(access, "value", null)])),
  },
  {
    name: "a handler says accesses instead of making them",
    places: (program) => ofKind(program, "access").map((access) => set(access, "operation", "touch")),
  },
  {
    name: "a constant is assigned",
    places: (program) =>
      ofKind(program, "assignment").flatMap(({ target }) =>
        target.kind === "global" ? [set(target.global, "mutable", false)] : [],
      ),
  },
  {
    name: "an operand has no value",
    places: (program) =>
      ofKind(program, "operation").map((operation) =>
        set(
          operation,
          "operands",
          operation.operands.map(() => NO_VALUE(operation.span)),
        ),
      ),
  },
  {
    name: "a value of the wrong type",
    places: (program) =>
      statements(program).flatMap((statement) =>
        statement.kind === "variable" && statement.initializer !== null
          ? [set(statement, "initializer", NO_VALUE(statement.span))]
          : [],
      ),
  },
  {
    name: "a function that calls may choose is not marked as one",
    places: (program) => ofKind(program, "function-value").map(({ declaration }) => set(declaration, "escapes", false)),
  },
];

describe("a program that is not well formed", () => {
  const programs = [
    ...["social", "hotel", "forum", "constructs"].flatMap((name) => [...loweredHandlers(fixture(name)).values()]),
    ...[1, 2, 3].flatMap((seed) => [...loweredHandlers(randomProgram(seed).files).values()]),
  ];

  test("well-formed ones pass", () => {
    for (const program of programs) expect(() => verifyProgram(program, "lowered")).not.toThrow();
  });

  test.each(CORRUPTIONS)("$name", ({ places }) => {
    let tried = 0;
    for (const program of programs) {
      for (const corrupt of places(program).slice(0, 20)) {
        tried++;
        const undo = corrupt();
        expect(() => verifyProgram(program, "lowered")).toThrow(MalformedProgram);
        undo();
      }
      verifyProgram(program, "lowered");
    }
    expect(tried).toBeGreaterThan(0);
  });
});
