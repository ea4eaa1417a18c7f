/**
 * The syntax nodes, operators, literals, assertions and elements of the pinned compiler, asked at run time. One that appears
 * with a new version fails here, until the analyzer follows a handler that uses it, or refuses a source with it.
 */
import { describe, expect, test } from "vitest";
import { AssertionKind, ElementKind, LiteralKind, NodeKind, OperatorKind, Token } from "../parse/assemblyscript.ts";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { buildInput } from "../testing/library.ts";

/** `followed`: statements of a handler `(a: string, n: i32)`. `refused`: a whole file, and the code of its diagnostic. */
type Coverage =
  | { readonly followed: string }
  | { readonly refused: string; readonly code: string }
  /** Never a statement or expression of its own. */
  | { readonly part: string }
  | { readonly never: string };

const NODES: Readonly<Record<string, Coverage>> = {
  Source: { part: "the file" },
  NamedType: { part: "a type" },
  FunctionType: { part: "a type" },
  TupleType: { followed: "const t: [i32, string] = [n, a]; items.get(t[1]);" },
  TypeName: { part: "a type" },
  TypeParameter: { part: "a declaration" },
  Parameter: { part: "a declaration" },
  Identifier: { followed: "items.get(a);" },
  Assertion: { followed: "items.get(a + (<f64>n).toString() + (n as u8).toString());" },
  Binary: { followed: "items.get(a + n.toString());" },
  Call: { followed: "items.get(text(a));" },
  Class: { refused: "export function h(): void { const c = class {}; }", code: "local_declaration" },
  Comma: { followed: "let i = 0; items.get((i++, i + 1).toString());" },
  ElementAccess: { followed: "items.get([a][0]);" },
  False: { followed: "items.get(false.toString());" },
  Function: { followed: "const f = (x: string): string => x; items.get(f(a));" },
  InstanceOf: { followed: "const o: Base = new Derived(); if (o instanceof Derived) items.get(a);" },
  Literal: { followed: 'items.get("a");' },
  New: { followed: "items.get(new Base().key);" },
  Null: { followed: "const o: Item | null = null; if (o == null) items.get(a);" },
  Omitted: { followed: "const all: i32[] = [1, , 2]; items.get(all[1].toString());" },
  Parenthesized: { followed: "items.get((a));" },
  PropertyAccess: { followed: "items.get(a + a.length.toString());" },
  Ternary: { followed: 'items.get(n > 2 ? a : "b");' },
  Super: { followed: "items.get(new Derived().up());" },
  This: { followed: "items.get(new Derived().up());" },
  True: { followed: "items.get(true.toString());" },
  Constructor: { part: "the callee of a decorator" },
  UnaryPostfix: { followed: "let i = n; items.get((i++).toString());" },
  UnaryPrefix: { followed: "let i = n; items.get((++i).toString());" },
  Compiled: { never: "made by the compiler for itself" },
  Block: { followed: "{ items.get(a); }" },
  Break: { followed: "while (true) { items.get(a); break; }" },
  Continue: { followed: "for (let i = 0; i < 3; i++) { if (i == n) continue; items.get(i.toString()); }" },
  Do: { followed: "do { items.get(a); } while (n < 0);" },
  Empty: { followed: "; items.get(a);" },
  Export: { part: "a file" },
  ExportDefault: { part: "a file" },
  ExportImport: { part: "a file" },
  Expression: { followed: "items.get(a);" },
  For: { followed: "for (let i = 0; i < 2; i++) items.get(i.toString());" },
  ForOf: { followed: "for (const x of [a, a]) items.get(x);" },
  If: { followed: "if (n > 2) items.get(a);" },
  Import: { part: "a file" },
  Return: { followed: "if (n > 2) return; items.get(a);" },
  Switch: { followed: 'switch (a) { case "a": items.get("x"); break; default: items.get("y"); }' },
  Throw: { followed: 'if (n > 5) throw new Error("no"); items.get(a);' },
  Try: { refused: "export function h(): void { try { } catch (e) { } }", code: "try_statement" },
  Variable: { followed: "let b = a; b += a; items.get(b);" },
  Void: { refused: "export function h(): void { void h(); }", code: "void_operator" },
  While: { followed: "let i = 0; while (i++ < 3) items.get(i.toString());" },
  Module: { refused: 'declare module "m" {}\nexport function h(): void {}', code: "module_form" },
  ClassDeclaration: { part: "a file" },
  EnumDeclaration: { part: "a file" },
  EnumValueDeclaration: { part: "an enum" },
  FieldDeclaration: { part: "a class" },
  FunctionDeclaration: { part: "a file" },
  ImportDeclaration: { part: "an import" },
  InterfaceDeclaration: { part: "a file" },
  MethodDeclaration: { part: "a class" },
  NamespaceDeclaration: { part: "a file" },
  TypeDeclaration: { followed: "type Text = string; const b: Text = a; items.get(b);" },
  VariableDeclaration: { part: "a variable statement" },
  Decorator: { part: "a declaration" },
  ExportMember: { part: "an export" },
  SwitchCase: { part: "a switch" },
  IndexSignature: { refused: "class A { [key: string]: i32; }\nexport function h(): void {}", code: "index_signature" },
  Comment: { never: "comments are no nodes of the tree" },
};

/** By the kind of element that a name or property may refer to. */
const ELEMENTS: Readonly<Record<string, Coverage>> = {
  Global: { followed: "items.get(constant + a);" },
  Local: { followed: "items.get(a);" },
  Enum: { followed: "if (n == 0) items.get(Kind[n]);" },
  EnumValue: { followed: "items.get(Kind.B.toString());" },
  FunctionPrototype: { followed: "const f = text; items.get(f(a));" },
  Function: { followed: "items.get(generic<string>(a));" },
  ClassPrototype: { followed: "items.get(typeof Base);" },
  Class: { followed: "items.get(new Box<string>(a).value);" },
  InterfacePrototype: { followed: "const k: Keyed = new Derived(); items.get(k.key);" },
  Interface: { followed: "const k: Keyed = new Derived(); if (k instanceof Derived) items.get(k.key);" },
  PropertyPrototype: { followed: "items.get(new Derived().key);" },
  Property: { followed: "items.get(new Derived().shout);" },
  Namespace: { followed: "items.get(Names.first + Names.second());" },
  File: { followed: "items.get(text(a));" },
  TypeDefinition: { followed: "type Text = string; const b: Text = a; items.get(b);" },
  IndexSignature: { followed: "const all = [a]; all[0] = a + a; items.get(all[0]);" },
};

const binary = (operator: string): Coverage => ({ followed: `items.get((n ${operator} 3).toString());` });
const assigned = (operator: string): Coverage => ({ followed: `let i = n; i ${operator} 3; items.get(i.toString());` });
const prefix = (operator: string): Coverage => ({ followed: `items.get((${operator}n).toString());` });
const part = (of: string): Coverage => ({ part: of });

/** Of the tokens between the keywords and the literals. */
const OPERATORS: Readonly<Record<string, Coverage>> = {
  OpenBrace: part("a block"),
  CloseBrace: part("a block"),
  OpenParen: part("a call"),
  CloseParen: part("a call"),
  OpenBracket: part("an element"),
  CloseBracket: part("an element"),
  Dot: part("a property"),
  Dot_Dot_Dot: { followed: "for (const x of [...[a], a]) items.get(x);" },
  Semicolon: part("a statement"),
  Comma: { followed: "items.get((n, n + 1).toString());" },
  LessThan: binary("<"),
  GreaterThan: binary(">"),
  LessThan_Equals: binary("<="),
  GreaterThan_Equals: binary(">="),
  Equals_Equals: binary("=="),
  Exclamation_Equals: binary("!="),
  Equals_Equals_Equals: binary("==="),
  Exclamation_Equals_Equals: binary("!=="),
  Equals_GreaterThan: part("an arrow function"),
  Plus: binary("+"),
  Minus: binary("-"),
  Asterisk_Asterisk: binary("**"),
  Asterisk: binary("*"),
  Slash: { followed: "items.get(((n / 3) as i32).toString());" },
  Percent: binary("%"),
  Plus_Plus: { followed: "let i = n; ++i; items.get((i++).toString());" },
  Minus_Minus: { followed: "let i = n; --i; items.get((i--).toString());" },
  LessThan_LessThan: binary("<<"),
  GreaterThan_GreaterThan: binary(">>"),
  GreaterThan_GreaterThan_GreaterThan: binary(">>>"),
  Ampersand: binary("&"),
  Bar: binary("|"),
  Caret: binary("^"),
  Exclamation: prefix("!"),
  Tilde: prefix("~"),
  Ampersand_Ampersand: { followed: "if (n > 1 && items.has(a)) items.get(a);" },
  Bar_Bar: { followed: "if (n > 1 || items.has(a)) items.get(a);" },
  Question: part("a conditional"),
  Colon: part("a conditional"),
  Equals: assigned("="),
  Plus_Equals: assigned("+="),
  Minus_Equals: assigned("-="),
  Asterisk_Equals: assigned("*="),
  Asterisk_Asterisk_Equals: assigned("**="),
  Slash_Equals: { followed: "let i: f64 = n; i /= 3; items.get(i.toString());" },
  Percent_Equals: assigned("%="),
  LessThan_LessThan_Equals: assigned("<<="),
  GreaterThan_GreaterThan_Equals: assigned(">>="),
  GreaterThan_GreaterThan_GreaterThan_Equals: assigned(">>>="),
  Ampersand_Equals: assigned("&="),
  Bar_Equals: assigned("|="),
  Caret_Equals: assigned("^="),
  At: part("a decorator"),
};

const LITERALS: Readonly<Record<string, Coverage>> = {
  Float: { followed: "items.get((1.5).toString());" },
  Integer: { followed: "items.get((15).toString());" },
  String: { followed: 'items.get("text");' },
  Template: { followed: "items.get(`${a}-${n}`);" },
  RegExp: { refused: "export function h(a: string): bool { return /a/.test(a); }", code: "regular_expression" },
  Array: { followed: "items.get([a][0]);" },
  Object: { followed: "const o: Plain = { key: a }; items.get(o.key);" },
};

const ASSERTIONS: Readonly<Record<string, Coverage>> = {
  Prefix: { followed: "items.get((<i64>n).toString());" },
  As: { followed: "items.get((n as i64).toString());" },
  NonNull: { followed: "const found = items.get(a); if (n > 3) items.get(found!.key);" },
  Const: { followed: 'const b = "x" as const; items.get(a + b);' },
};

const overloaded = (use: string): Coverage => ({ followed: `let v = new Vector(n); let w = v; ${use}` });
const overloadedBinary = (operator: string): Coverage =>
  overloaded(`const r = v ${operator} w; items.get(a + (r ? "1" : "0"));`);
const overloadedSum = (operator: string): Coverage => overloaded(`items.get((v ${operator} w).x.toString());`);

const OVERLOADS: Readonly<Record<string, Coverage>> = {
  Invalid: { never: "none" },
  IndexedGet: overloaded("items.get(v[1].toString());"),
  IndexedSet: overloaded("v[1] = 2; v[0] += 3; items.get(v[1].toString());"),
  UncheckedIndexedGet: { never: "unchecked() is refused" },
  UncheckedIndexedSet: { never: "unchecked() is refused" },
  Add: overloadedSum("+"),
  Sub: overloadedSum("-"),
  Mul: overloadedSum("*"),
  Div: overloadedSum("/"),
  Rem: overloadedSum("%"),
  Pow: overloadedSum("**"),
  BitwiseAnd: overloadedSum("&"),
  BitwiseOr: overloadedSum("|"),
  BitwiseXor: overloadedSum("^"),
  BitwiseShl: overloadedSum("<<"),
  BitwiseShr: overloadedSum(">>"),
  BitwiseShrU: overloadedSum(">>>"),
  Eq: overloadedBinary("=="),
  Ne: overloadedBinary("!="),
  Gt: overloadedBinary(">"),
  Ge: overloadedBinary(">="),
  Lt: overloadedBinary("<"),
  Le: overloadedBinary("<="),
  Plus: overloaded("items.get((+v).x.toString());"),
  Minus: overloaded("items.get((-v).x.toString());"),
  Not: overloaded("if (!v) items.get(a);"),
  BitwiseNot: overloaded("items.get((~v).x.toString());"),
  PrefixInc: overloaded("const u = ++v; items.get(u.x.toString() + v.x.toString());"),
  PrefixDec: overloaded("const u = --v; items.get(u.x.toString() + v.x.toString());"),
  PostfixInc: overloaded("const u = v++; items.get(u.x.toString() + v.x.toString());"),
  PostfixDec: overloaded("const u = v--; items.get(u.x.toString() + v.x.toString());"),
};

const TWO_OPERANDS = ["+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>", ">>>"];
const HEAD = `import { Table } from "@radical/sdk";
class Item { key: string = ""; }
const items = new Table<Item>("items");
const constant = "c";
enum Kind { A, B }
interface Keyed { key: string; }
class Base implements Keyed { key: string = "k"; name(): string { return this.key; } }
class Derived extends Base { up(): string { return super.name(); } get shout(): string { return this.key + "!"; } }
class Plain { key: string = ""; }
class Box<T> { constructor(public value: T) {} }
class Vector {
  constructor(public x: i32) {}
${TWO_OPERANDS.map((text, index) => `  @operator("${text}") two${index}(o: Vector): Vector { return new Vector(this.x * ${index} + o.x); }`).join("\n")}
${["==", "!=", ">", ">=", "<", "<="].map((text, index) => `  @operator("${text}") is${index}(o: Vector): bool { return this.x > o.x + ${index}; }`).join("\n")}
${["+", "-", "~", "++", "--"].map((text, index) => `  @operator.prefix("${text}") one${index}(): Vector { return new Vector(this.x + ${index}); }`).join("\n")}
  @operator.prefix("!") not(): bool { return this.x == 3; }
  @operator.postfix("++") next(): Vector { return new Vector(this.x + 1); }
  @operator.postfix("--") before(): Vector { return new Vector(this.x - 1); }
  @operator("[]") at(i: i32): i32 { return this.x + i; }
  @operator("[]=") set(i: i32, v: i32): void { this.x = v - i; }
}
namespace Names { export const first = "f"; export function second(): string { return "s"; } }
function text(a: string): string { return a + "t"; }
function generic<T>(a: T): T { return a; }
`;

function build(source: string): BuildResult {
  return buildWith({ ...buildInput({ "handlers/h.ts": source }), optimize: false }, slicer);
}

/** Names of an enumeration of the compiler; the functions that are merged with some start small. */
function namesOf(enumeration: object): string[] {
  return Object.keys(enumeration).filter((name) => /^[A-Z]/.test(name));
}

const TOKENS = namesOf(Token);
const TABLES: readonly (readonly [what: string, names: readonly string[], Readonly<Record<string, Coverage>>])[] = [
  ["syntax nodes", namesOf(NodeKind), NODES],
  ["elements", namesOf(ElementKind), ELEMENTS],
  ["operators", TOKENS.slice(TOKENS.indexOf("OpenBrace"), TOKENS.indexOf("Identifier")), OPERATORS],
  ["literals", namesOf(LiteralKind), LITERALS],
  ["assertions", namesOf(AssertionKind), ASSERTIONS],
  ["operators of classes", namesOf(OperatorKind), OVERLOADS],
];

describe.each(TABLES)("%s of the compiler", (_what, names, coverage) => {
  test("none is unknown", () => {
    expect(names.toSorted()).toEqual(Object.keys(coverage).toSorted());
  });

  test("those that can be followed are", () => {
    const followed = Object.entries(coverage).flatMap(([name, entry]) =>
      "followed" in entry ? [`export function use_${name}(a: string, n: i32): void { ${entry.followed} }`] : [],
    );
    const { diagnostics, handlers } = build(HEAD + followed.join("\n"));
    expect(diagnostics.filter(({ code }) => code !== "compiler_warning")).toEqual([]);
    expect(handlers.filter(({ plan }) => plan.kind !== "sliced").map(({ name }) => name)).toEqual([]);
  });

  test("the others are refused by name", () => {
    for (const [name, entry] of Object.entries(coverage)) {
      if (!("refused" in entry)) continue;
      const codes = build(entry.refused).diagnostics.map(({ code }) => code);
      expect([name, codes]).toEqual([name, [entry.code]]);
    }
  });
});
