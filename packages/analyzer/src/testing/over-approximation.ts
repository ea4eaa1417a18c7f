/**
 * For tests: how much more f^rw says than f touches, by what the slice gave up. `pnpm over-approximation` prints the table
 * for the applications in `fixtures/` and for random programs.
 */
import { pathToFileURL } from "node:url";
import { commandLine } from "@radical/command-line";
import { buildWith, type BuildResult } from "../pipeline.ts";
import { slicer } from "../slicer.ts";
import { APPLICATIONS, fixture } from "./fixtures.ts";
import { buildInput } from "./library.ts";
import { explore, type Exploration } from "./oracle.ts";
import { KEY_TEXTS, TABLES } from "./random-prelude.ts";
import { randomProgram } from "./random-program.ts";

export interface Extra {
  handlers: number;
  calls: number;
  /** Units that were said and not touched, where the handler came to its result. */
  reads: number;
  /** Reads of units that the handler may have written before: it sees its own write. */
  ownReads: number;
  writes: number;
}

/** By the transformations of the slice: `none`, `union`, `dropped-guard, union`. */
export type OverApproximation = Map<string, Extra>;

/** Explores each handler by itself and adds to what is known. */
export function measureOverApproximation(
  build: BuildResult,
  exploration: Exploration,
  table: OverApproximation = new Map(),
): OverApproximation {
  for (const { name, plan, transformations } of build.handlers) {
    if (plan.kind !== "sliced") continue;
    const kinds = [...new Set(transformations.map(({ kind }) => kind))].toSorted().join(", ") || "none";
    const extra = table.get(kinds) ?? { handlers: 0, calls: 0, reads: 0, ownReads: 0, writes: 0 };
    const found = explore(build, { ...exploration, handlers: [name] });
    extra.handlers++;
    extra.calls += found.calls;
    extra.reads += found.extraReads;
    extra.ownReads += found.extraOwnReads;
    extra.writes += found.extraWrites;
    table.set(kinds, extra);
  }
  return table;
}

function built(files: Readonly<Record<string, string>>): BuildResult {
  return buildWith({ ...buildInput(files), optimize: false }, slicer);
}

function rowsOf(title: string, table: OverApproximation): string[] {
  return Array.from(table, ([kinds, { handlers, calls, reads, ownReads, writes }]) => {
    const perCall = (count: number): string => (count / calls).toFixed(3);
    return `| ${title} | ${kinds} | ${handlers} | ${calls} | ${perCall(reads)} | ${perCall(ownReads)} | ${perCall(writes)} |`;
  });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { from, programs, json } = commandLine({
    name: "pnpm over-approximation",
    words:
      "Measure how much more read/write-set functions say than handlers touch, by the transformations of the slice.",
    options: {
      programs: { kind: "number", default: 100, least: 0, words: "random programs" },
      from: { kind: "number", default: 0, least: 0, words: "seed of the first" },
      json: { kind: "flag", words: "JSON instead of a table" },
    },
    exitCodes: ["measured", "a read/write-set function is wrong", "wrong options"],
    examples: [["pnpm over-approximation --programs 0", "the applications only"]],
  });
  const tables = new Map<string, OverApproximation>();
  const done = (title: string, table: OverApproximation): void => {
    tables.set(title, table);
    process.stderr.write(`${title} measured\n`);
  };
  for (const { name, strings, integers } of APPLICATIONS)
    done(name, measureOverApproximation(built(fixture(name)), { strings, integers, runs: 100, callsPerRun: 5 }));
  const random: OverApproximation = new Map();
  for (let seed = from; seed < from + programs; seed++) {
    const keys = Object.fromEntries(TABLES.map((table) => [table, KEY_TEXTS]));
    const exploration = { strings: KEY_TEXTS, integers: [0, 1, 2, 3, 4, 5], keys, runs: 15, callsPerRun: 3, seed };
    measureOverApproximation(built(randomProgram(seed).files), exploration, random);
    if ((seed - from) % 20 === 19) process.stderr.write(`${seed - from + 1} of ${programs} random programs\n`);
  }
  done("random programs", random);
  if (json) {
    const entries = Array.from(tables, ([title, table]) => [title, Object.fromEntries(table)] as const);
    console.log(JSON.stringify(Object.fromEntries(entries)));
  } else {
    console.log(
      "| | transformations | handlers | calls | extra reads per call | of those of own writes | extra writes per call |",
    );
    console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for (const [title, table] of tables) for (const row of rowsOf(title, table)) console.log(row);
  }
}
