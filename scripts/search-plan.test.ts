import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { HUNTS, type HuntName, type Run, commandOf, findingsOf, planOf } from "./search-plan.ts";

/** The sum of what the runs of a plan are given for an option. */
function sumOf(plan: readonly Run[], hunt: HuntName, option: string): number {
  return plan
    .filter((run) => run.hunt === hunt)
    .reduce((total, { args }) => total + Number(args[args.indexOf(option) + 1]), 0);
}

describe("the plan", () => {
  const plan = planOf(HUNTS, 7);

  test("has as much of each hunt as it says", () => {
    for (const hunt of ["simulation", "ranges", "indexes", "tasks"] as const)
      expect(sumOf(plan, hunt, "--histories")).toBe(100_000);
    expect(sumOf(plan, "programs", "--programs")).toBe(2_000);
    expect(sumOf(plan, "http", "--seconds")).toBe(600);
    expect(plan.filter(({ hunt }) => hunt === "failpoints").map(({ args }) => args[1])).toEqual(["sqlite", "dynamodb"]);
    for (const hunt of ["variants", "rules", "hosts"] as const) expect(plan.map((run) => run.hunt)).toContain(hunt);
  });

  test("gives each hunt its turn, and no seed twice", () => {
    expect(plan.slice(0, HUNTS.length).map(({ hunt }) => hunt)).toEqual(HUNTS);
    const histories = plan.filter(({ hunt }) => hunt === "simulation").map(({ args }) => Number(args[1]));
    expect(histories).toEqual(Array.from({ length: 50 }, (_, at) => 7 + at * 2_000));
  });

  test("has what is wanted only", () => {
    expect(new Set(planOf(["http", "rules"], 1).map(({ hunt }) => hunt))).toEqual(new Set(["http", "rules"]));
  });

  test("runs scripts of package.json", () => {
    const { scripts } = JSON.parse(readFileSync(path.join(import.meta.dirname, "../package.json"), "utf8")) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    for (const { script } of plan) expect(Object.keys(scripts)).toContain(script);
  });
});

describe("what a run has found", () => {
  const plan = planOf(HUNTS, 7);
  const found = (hunt: HuntName, output: string, exitCode = 1) =>
    findingsOf(
      plan.find((run) => run.hunt === hunt)!,
      output,
      exitCode,
      "c0ffee",
    ).map(({ command, words, seed }) => ({
      command,
      words,
      seed,
    }));

  test.each<[HuntName, string, string, string, number]>([
    [
      "simulation",
      "10 histories\ntrace\nseed 4711: a write is lost; another\nabove: seed 3, 4 operations, without drops: a write is lost\n",
      "pnpm sim --seed 4711 --histories 1",
      "a write is lost; another",
      4711,
    ],
    [
      "indexes",
      "100 histories\nseed 12: users/k1 lacks its entry\n",
      "pnpm sim --seed 12 --histories 1 --weather indexes",
      "users/k1 lacks its entry",
      12,
    ],
    [
      "variants",
      "     3  readers pass writers: x\n     —  locks are kept: not caught\n",
      "pnpm sim:mutants --from 7",
      'The variant "locks are kept" is not caught.',
      7,
    ],
    [
      "variants",
      "     —  locks: are kept: the variant itself throws, in history 3: TypeError: x is not a function\n",
      "pnpm sim:mutants --from 7",
      'The variant "locks: are kept": the variant itself throws, in history 3: TypeError: x is not a function',
      7,
    ],
    [
      "rules",
      "1 of 2: one: noticed (0.1 s)\n2 of 2: a union's field: NOTHING NOTICES (0.2 s)\n",
      "pnpm mutants --only 'a union'\\''s field'",
      `Nothing notices that the rule "a union's field" is broken.`,
      7,
    ],
    [
      "failpoints",
      "seed 7\nstart.recovered:1      starts 1, calls 9, free after 3 ms\nstorage.intent-stored:3    starts 1, calls 9, free after 3 ms\n  WRONG: counters: 3 were told\n1 kills\n",
      "pnpm crash --failpoint storage.intent-stored --storage sqlite --seed 7",
      "storage.intent-stored: counters: 3 were told",
      7,
    ],
    [
      "programs",
      "seed 12: handler2: touched more\n  again: pnpm fuzz --from 12 --programs 1\nseed 12, reduced, in .fuzz/seed-12.ts:\n",
      "pnpm fuzz --from 12 --programs 1",
      "handler2: touched more",
      12,
    ],
    [
      "http",
      "seed 7\nWRONG, in batch 3 of seed 7: Error: it is dead\n{}\n",
      "pnpm fuzz:http --seed 7 --seconds 60",
      "in batch 3 of seed 7: Error: it is dead",
      7,
    ],
    [
      "hosts",
      'random 8: {"handler":"a"}\n  node    1\n  workerd 2\n10 programs, 1 differences',
      "pnpm differential --seed 7 --programs 10",
      'random 8: {"handler":"a"}',
      7,
    ],
  ])("%s: is read from its output", (hunt, output, command, words, seed) => {
    expect(found(hunt, output)).toEqual([{ command, words, seed }]);
  });

  test.each(HUNTS)("%s: is nothing in a good end, and the end itself when nothing else says it", (hunt) => {
    expect(found(hunt, "10 of 10, 0 wrong\n", 0)).toEqual([]);
    const [only, ...more] = found(hunt, "a line\n\nout of memory\n", 134);
    expect(more).toEqual([]);
    expect(only).toMatchObject({ words: "It ended with exit code 134: a line out of memory" });
    expect(only?.command).toBe(commandOf(plan.find((run) => run.hunt === hunt)!));
  });
});
