/**
 * The derivations of the last build. Most edits change few handlers. Nothing but the IR and the source text at its places goes
 * into a read/write set. So a handler with the same IR and texts has the same set.
 */
import type { Span, SourceFile } from "../diagnostics/diagnostic.ts";
import type { Derived, HandlerDeclaration } from "../front.ts";
import type { Program } from "../lower/ir.ts";

/** All that a derivation hangs on. */
export interface Subject {
  readonly handler: Pick<HandlerDeclaration, "name" | "file" | "refused">;
  readonly program: Program;
  readonly sources: readonly SourceFile[];
  readonly explain: boolean;
  readonly emitIr: boolean;
}

interface Derivation {
  readonly subject: Subject;
  readonly derived: Derived;
}

export class Derivations {
  readonly #known = new Map<string, Derivation>();

  /** Nobody may change the program afterwards. */
  of(subject: Subject, derive: () => Derived): Derived {
    const { name } = subject.handler;
    const known = this.#known.get(name);
    const derived = known !== undefined && isLike(known.subject, subject) ? known.derived : derive();
    this.#known.set(name, { subject, derived });
    return derived;
  }

  /** Forgets all handlers but these. */
  keep(handlers: readonly HandlerDeclaration[]): void {
    const names = new Set(handlers.map(({ name }) => name));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name);
  }
}

function isLike(left: Subject, right: Subject): boolean {
  return (
    left.handler.file === right.handler.file &&
    left.explain === right.explain &&
    left.emitIr === right.emitIr &&
    left.handler.refused.size === right.handler.refused.size &&
    [...left.handler.refused].every((kind) => right.handler.refused.has(kind)) &&
    new Likeness(left.sources, right.sources).same(left.program, right.program)
  );
}

/**
 * Whether two structures of plain data can't be told apart. They have equal values in equal places. Places with one object
 * in the one have one object in the other.
 */
class Likeness {
  /** Of the objects met so far: one to one. */
  readonly #rights = new Map<object, object>();
  readonly #lefts = new Map<object, object>();
  /** By path, left and right, of the files that differ. */
  readonly #texts = new Map<string, readonly [left: string, right: string]>();

  constructor(left: readonly SourceFile[], right: readonly SourceFile[]) {
    const before = new Map(left.map(({ path, text }) => [path, text]));
    for (const { path, text } of right) {
      const other = before.get(path) ?? "";
      if (other !== text) this.#texts.set(path, [other, text]);
    }
  }

  same(left: unknown, right: unknown): boolean {
    if (!isObject(left) || !isObject(right)) return Object.is(left, right);
    const counterpart = this.#rights.get(left);
    if (counterpart !== undefined || this.#lefts.has(right)) return counterpart === right;
    this.#rights.set(left, right);
    this.#lefts.set(right, left);
    // Types without parts and members of the library belong to the language, and not to a program.
    if (left === right) return true;
    if (Array.isArray(left))
      return (
        Array.isArray(right) &&
        left.length === right.length &&
        left.every((element, index) => this.same(element, right[index]))
      );
    const names = Object.keys(left);
    if (names.length !== Object.keys(right).length) return false;
    for (const name of names) {
      const isSame =
        name === "span" ? this.#sameSpan(left[name] as Span, right[name] as Span) : this.same(left[name], right[name]);
      if (!isSame) return false;
    }
    return true;
  }

  /** Spans are many, and which object says one means nothing. */
  #sameSpan(left: Span, right: Span): boolean {
    const { file, start, end, line, column } = left;
    const isSame =
      start === right.start &&
      end === right.end &&
      line === right.line &&
      column === right.column &&
      file === right.file;
    if (!isSame) return false;
    const texts = this.#texts.get(file);
    return texts === undefined || texts[0].slice(start, end) === texts[1].slice(start, end);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
