/** The index of the runbooks: the alarms of a deployment, and the events that the log has at level `error`, as the code has them. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_PRIMARY_SETTINGS } from "../../packages/deploy/src/primary/primary-deployment.ts";
import { template } from "../../packages/deploy/src/primary/template.ts";
import { readPage } from "./pages.ts";

export const RUNBOOKS = "runbooks";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SERVER = "packages/lvi-server/src";

/** Events whose page has another name than theirs. */
const PAGES: Readonly<Record<string, string>> = {
  invariant_broken: "halted",
  not_stopped: "not-started",
  uncaught_exception: "uncaught",
  unhandled_rejection: "uncaught",
  task_dead: "dead-tasks",
  workflow_stuck_alarm: "stuck-workflows",
  workflow_undo_failed: "failed-undos",
};

/** Their names, as an operator sees them behind that of the stack. */
export function alarmNames(): readonly string[] {
  const settings = { ...DEFAULT_PRIMARY_SETTINGS, application: "app", environment: "env" };
  return Object.values(template({ settings, artefact: "0".repeat(64), last: "b" }).Resources).flatMap(
    ({ Type, Properties = {} }) =>
      Type === "AWS::CloudWatch::Alarm" ? [String(Properties["AlarmName"]).replace("radical-app-env-", "")] : [],
  );
}

/** Events at level `error`: those that the server logs, and those of the scripts of a machine. */
export function errorEvents(): readonly string[] {
  const text = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");
  const sources = globSync(`${SERVER}/**/*.ts`, { cwd: ROOT, exclude: ["**/*.test.ts"] }).map(text);
  const logged = sources.flatMap((source) => matches(source, /\.error\("(\w+)"/g));
  const [, alarms = ""] =
    /const ALARMS: ReadonlySet<NoteName> = new Set\(\[([^\]]*)\]/.exec(text(`${SERVER}/engine.ts`)) ?? [];
  const [, last = ""] = /LAST_EVENTS = \[([^\]]*)\]/.exec(text(`${SERVER}/log.ts`)) ?? [];
  const scripts = matches(text("packages/deploy/src/primary/node-files.ts"), /\bline error (\w+)/g);
  const quoted = /"(\w+)"/g;
  return [...new Set([...logged, ...matches(alarms, quoted), ...matches(last, quoted), ...scripts])].toSorted();
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, found]) => found!);
}

/** The name of the event's page. */
export function pageOf(event: string): string {
  return PAGES[event] ?? event.replace(/_alarm$/, "").replaceAll("_", "-");
}

export function runbooksPart(argument: string): string {
  if (argument === "alarms") {
    const rows = alarmNames().map((name) => `| [\`${name}\`](${name}.md) | ${firstWords(name)} |`);
    return ["| alarm | |", "| --- | --- |", ...rows].join("\n");
  }
  const rows = errorEvents().map((event) => `| \`${event}\` | [${pageOf(event)}](${pageOf(event)}.md) |`);
  return ["| event | page |", "| --- | --- |", ...rows].join("\n");
}

/** The paragraph below the title of the page. */
function firstWords(name: string): string {
  const [, words] = readPage(`${RUNBOOKS}/${name}.md`).split("\n\n");
  return words!.replaceAll("\n", " ");
}
