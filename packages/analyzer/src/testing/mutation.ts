/**
 * For tests: the analyzer with one rule broken, and whether the fixtures notice. The back half of the analyzer is loaded
 * again for every mutant, with the text of one file changed; parsing and compiling are shared.
 *
 * A mutant is caught if some handler that is sliced otherwise can't be sliced or compiled any more, or if execution
 * finds that its read/write-set function misses something.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import type { Derived, FrontEnd } from "../front.ts";
import { buildWith, type BuildInput, type BuildResult, type Slicer } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { fixture } from "./fixtures.ts";
import { buildInput } from "./library.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";
import { explore } from "./oracle.ts";

export interface Verdict {
  readonly rule: string;
  /** What noticed; null: the mutant survived. */
  readonly caughtBy: string | null;
  readonly seconds: number;
}

const SOURCE = new URL("../", import.meta.url);
/** What the slicer consists of. */
const SLICER = /\/src\/(slicer\.ts|(lower|infer|slice|emit)\/[^/]+\.ts)$/;

/** Why a mutant can't be made: the text that it changes is not there. Null: it can. */
export function faultOf({ file, find }: Mutant): string | null {
  const found = readFileSync(new URL(file, SOURCE), "utf8").split(find).length - 1;
  return found === 1 ? null : `${file} has ${found} times: ${find}`;
}

let hooked = false;

/** Modules of the slicer that are asked for with `?mutant=…` get the text of that mutant. */
function hook(): void {
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const mutant = /\?mutant=\d+$/.exec(context.parentURL ?? "")?.[0];
      if (mutant === undefined || !SLICER.test(resolved.url)) return resolved;
      return { ...resolved, url: resolved.url + mutant };
    },
    load(url, context, next) {
      const loaded = next(url, context);
      const [path, index] = url.split("?mutant=");
      const mutant = index === undefined ? undefined : MUTANTS[Number(index)];
      if (mutant === undefined || !path?.endsWith(`/src/${mutant.file}`)) return loaded;
      return { ...loaded, source: String(loaded.source).replace(mutant.find, () => mutant.replace) };
    },
  });
}

interface Application {
  readonly input: BuildInput;
  /** Of the read/write-set functions, by handler. */
  readonly sources: ReadonlyMap<string, string>;
}

export class MutationCheck {
  /** The directed cases first: they are few and catch most. */
  private readonly applications: readonly Application[];

  constructor() {
    const all = fixture("constructs");
    const directed = Object.entries(all).filter(([path]) => /^lib\/items|rules|minimized/.test(path));
    this.applications = [Object.fromEntries(directed), all].map((files) => {
      const input = { ...buildInput(files), optimize: false };
      return { input, sources: sourcesOf(buildWith(input, slicer)) };
    });
    hook();
  }

  async check(mutant: Mutant): Promise<Verdict> {
    const started = performance.now();
    const verdict = (caughtBy: string | null): Verdict => ({
      rule: mutant.rule,
      caughtBy,
      seconds: (performance.now() - started) / 1000,
    });
    const url = new URL(`slicer.ts?mutant=${MUTANTS.indexOf(mutant)}`, SOURCE).href;
    const mutated = ((await import(url)) as { readonly slicer: Slicer }).slicer;
    for (const application of this.applications) {
      const caughtBy = this.noticed(application, mutated, mutant.noticedBy);
      if (caughtBy !== null) return verdict(caughtBy);
    }
    return verdict(null);
  }

  private noticed({ input, sources }: Application, mutated: Slicer, noticedBy: string | undefined): string | null {
    let changed: readonly string[] = [];
    const deriveReadWriteSets = (front: FrontEnd): Derived[] => {
      const derived = mutated.deriveReadWriteSets(front);
      const different = derived.filter(
        (verdict) =>
          sources.has(verdict.handler) &&
          (verdict.kind !== "sliced" || verdict.source !== sources.get(verdict.handler)),
      );
      changed = different.map(({ handler }) => handler);
      return different;
    };
    const build = buildWith(input, { ...slicer, deriveReadWriteSets });
    for (const { name, plan } of build.handlers)
      if (changed.includes(name) && plan.kind !== "sliced")
        return `${name} is not sliced: ${plan.kind === "recorded" ? plan.reason.code : plan.kind}`;
    for (const runs of [20, 150])
      for (const name of changed.filter((handler) => noticedBy === undefined || handler === noticedBy)) {
        const missed = this.explore(build, name, runs);
        if (missed !== null) return missed;
      }
    return null;
  }

  private explore(build: BuildResult, handler: string, runs: number): string | null {
    try {
      explore(build, {
        strings: ["a", "b", "y", "two"],
        integers: [0, 1, 2, 3, 4, 5, 6, 7],
        runs,
        callsPerRun: 4,
        shrink: false,
        handlers: [handler],
      });
      return null;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return cause instanceof Error ? cause.message : String(cause);
    }
  }
}

function sourcesOf(build: BuildResult): Map<string, string> {
  return new Map(build.handlers.flatMap(({ name, rwSource }) => (rwSource === null ? [] : [[name, rwSource]])));
}
