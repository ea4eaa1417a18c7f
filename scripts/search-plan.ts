/** The long hunt: what `pnpm run search` runs, in what order, and what it reads from the output of a run. */

/** A command of package.json with its arguments. */
export interface Run {
  readonly hunt: HuntName;
  readonly script: string;
  readonly args: readonly string[];
  readonly seed: number;
}

/** Something that is wrong, and how to see it again. */
export interface Finding {
  readonly hunt: HuntName;
  readonly seed: number;
  readonly commit: string;
  readonly command: string;
  readonly words: string;
}

export const HUNTS = [
  "simulation",
  "ranges",
  "indexes",
  "tasks",
  "variants",
  "rules",
  "failpoints",
  "programs",
  "http",
  "hosts",
] as const;
export type HuntName = (typeof HUNTS)[number];

const HISTORIES = { all: 100_000, each: 2_000 };
const PROGRAMS = { all: 2_000, each: 50 };
const HTTP_SECONDS = { all: 600, each: 60 };
const HOSTS_PROGRAMS = { all: 40, each: 10 };

/** All runs of these hunts. They take turns, so that a search that ends early has done a part of each. */
export function planOf(hunts: readonly HuntName[], seed: number): readonly Run[] {
  const left = hunts.map((hunt) => runsOf(hunt, seed));
  const plan: Run[] = [];
  const longest = Math.max(0, ...left.map(({ length }) => length));
  for (let turn = 0; turn < longest; turn++) for (const runs of left) plan.push(...runs.slice(turn, turn + 1));
  return plan;
}

function runsOf(hunt: HuntName, seed: number): readonly Run[] {
  const parts = ({ all, each }: { readonly all: number; readonly each: number }, script: string, name: string) =>
    Array.from({ length: all / each }, (_, at): Run => {
      const from = seed + at * each;
      const seedOption = script === "fuzz" ? "--from" : "--seed";
      return { hunt, script, args: [seedOption, String(from), name, String(each)], seed: from };
    });
  switch (hunt) {
    case "simulation":
      return parts(HISTORIES, "sim", "--histories");
    case "ranges":
    case "indexes":
    case "tasks":
      return parts(HISTORIES, "sim", "--histories").map((run) => ({ ...run, args: [...run.args, "--weather", hunt] }));
    case "variants":
      return [{ hunt, script: "sim:mutants", args: ["--from", String(seed)], seed }];
    case "rules":
      return [{ hunt, script: "mutants", args: [], seed }];
    case "failpoints":
      return ["sqlite", "dynamodb"].map((storage, at) => ({
        hunt,
        script: "crash",
        args: ["--storage", storage, "--seed", String(seed + at)],
        seed: seed + at,
      }));
    case "programs":
      return parts(PROGRAMS, "fuzz", "--programs");
    case "http":
      return parts(HTTP_SECONDS, "fuzz:http", "--seconds");
    case "hosts":
      return parts(HOSTS_PROGRAMS, "differential", "--programs");
  }
}

/** The command as it is typed. */
export function commandOf({ script, args }: Pick<Run, "script" | "args">): string {
  return ["pnpm", script, ...args]
    .map((word) => (/^[\w:./=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** The findings of a run: those that its output tells, or one that it failed. */
export function findingsOf(run: Run, output: string, exitCode: number, commit: string): readonly Finding[] {
  const finding = (script: string, args: readonly string[], words: string, seed = run.seed): Finding => ({
    hunt: run.hunt,
    seed,
    commit,
    command: commandOf({ script, args }),
    words,
  });
  const lines = output.split("\n");
  const matches = (pattern: RegExp): readonly RegExpExecArray[] =>
    lines.map((line) => pattern.exec(line)).filter((match) => match !== null);
  const found = ((): readonly Finding[] => {
    switch (run.hunt) {
      case "simulation":
      case "ranges":
      case "indexes":
      case "tasks":
        return matches(/^seed (\d+): (.*)$/).map(([, seed = "", words = ""]) =>
          finding("sim", ["--seed", seed, "--histories", "1", ...run.args.slice(4)], words, Number(seed)),
        );
      case "variants":
        return matches(/^ *— {2}(.*?): (not caught|the variant itself throws, .*)$/).map(([, name = "", words = ""]) =>
          finding(
            run.script,
            run.args,
            words === "not caught" ? `The variant "${name}" is not caught.` : `The variant "${name}": ${words}`,
          ),
        );
      case "rules":
        return matches(/^\d+ of \d+: (.*): NOTHING NOTICES/).map(([, rule = ""]) =>
          finding(run.script, ["--only", rule], `Nothing notices that the rule "${rule}" is broken.`),
        );
      case "failpoints": {
        // A problem stands below the line of its failpoint.
        let failpoint = "";
        return lines.flatMap((line) => {
          failpoint = /^([\w.-]+):\d+ +starts/.exec(line)?.[1] ?? failpoint;
          const problem = /^ +WRONG: (.*)$/.exec(line)?.[1];
          return problem === undefined
            ? []
            : [finding(run.script, ["--failpoint", failpoint, ...run.args], `${failpoint}: ${problem}`)];
        });
      }
      case "programs":
        return matches(/^seed (\d+): (.*)$/).map(([, seed = "", words = ""]) =>
          finding("fuzz", ["--from", seed, "--programs", "1"], words, Number(seed)),
        );
      case "http":
        return matches(/^WRONG, (.*)$/).map(([, words = ""]) => finding(run.script, run.args, words));
      case "hosts":
        return matches(/^(\S.*?: \{.*)$/).map(([, words = ""]) => finding(run.script, run.args, words));
    }
  })();
  if (found.length > 0 || exitCode === 0) return found;
  const last = lines.filter((line) => line.trim() !== "").slice(-3);
  return [finding(run.script, run.args, `It ended with exit code ${exitCode}: ${last.join(" ")}`)];
}
