/**
 * The border between the front half of the analyzer and the slicer: the program that goes in, and the verdicts that come out.
 */
import type { Diagnostic, SourceFile, Span } from "./diagnostics/diagnostic.ts";
import type { HandlerTables, IndexDeclaration } from "@radical/protocol";
import type { as } from "./parse/assemblyscript.ts";
import type { Facts } from "./parse/facts.ts";

/** A handler as the developer declared it. */
export interface HandlerDeclaration {
  readonly name: string;
  /** Path of its file. */
  readonly file: string;
  readonly declaration: as.FunctionDeclaration;
  /** Transformations that the developer does not want. */
  readonly refused: ReadonlySet<TransformationKind>;
}

/** An index with its constant. */
export interface IndexedTable extends IndexDeclaration {
  readonly declaration: as.VariableDeclaration;
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
  readonly indexes: readonly IndexedTable[];
  /** Whether all that a read/write-set function keeps is to be explained, or only what is expensive. */
  readonly explain: boolean;
  /** Whether the verdicts have the products of the phases. */
  readonly emitIr: boolean;
}

/** One access of a handler. */
export interface AccessPattern {
  readonly table: string;
  /** The accessed items in words: `timelines/{me}`; see `slice/key-patterns.ts`. */
  readonly pattern: string;
  /** Source text of the key expression. */
  readonly source: string;
  /** Whether the read/write-set function needs the value that is read. */
  readonly dependent: boolean;
  readonly span: Span;
}

/**
 * How a slice comes to say more than the handler touches. `union`: the accesses of both sides of a branch whose
 * condition is expensive. `dropped-guard`: an early end left out because its condition is expensive. `widening`: the
 * accesses of all candidates instead of the best ones.
 */
export const TRANSFORMATIONS = ["union", "dropped-guard", "widening"] as const;
export type TransformationKind = (typeof TRANSFORMATIONS)[number];

export interface Transformation {
  readonly kind: TransformationKind;
  /** Place of the condition or ranking that was given up. */
  readonly span: Span;
  /** Says what the transformation does, and why. */
  readonly words: string;
  /** Places of the expensive part, of the accesses in its place, and of the parts that are left out. */
  readonly related: readonly { readonly span: Span; readonly label: string }[];
  /** Estimated steps saved. */
  readonly steps: number;
  /** Some executions that write nothing are said to write. */
  readonly makesWriter: boolean;
}

/**
 * Why the read/write-set function does something. `expense`: something expensive that it keeps. `recursion`: a function
 * that calls itself, makes no access and is kept. `read`: a read whose value it needs. `line`: what else it keeps, one
 * for each line of the source.
 */
export interface Explanation {
  readonly kind: "expense" | "recursion" | "read" | "line";
  readonly what: string;
  readonly span: Span;
  /** Estimated steps. */
  readonly steps: number;
  /** From there to the access that needs it. */
  readonly chain: readonly { readonly words: string; readonly span: Span }[];
}

/** The phases that derive the set of a handler, in order. */
export type DerivingPhase = "lower" | "infer" | "slice" | "emit";

/** The product of a phase as text, for people who work on the analyzer. */
export interface PhaseProduct {
  readonly phase: DerivingPhase;
  readonly text: string;
}

/** Estimated steps; null: not known. */
export interface Steps {
  readonly handler: number | null;
  readonly readWriteSet: number | null;
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
      /** Empty unless they are asked for. */
      readonly products: readonly PhaseProduct[];
      readonly readOnly: boolean;
      readonly reads: readonly AccessPattern[];
      readonly writes: readonly AccessPattern[];
      /** Every table that a run of the handler may touch; null: that is not known. */
      readonly tables: HandlerTables | null;
      readonly transformations: readonly Transformation[];
      /** Of everything that is kept: first what is expensive, then recursions, dependent reads and lines. */
      readonly explanations: readonly Explanation[];
      readonly steps: Steps;
      /** Without transformations, should this not compile; null: there are none. */
      readonly plain: Derived | null;
      /** Warnings and remarks about the derivation. */
      readonly diagnostics: readonly Diagnostic[];
    }
  | {
      /** It can't be sliced: the handler itself has to be recorded. */
      readonly kind: "refused";
      readonly handler: string;
      readonly reason: Diagnostic;
      /** Of the phases before the refusal; empty unless they are asked for. */
      readonly products: readonly PhaseProduct[];
      /** Whether the handler certainly never writes. */
      readonly readOnly: boolean;
      readonly reads: readonly AccessPattern[];
      readonly writes: readonly AccessPattern[];
      /** Every table that a run of the handler may touch; null: that is not known. */
      readonly tables: HandlerTables | null;
      readonly steps: Steps;
    };

/** The back half of the analyzer. */
export interface Slicer {
  readonly deriveReadWriteSets: (front: FrontEnd) => readonly Derived[];
}
