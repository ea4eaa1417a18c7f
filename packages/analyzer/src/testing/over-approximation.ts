/**
 * For tests: how much more f^rw says than f touches, by what the slice gave up. As a command it prints the table for the
 * applications in `fixtures/` and for random programs:
 *
 *     pnpm over-approximation [--programs 100] [--from 0]
 */
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
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
  /** Of those the ones that the handler may have written before: it sees its own write. */
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

function print(title: string, table: OverApproximation): void {
  for (const [kinds, { handlers, calls, reads, ownReads, writes }] of table) {
    const perCall = (count: number): string => (count / calls).toFixed(3);
    console.log(
      `| ${title} | ${kinds} | ${handlers} | ${calls} | ${perCall(reads)} | ${perCall(ownReads)} | ${perCall(writes)} |`,
    );
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: { programs: { type: "string", default: "100" }, from: { type: "string", default: "0" } },
  });
  console.log(
    "| | transformations | handlers | calls | extra reads per call | of those of own writes | extra writes per call |",
  );
  console.log("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
  for (const { name, strings, integers } of APPLICATIONS)
    print(name, measureOverApproximation(built(fixture(name)), { strings, integers, runs: 100, callsPerRun: 5 }));
  const random: OverApproximation = new Map();
  const from = Number(values.from);
  for (let seed = from; seed < from + Number(values.programs); seed++) {
    const keys = Object.fromEntries(TABLES.map((table) => [table, KEY_TEXTS]));
    const exploration = { strings: KEY_TEXTS, integers: [0, 1, 2, 3, 4, 5], keys, runs: 15, callsPerRun: 3, seed };
    measureOverApproximation(built(randomProgram(seed).files), exploration, random);
  }
  print("random programs", random);
}
