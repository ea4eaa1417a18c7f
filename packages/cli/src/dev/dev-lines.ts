/** The events of `radical dev` as lines for people. */
import { percentWords } from "@radical/dashboard/model";
import { type DashboardTime, terminalText } from "@radical/protocol";
import { fallbackWords, leftOutLines, describeDistance, DEV_VARS_FILE, counted } from "@radical/app";
import { SCHEDULED_PATH } from "@radical/app/workers";
import type { DevEvent, HandlerLine, RequestLine } from "./dev-events.ts";
import { FAULTS_PATH } from "./control-server.ts";
import { spanText } from "@radical/app";
import type { DevFaults, ServiceFaults } from "./service-faults.ts";
import { type Style, type Terminal, indentedText } from "../terminal/terminal.ts";

/** Null: nothing worth a line. */
export function devLine(event: DevEvent, terminal: Terminal): string | null {
  const { style } = terminal;
  switch (event.event) {
    case "request":
      return requestLine(event, terminal);
    case "answered":
      return answeredLine(event, terminal);
    case "handler_log":
      return handlerLogLine(event, terminal);
    case "building":
      return event.changed.length === 0 ? null : style("dim", `changed: ${terminalText(event.changed.join(", "))}`);
    case "analyzed": {
      const plans = Object.entries(event.plans);
      return `${above(event.frames)}${style("dim", `analyzed ${counted(plans.length, "handler")} in ${event.ms} ms${fallbackWords(plans)}`)}`;
    }
    case "built":
      return `${above(event.frames)}${style("green", "✓")} built ${counted(Object.keys(event.plans).length, "handler")} in ${event.ms} ms`;
    case "build_failed": {
      return `${event.frames.join("\n\n")}\n\n${style("red", "✗")} ${counted(event.errors, "error")}${event.serving ? "; the last good build goes on serving" : ""}`;
    }
    case "static_files_left_out":
      return leftOutLines(event.files)
        .map((line) => `${style("yellow", "!")} ${line}`)
        .join("\n");
    case "index_building":
      return style("dim", event.words);
    case "serving":
      return style("dim", `serving it ${event.ms} ms after the change was seen`);
    case "failed":
      return `${style("red", "✗")} ${indentedText(event.message)}\n  ${event.hint}`;
    case "server_started":
      return event.restarted ? `${style("green", "✓")} LVI server started again (process ${event.pid})` : null;
    case "server_died": {
      const how = event.signal ?? `code ${event.code}`;
      const words = event.stderr.trim() === "" ? "" : `\n${style("dim", indentedText(event.stderr.trim()))}`;
      return `${style("red", "✗")} LVI server ended with ${how}: starting it again${words}`;
    }
    case "server_log": {
      const { time: _, level, event: name, ...fields } = event.line;
      if (level !== "warn" && level !== "error") return null;
      // The first request of an isolate, which begins with every save: it is asked to send it again.
      if (name === "refused" && text(fields["detail"]).startsWith("in_doubt:")) return null;
      if (name === "set_left") return setLeftLine(fields, terminal);
      const details = Object.entries(fields).map(([field, value]) => ` ${field}=${text(value)}`);
      return `${style("yellow", "!")} LVI server: ${terminalText(`${text(name)}${details.join("")}`)}`;
    }
    case "reaped":
      return style("dim", `ended processes that an earlier run had left: ${event.pids.join(", ")}`);
    case "reset":
      return `${style("yellow", "!")} reset: ${event.deleted.length === 0 ? "there was nothing to delete" : `deleted ${event.deleted.join(", ")}`}`;
    case "seeded":
      return `${style("green", "✓")} ${counted(event.items, "item")} of ${event.file} written, since there was no data (--no-seed starts without)`;
    case "port_taken":
      return `${style("yellow", "!")} port ${event.wanted} is in use: taking ${event.port} (--port chooses another)`;
    case "waiting_for_build":
      return `${style("yellow", "!")} ${event.url} answers with these errors until the application builds`;
    case "faults":
      return faultsLine(event, terminal);
    case "time":
      return timeLine(event, terminal);
    case "caches_wiped":
      return `${style("green", "✓")} caches wiped: ${event.locations.join(", ")}`;
    case "config_changed":
      return `${style("yellow", "!")} ${event.file} has changed: start radical dev again to use it`;
    case "bindings":
      return bindingsLines(event, terminal).join("\n") || null;
    case "ready": {
      const locations = event.locations.map((location) => `${location.name} ${describeDistance(location)}`).join("; ");
      const first = event.locations[0]?.name ?? "";
      return [
        "",
        `  ${style("bold", "Radical")} serves ${counted(event.handlers.length, "handler")} at ${style("cyan", event.url)}`,
        `  locations (round trip to the primary): ${locations}`,
        `  POST ${event.url}/api/<handler>; header x-radical-location chooses a location (default ${first})`,
        ...(event.dashboard === null ? [] : [`  dashboard: ${style("cyan", event.dashboard)}`]),
        `  faults can be switched: POST ${event.url}${FAULTS_PATH}`,
        `  ${style("dim", "Ctrl-C stops everything")}`,
        "",
      ].join("\n");
    }
    case "worker_log":
      return indentedText(event.message);
    default:
      return `${style("yellow", "!")} ${terminalText(`${event.location}${event.handler === null ? "" : ` ${event.handler}`}: ${event.event}: ${event.message}`)}`;
  }
}

function timeLine({ aheadMs, movesToMs }: DashboardTime, { style }: Terminal): string {
  if (movesToMs !== null) return style("dim", `time is moved: ${spanText(aheadMs)} of ${spanText(movesToMs)}`);
  return `${style("yellow", "!")} the time of tasks and handlers is ${spanText(aheadMs)} ahead of this machine's (--reset begins anew, with new data)`;
}

/** One for each handler of a build; which unit it was is in the log. */
function setLeftLine({ handler, detail }: Readonly<Record<string, unknown>>, { style }: Terminal): string {
  const fault = text(detail).replace(/ \([^]*$/, "");
  return `${style("yellow", "!")} ${text(handler)}: ${fault}. Answers stay right; a location that sees it twice runs the handler in record mode, which is slower`;
}

function faultsLine(
  { primaryDown, partitioned, dropFollowups, distances, services }: DevFaults,
  { style }: Terminal,
): string {
  const faults = [
    ...(primaryDown ? ["the primary is down"] : []),
    ...(partitioned.length === 0 ? [] : [`${partitioned.join(", ")} cut off from the primary`]),
    ...(dropFollowups ? ["followups are dropped"] : []),
    ...Object.entries(distances).flatMap(([name, { roundTripMs, lossPercent }]) => [
      ...(roundTripMs === undefined ? [] : [`${name} is ${roundTripMs} ms from the primary`]),
      ...(lossPercent === undefined ? [] : [`${lossPercent} % of the data of ${name} is lost and sent again`]),
    ]),
    ...Object.entries(services).flatMap(([name, each]) => serviceWords(name, each)),
  ];
  return faults.length === 0
    ? `${style("green", "✓")} no faults`
    : `${style("yellow", "!")} faults: ${faults.join("; ")}`;
}

function serviceWords(name: string, { throw: thrown, lost, slowMs }: ServiceFaults): readonly string[] {
  return [
    ...(thrown === 0 ? [] : [`${percentWords(thrown)} of the calls of ${name} fail`]),
    ...(lost === 0 ? [] : [`${percentWords(lost)} of the answers of ${name} are lost`]),
    ...(slowMs === 0 ? [] : [`${name} answers ${slowMs} ms later`]),
  ];
}

/** The bindings of the wrangler configuration in one line, and a line for each thing that is missing. */
function bindingsLines(event: Extract<DevEvent, { readonly event: "bindings" }>, { style }: Terminal): string[] {
  const { file, present, missing, madeLocal, missingSecrets, crons, url } = event;
  const warn = (words: string): string => `${style("yellow", "!")} ${terminalText(words)}`;
  const names = present.map(({ name, field }) => `${name} (${field})`).join(", ");
  return [
    ...(present.length === 0 ? [] : [style("dim", terminalText(`${file}: ${names}`))]),
    ...missing.map(({ name, field, hint }) =>
      warn(
        `${file}: env.${name} (${field}) exists in a deployment, not in radical dev${hint === null ? "" : `: ${hint}`}`,
      ),
    ),
    ...madeLocal.map(({ name }) => warn(`${file}: env.${name} is remote there; radical dev has it on this machine`)),
    ...missingSecrets.map((name) => warn(`${file} requires the secret ${name}: add ${name}=… to ${DEV_VARS_FILE}`)),
    ...crons.map((cron) =>
      style("dim", terminalText(`cron ${cron}: fire it with  curl "${url}${SCHEDULED_PATH}?cron=${inQuery(cron)}"`)),
    ),
  ];
}

/** As people write it: a cron has blanks, slashes and commas. */
function inQuery(cron: string): string {
  return encodeURIComponent(cron).replaceAll("%20", "+").replaceAll("%2F", "/").replaceAll("%2C", ",");
}

function above(frames: readonly string[]): string {
  return frames.map((frame) => `${frame}\n\n`).join("");
}

const PHASES = ["rw", "cache", "lvi", "f", "total"] as const;

type Path = NonNullable<RequestLine["path"]>;

const PATH_WIDTH = 12;
const PATH_STYLES: Readonly<Record<Path, Style>> = {
  speculative: "green",
  leased: "green",
  "near-storage": "yellow",
};
/** Reasons that say nothing besides their path. */
const PLAIN_REASONS: readonly RequestLine["reason"][] = [null, "valid", "unchanged"];

/** Handler, location, path, then where the time went in milliseconds, and the status. Then why it took longer than it may, and whether an early result was wrong. */
function requestLine(line: RequestLine & { readonly centralMs?: number }, { style }: Terminal): string {
  const path =
    line.path === null ? "-".padEnd(PATH_WIDTH) : style(PATH_STYLES[line.path], line.path.padEnd(PATH_WIDTH));
  const times = PHASES.map((phase) => {
    const ms = line.ms[phase];
    return `${phase} ${(ms === undefined ? "-" : ms.toFixed(1)).padStart(6)}`;
  });
  const status =
    line.status < 400 ? String(line.status) : style("red", terminalText(`${line.status} ${line.code ?? ""}`));
  const notes = [
    ...(PLAIN_REASONS.includes(line.reason) ? [] : [terminalText(line.reason ?? "")]),
    ...(line.verdict === "corrected" || line.verdict === "failed" ? [`shown result ${line.verdict}`] : []),
  ];
  if (line.centralMs !== undefined) notes.push(centralWords(line.centralMs, line.ms["total"] ?? 0));
  const why = notes.length === 0 ? "" : `  ${style("dim", notes.join(", "))}`;
  return `${terminalText(line.handler ?? "-").padEnd(14)} ${terminalText(line.location).padEnd(8)} ${path}  ${times.join("  ")} ms  ${status}${why}`;
}

/** Less is nothing that anybody notices, and not exact. */
const SAME_MS = 5;

function centralWords(centralMs: number, totalMs: number): string {
  return Math.abs(centralMs - totalMs) < SAME_MS
    ? "central: about the same"
    : `central: about ${Math.round(centralMs)} ms`;
}

/** Where a request line has the phases before `total`. */
const NO_PHASES = " ".repeat(47);

/** Laid out like a call, with its path in the place of the handler. A static file is quiet. */
function answeredLine(event: Extract<DevEvent, { readonly event: "answered" }>, { style }: Terminal): string {
  const { method, path, location, by, status, ms } = event;
  const name = terminalText(`${method} ${path}`).padEnd(14);
  const line = `${name} ${terminalText(location).padEnd(8)} ${by.padEnd(PATH_WIDTH)}  ${NO_PHASES}total ${ms.toFixed(1).padStart(6)} ms  `;
  const isFault = status >= 400;
  if (by === "file" && !isFault) return style("dim", `${line}${status}`);
  return `${line}${isFault ? style("red", String(status)) : status}`;
}

const LEVEL_STYLES: Readonly<Record<HandlerLine["level"], Style>> = {
  debug: "dim",
  info: "cyan",
  warn: "yellow",
  error: "red",
};

/** Laid out like a request: the level stands in the place of the path. */
function handlerLogLine({ handler, location, level, message }: HandlerLine, { style }: Terminal): string {
  const words = style(LEVEL_STYLES[level], level.padEnd(PATH_WIDTH));
  return `${terminalText(handler).padEnd(14)} ${terminalText(location).padEnd(8)} ${words}  ${indentedText(message)}`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
