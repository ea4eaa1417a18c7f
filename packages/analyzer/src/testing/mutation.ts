/**
 * For tests: the analyzer with one rule broken, and whether the fixtures notice. Of the back half of the analyzer each
 * mutant has what its change reaches; parsing and compiling are shared.
 *
 * A mutant is caught if it can't slice or compile a handler that the analyzer slices. It is caught too if execution finds
 * that the read/write-set function of a handler misses something. The same shows that a handler is sliced which is refused
 * otherwise.
 */
import type { Derived, FrontEnd, Slicer } from "../front.ts";
import { buildWith, type BuildInput, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture } from "./fixtures.ts";
import { buildInput } from "./library.ts";
import type { Mutant } from "./mutants.ts";
import { explore } from "./oracle.ts";

/** How a mutant shows. */
type Sign =
  /** By a wrong result: its set misses something, or its handler does something else. */
  | "wrong"
  /** It refuses a handler, or says something about one, where the analyzer does not; or the reverse. */
  | "refuses"
  /** It, or the code that it makes, throws: nobody could go on with it. */
  | "throws";

export interface Noticed {
  readonly sign: Sign;
  readonly words: string;
}

/** The case that noticed a mutant, and how, in words. */
export interface Caught extends Case, Noticed {}

export interface Verdict {
  readonly rule: string;
  /** Null: the mutant survived. */
  readonly caughtBy: Caught | null;
  readonly seconds: number;
}

/** A handler of the fixtures, and its file. */
export interface Case {
  readonly file: string;
  readonly handler: string;
  /** Whether the others of the file are needed too, as handlers. */
  readonly withOthers: boolean;
}

/** A handler file of the fixtures. */
interface Application {
  readonly file: string;
  readonly input: BuildInput;
  /** Of the read/write-set functions, by handler. */
  readonly sources: ReadonlyMap<string, string>;
}

/** The handler files whose cases are directed come first: they catch most. */
const DIRECTED = /\/(rules|minimized)\.ts$/;

/** Ends a build when all is known that is wanted of it. */
class Enough extends Error {}

export class MutationCheck {
  readonly #files = { ...fixture("refused"), ...fixture("dispatch"), ...fixture("constructs") };
  /** Made when they are wanted. */
  #applications: readonly Application[] | null = null;
  readonly #cases = new Map<string, BuildInput>();

  /** With one case, or with all of them until one notices. */
  check(mutant: Mutant, mutated: Slicer, only?: Case): Verdict {
    const started = performance.now();
    const caughtBy = only === undefined ? this.#findCase(mutant, mutated) : this.#caughtBy(only, mutated);
    return { rule: mutant.rule, caughtBy, seconds: (performance.now() - started) / 1000 };
  }

  #caughtBy(one: Case, mutated: Slicer): Caught | null {
    const noticed = this.#noticedBy(one, mutated);
    return noticed === null ? null : { ...one, ...noticed };
  }

  #findCase(mutant: Mutant, mutated: Slicer): Caught | null {
    this.#applications ??= this.#handlerFiles().map((file) => {
      const input = this.#inputOf(file, this.#files[file]!);
      return { file, input, sources: sourcesIn(derivedBy(slicer, input)) };
    });
    // A case in which the mutant throws shows less than one in which it goes on.
    let thrown: Caught | null = null;
    for (const { file, input, sources } of this.#applications) {
      const changed = derivedBy(mutated, input).filter(
        (verdict) => (verdict.kind === "sliced" ? verdict.source : undefined) !== sources.get(verdict.handler),
      );
      for (const withOthers of [false, true])
        for (const { handler } of changed) {
          if (mutant.runOnly !== undefined && mutant.runOnly !== handler) continue;
          const caught = this.#caughtBy({ file, handler, withOthers }, mutated);
          if (caught !== null && caught.sign !== "throws") return caught;
          thrown ??= caught;
        }
    }
    return thrown;
  }

  /** Builds the handler, alone if it may be; what it notices. */
  #noticedBy({ file, handler, withOthers }: Case, mutated: Slicer): Noticed | null {
    const name = withOthers ? file : handler;
    let input = this.#cases.get(name);
    if (input === undefined) {
      // The others stay where they are, but without being handlers: little is compiled for a mutant.
      const text = this.#files[file]!.replaceAll(/^export (?=function (\w+))/gm, (words: string, exported: string) =>
        withOthers || exported === handler ? words : "",
      );
      this.#cases.set(name, (input = this.#inputOf(file, text)));
    }
    let right: string | undefined;
    let source: string | undefined;
    const deriveReadWriteSets = (front: FrontEnd): readonly Derived[] => {
      right = sourcesIn(slicer.deriveReadWriteSets(front)).get(handler);
      const derived = mutated.deriveReadWriteSets(front);
      source = sourcesIn(derived).get(handler);
      return derived;
    };
    const build = buildWith(input, { ...slicer, deriveReadWriteSets });
    const report = build.handlers.find((candidate) => candidate.name === handler);
    if (report === undefined) throw new Error(`${file} has no handler ${handler}`);
    if (source === right) return null;
    const { plan } = report;
    if (plan.kind !== "sliced") {
      const reason = plan.kind === "recorded" ? plan.reason.code : plan.kind;
      return { sign: CRASHES.has(reason) ? "throws" : "refuses", words: `is not sliced: ${reason}` };
    }
    return this.#explore(build, input, handler, 20) ?? this.#explore(build, input, handler, 150);
  }

  #handlerFiles(): string[] {
    const files = Object.keys(this.#files).filter((path) => path.startsWith("handlers/"));
    return [...files.filter((path) => DIRECTED.test(path)), ...files.filter((path) => !DIRECTED.test(path))];
  }

  /** One handler file with what handlers share. */
  #inputOf(file: string, text: string): BuildInput {
    const shared = Object.entries(this.#files).filter(([path]) => !path.startsWith("handlers/"));
    return { ...buildInput({ ...Object.fromEntries(shared), [file]: text }), optimize: false };
  }

  #explore(build: BuildResult, { sources }: BuildInput, handler: string, runs: number): Noticed | null {
    try {
      explore(build, {
        strings: ["a", "b", "y", "two"],
        integers: [0, 1, 2, 3, 4, 5, 6, 7],
        runs,
        callsPerRun: 4,
        shrink: false,
        handlers: [handler],
        sources,
      });
      return null;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      const words = cause instanceof Error ? cause.message : String(cause);
      return { sign: cause instanceof Error && cause.constructor === Error ? "wrong" : "throws", words };
    }
  }
}

/** Reasons of record mode that are mistakes of the analyzer's own. */
const CRASHES: ReadonlySet<string> = new Set(["analyzer_crash", "read_write_set_not_compiled"]);

/** The verdicts of a slicer, without a build. */
function derivedBy(of: Slicer, input: BuildInput): readonly Derived[] {
  let derived: readonly Derived[] = [];
  const deriveReadWriteSets = (front: FrontEnd): readonly Derived[] => (derived = of.deriveReadWriteSets(front));
  try {
    buildWith(input, { ...of, deriveReadWriteSets }, { onAnalyzed: enough });
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
  }
  return derived;
}

function enough(): never {
  throw new Enough();
}

function sourcesIn(derived: readonly Derived[]): ReadonlyMap<string, string> {
  return new Map(derived.flatMap((verdict) => (verdict.kind === "sliced" ? [[verdict.handler, verdict.source]] : [])));
}
