/**
 * What the front half of the analyzer hands to the slicer, and what it gets back.
 */
import type { Diagnostic, SourceFile, Span } from "./diagnostics/diagnostic.ts";
import type { as } from "./parse/assemblyscript.ts";
import type { Facts } from "./parse/facts.ts";

/** A handler as the developer declared it. */
export interface HandlerDeclaration {
  readonly name: string;
  /** Path of its file. */
  readonly file: string;
  readonly declaration: as.FunctionDeclaration;
}

/** A `const users = new Table<User>("users")`. */
export interface TableDeclaration {
  /** The literal table name. */
  readonly name: string;
  /** Path of its file. */
  readonly file: string;
  /** Name of the constant. */
  readonly variable: string;
  readonly declaration: as.VariableDeclaration;
}

/** The application's program, compiled without errors, with what the compiler resolved. */
export interface FrontEnd {
  readonly sources: readonly SourceFile[];
  readonly program: as.Program;
  readonly facts: Facts;
  readonly handlers: readonly HandlerDeclaration[];
  readonly tables: readonly TableDeclaration[];
}

/** One access of a handler, as the developer wrote it. */
export interface AccessPattern {
  readonly table: string;
  /** Source text of the key expression. */
  readonly key: string;
  /** Whether the read/write-set function needs the value that is read. */
  readonly dependent: boolean;
  readonly span: Span;
}

/** The slicer's verdict on one handler. */
export type Derived =
  | {
      readonly kind: "sliced";
      readonly handler: string;
      /**
       * A self-contained source file that imports `@radical/sdk` only and exports the read/write-set function under the
       * handler's name. Its parameters are a subset of the handler's, with the same names and types.
       */
      readonly source: string;
      readonly readOnly: boolean;
      readonly reads: readonly AccessPattern[];
      readonly writes: readonly AccessPattern[];
      /** Warnings and remarks about the derivation. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | {
      /** It can't be sliced: the handler itself has to be recorded. */
      readonly kind: "refused";
      readonly handler: string;
      readonly reason: Diagnostic;
      /** Whether the handler certainly never writes. */
      readonly readOnly: boolean;
      readonly reads: readonly AccessPattern[];
      readonly writes: readonly AccessPattern[];
    };
