/**
 * `pnpm bench:dev`: how long a save takes until its build serves, in `radical dev`, after a change of one handler file. And how
 * soon `npm run dev` of a new application answers, and what it takes of memory (`dev-weight.ts`).
 *
 * It lasts from the end of writing the file to the first answer of the new build, as a client sees it over HTTP. The
 * lines of `radical dev` are the marks in between. Each change gives a handler another result, so that an answer says
 * which build it is of. The built program is measured, as it is shipped. The processor time is that of `radical dev` itself;
 * the wall clock means something on a machine that does nothing else.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { commandLine } from "../packages/command-line/src/command-line.ts";
import { thirtyHandlers } from "../packages/analyzer/src/testing/thirty-handlers.ts";
import type { DevEvent } from "../packages/cli/src/index.ts";
import { devWeights } from "./dev-weight.ts";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const WARM_UP = 4;
/** Longest wait for one change, in questions. */
const MAX_QUESTIONS = 20_000;
const VERSION = "benchVersion";

interface Application {
  readonly name: string;
  /** Writes its sources to a folder. */
  readonly write: (folder: string) => void;
  readonly changedFile: string;
}

const APPLICATIONS: readonly Application[] = [
  {
    name: "templates/social",
    write: (folder) => cpSync(join(HERE, "templates/social/handlers"), join(folder, "handlers"), { recursive: true }),
    changedFile: "handlers/social.ts",
  },
  {
    name: "30 handlers",
    write: (folder) => {
      for (const [file, text] of Object.entries(thirtyHandlers())) {
        mkdirSync(dirname(join(folder, file)), { recursive: true });
        writeFileSync(join(folder, file), text);
      }
    },
    changedFile: "handlers/forum.ts",
  },
];

/** Milliseconds from the save. */
const MARKS = ["building", "analyzed", "built", "serving", "answered"] as const;
type Marks = Partial<Record<(typeof MARKS)[number], number>>;

async function measure({ write, changedFile }: Application, checkout: string, changes: number): Promise<Marks[]> {
  const folder = mkdtempSync(join(tmpdir(), "radical-bench-dev-"));
  write(folder);
  writeFileSync(join(folder, "radical.config.ts"), 'export default { name: "bench" };\n');
  const source = readFileSync(join(folder, changedFile), "utf8");
  const save = (version: number): void =>
    writeFileSync(
      join(folder, changedFile),
      `${source}\nexport function ${VERSION}(): i32 {\n  return ${version};\n}\n`,
    );
  save(0);
  const main = join(checkout, "packages/cli/dist/main.js");
  const child = spawn(process.execPath, [main, "dev", "--project", folder, "--port", "0", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let marks: Marks = {};
  let savedAtMs = 0;
  try {
    const url = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).on("line", (line) => {
        const event = JSON.parse(line) as DevEvent;
        if (event.event === "ready") resolve(event.url);
        if (event.event === "build_failed") reject(new Error(`the application does not build: ${line}`));
        const mark = MARKS.find((name) => name === event.event);
        if (mark !== undefined) marks[mark] ??= performance.now() - savedAtMs;
      });
      void closed.then(() => reject(new Error("radical dev has ended")));
    });
    const ask = async (): Promise<unknown> => {
      const response = await fetch(`${url}/api/${VERSION}`, { method: "POST", body: "{}" }).catch(() => null);
      return response === null ? null : ((await response.json()) as { readonly result: unknown }).result;
    };
    const all: Marks[] = [];
    for (let version = 1; version <= WARM_UP + changes; version++) {
      await ask();
      marks = {};
      save(version);
      savedAtMs = performance.now();
      for (let question = 0; question < MAX_QUESTIONS; question++) {
        // Questions without a pause would slow down the build.
        if (marks.built === undefined) await new Promise((resolve) => setTimeout(resolve, 2));
        else if ((await ask()) === version) break;
      }
      marks.answered = performance.now() - savedAtMs;
      all.push(marks);
    }
    return all.slice(WARM_UP);
  } finally {
    child.kill("SIGTERM");
    await closed;
    rmSync(folder, { recursive: true, force: true });
  }
}

const options = commandLine({
  name: "pnpm bench:dev",
  words:
    "Measure how long a save of one handler file takes until its build serves in radical dev, how soon npm run dev\nof a new application answers, and its memory when it is idle (on Linux).",
  options: {
    changes: { kind: "number", default: 15, least: 0, words: "saves that each figure is the median of" },
    starts: {
      kind: "number",
      default: 5,
      least: 0,
      words: "starts of a new application; the least of each figure counts",
    },
    idleMs: { kind: "number", default: 30_000, least: 0, unit: "ms", words: "time between the answer and the memory" },
    checkout: {
      kind: "text",
      placeholder: "folder",
      words: "another checkout of this repository, installed and built, to measure instead",
    },
    json: { kind: "flag", words: "the figures as JSON" },
  },
  exitCodes: ["measured", "an application does not build", "wrong options"],
  examples: [
    ["pnpm bench:dev", "this checkout"],
    ["pnpm bench:dev --checkout ../before --starts 0", "saves in another"],
    ["pnpm bench:dev --changes 0", "the start and the memory alone"],
  ],
});

for (const application of options.changes === 0 ? [] : APPLICATIONS) {
  const all = await measure(application, options.checkout ?? HERE, options.changes);
  for (const mark of MARKS) {
    const times = all.map((marks) => marks[mark] ?? Number.NaN).toSorted((a, b) => a - b);
    const p50 = times[Math.floor(times.length / 2)]!;
    const least = times[0]!;
    if (options.json) console.log(JSON.stringify({ application: application.name, mark, p50, least }));
    else
      console.log(
        `${application.name.padEnd(18)}${mark.padEnd(10)} p50 ${p50.toFixed(0).padStart(5)} ms   least ${least.toFixed(0).padStart(5)} ms`,
      );
  }
}

const weights = options.starts === 0 ? [] : await devWeights(options.starts, options.idleMs);
if (weights.length > 0) {
  const least = (name: keyof (typeof weights)[number]): number => Math.min(...weights.map((one) => one[name]));
  const [firstAnswerMs, proportionalMb, residentMb] = [
    least("firstAnswerMs"),
    least("proportionalMb"),
    least("residentMb"),
  ];
  if (options.json) console.log(JSON.stringify({ application: "new", firstAnswerMs, proportionalMb, residentMb }));
  else {
    console.log(`first answer after npm run dev   least ${firstAnswerMs.toFixed(0)} ms`);
    console.log(
      `idle, all processes              ${proportionalMb.toFixed(0)} MB (resident ${residentMb.toFixed(0)} MB)`,
    );
  }
}
