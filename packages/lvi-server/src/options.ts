/**
 * The command line of the process. One table makes the options, their twins in the environment, the help and the echo of
 * the configuration. Secrets have no option, since every user of a machine can read a command line.
 */
import { isIP } from "node:net";
import {
  type Command,
  flagOf,
  type GivenOptions,
  type Options as CommandOptions,
  readCommandLine,
  type Values,
  variableOf as variableOfOption,
  WrongValue,
} from "@radical/command-line";
import { DEFAULT_READ_LEASE_MS, MAX_AHEAD_MS, MAX_READ_LEASE_MS, otlpTracesUrl } from "@radical/protocol";
import { keyIdsOf, type Keys, KeysError, parseKeys } from "./http/keys.ts";
import { LOG_LEVELS } from "./log.ts";
import { parseStorageAddress, type StorageAddress } from "./storage/storage-address.ts";
import { machineOf } from "./tunnel-watch.ts";

export const KEYS_VARIABLE = "RADICAL_KEYS";

const ENVIRONMENT = "RADICAL";

const MAX_URL_LENGTH = 1_024;

export const SETTINGS = {
  port: { kind: "number", default: 8_788, least: 0, most: 65_535, words: "port to listen on; 0 takes a free one" },
  host: { kind: "text", placeholder: "address", default: "127.0.0.1", words: "address to listen on", parse: hostOf },
  storage: {
    kind: "text",
    placeholder: "address",
    default: "sqlite:radical.sqlite",
    words:
      "items and intents: sqlite:<file>, or dynamodb:<table prefix>?region=…&endpoint=… (tables are made if they are missing)",
    parse: storageOf,
    shown: withoutPassword,
  },
  keysFile: {
    kind: "text",
    placeholder: "file",
    words: `keys that locations and commands sign with, a line "<id>:<hex>" or "<id>:ed25519:<hex>" each; read again on SIGHUP and when it changes. Instead of ${KEYS_VARIABLE}`,
  },
  keysParameter: {
    kind: "text",
    placeholder: "name",
    words: `name of a parameter of AWS Systems Manager with these keys; read again every half minute. Instead of ${KEYS_VARIABLE}`,
  },
  sealingKeys: {
    kind: "text",
    placeholder: "folder",
    words:
      "keys that calls are sealed with in the storage, a file each (default: <file>.keys beside SQLite, and the table <table prefix>-keys)",
  },
  giveUpUnreadable: {
    kind: "switch",
    words: "start even if the keys of promised calls are lost, and give up the writes of these calls",
  },
  workers: {
    kind: "number",
    least: 1,
    most: 1_024,
    words: "threads that run handlers (default: cores - 1, at least 2; fewer where memory is short)",
  },
  followupTimeoutMs: {
    kind: "number",
    unit: "ms",
    default: 5_000,
    least: 1,
    most: 3_600_000,
    words: "time after which a handler is re-executed in place of its followup",
  },
  executionLimitMs: {
    kind: "number",
    unit: "ms",
    default: 10_000,
    least: 1,
    most: 3_600_000,
    words: "longest run of a handler",
  },
  crowdedLimitMs: {
    kind: "number",
    unit: "ms",
    default: 500,
    least: 1,
    most: 3_600_000,
    words: "longest run of a handler while others wait for a worker",
  },
  leaseMs: {
    kind: "number",
    unit: "ms",
    default: 5_000,
    least: 100,
    most: 600_000,
    words: "time after which another server on the same storage takes over from one that does not answer",
  },
  readLeaseMs: {
    kind: "number",
    unit: "ms",
    default: DEFAULT_READ_LEASE_MS,
    least: 0,
    most: MAX_READ_LEASE_MS,
    words:
      "time for which a location may answer reads by a lease without asking again; a write waits for this time when a location is cut off. 0: no leases",
  },
  advertise: {
    kind: "text",
    placeholder: "url",
    words: "URL at which locations reach this server; servers that wait for leadership name it in their answers",
    parse: reachableUrl,
  },
  deployment: {
    kind: "text",
    placeholder: "name",
    words:
      "name of this deployment, <application>-<environment>; the server refuses commands that ask another deployment (default: it answers all)",
    parse: deploymentOf,
  },
  tunnel: {
    kind: "text",
    placeholder: "url",
    words:
      "answers 200 while the tunnel to this server is connected, as cloudflared's /ready does; a line of log a minute says so, by the name that begins the host of --advertise (default: none)",
    parse: reachableUrl,
  },
  workerUrl: {
    kind: "text",
    placeholder: "url",
    words: "origin of the application's Worker, where this server calls services (default: as radical deploy says)",
    parse: originOf,
  },
  retentionMs: {
    kind: "number",
    unit: "ms",
    default: 86_400_000,
    least: 900_000,
    most: 31_536_000_000,
    words:
      "time for which the server remembers that a request was carried out, and keeps its outcome if the client chose the key",
  },
  outcomeRetentionMs: {
    kind: "number",
    unit: "ms",
    default: 900_000,
    least: 0,
    most: 31_536_000_000,
    words:
      "time for which other outcomes are kept; a location repeats a request for ten minutes at most, and is refused after this time",
  },
  recordingRetentionMs: {
    kind: "number",
    unit: "ms",
    default: 2_592_000_000,
    least: 1_000,
    most: 31_536_000_000,
    words: "time for which a sealed file of radical record can be read; its key is destroyed then",
  },
  moduleRetentionMs: {
    kind: "number",
    unit: "ms",
    default: 604_800_000,
    least: 3_600_000,
    most: 315_360_000_000,
    words: "time for which a module is kept that no location asks for, while they ask for others",
  },
  collectIntervalMs: {
    kind: "number",
    unit: "ms",
    default: 60_000,
    least: 100,
    most: 86_400_000,
    words: "time between two collections of records that were kept long enough",
  },
  drainMs: {
    kind: "number",
    unit: "ms",
    default: 5_000,
    least: 0,
    most: 3_600_000,
    words: "longest wait for running executions when stopping",
  },
  locationExecutions: {
    kind: "number",
    default: 10_000,
    least: 1,
    most: 10_000_000,
    words: "most executions of one location under way, pending intents included",
  },
  locationUnits: {
    kind: "number",
    default: 200_000,
    least: 1,
    most: 100_000_000,
    words: "most units that one location's executions hold or ask for",
  },
  locationBytes: {
    kind: "number",
    unit: "bytes",
    least: 1_000_000,
    most: 1_000_000_000_000,
    words:
      "most bytes that one location's requests under way keep in memory (default: by the memory, at most 268435456)",
  },
  locationWorkersPercent: {
    kind: "number",
    default: 75,
    least: 1,
    most: 100,
    words: "share of the workers' time that one location's handlers may take in the long run; 100: no limit",
  },
  auditPercent: {
    kind: "number",
    default: 1,
    least: 0,
    most: 100,
    words:
      "share of the followups that are compared with a run here before they are applied; those of tables with the tag @audited always are",
  },
  logLevel: {
    kind: "choice",
    of: LOG_LEVELS,
    default: "info",
    placeholder: "level",
    words: "least level that is logged",
  },
  finishUpgrade: {
    kind: "switch",
    words:
      "write the storage in the newest schema of this release as soon as it leads; no earlier release can serve it then",
  },
  memoryMb: {
    kind: "number",
    least: 16,
    most: 16_777_216,
    words:
      "memory in MiB that the process may take, and divides among its parts (default: the memory of its control group, or of the machine)",
  },
  shedDelayMs: {
    kind: "number",
    unit: "ms",
    default: 500,
    least: 0,
    most: 3_600_000,
    words:
      "delay of the event loop beyond which the server refuses new requests, until the delay has sunk. 0: it refuses none",
  },
  metricsNamespace: {
    kind: "text",
    placeholder: "name",
    words:
      "namespace in CloudWatch of the metrics that the log then has in a line a minute (default: it has no such line)",
    parse: namespaceOf,
  },
  metricsIntervalMs: {
    kind: "number",
    unit: "ms",
    default: 60_000,
    least: 100,
    most: 3_600_000,
    words: "time between two looks of the server at itself, at which it warns, and writes the line of metrics",
  },
  otlp: {
    kind: "text",
    placeholder: "url",
    words:
      "collector that gets the spans of executions by OTLP over HTTP, such as http://127.0.0.1:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT; without both there are no spans)",
    parse: collectorOf,
    shown: withoutQuery,
  },
  otlpRatio: {
    kind: "number",
    least: 0,
    most: 1,
    fraction: true,
    words:
      "part of the executions without a traceparent that has spans, from 0 to 1; others do as their traceparent says (default: OTEL_TRACES_SAMPLER_ARG, or 1)",
  },
  virtualTimeMs: {
    kind: "number",
    unit: "ms",
    least: 0,
    most: MAX_AHEAD_MS,
    words:
      "lead of the time of tasks over this machine's at the start; a signed request may then move it on. For tests only (default: time can't be moved)",
  },
  exitWithParent: { kind: "switch", words: "stop when standard input ends" },
} as const satisfies CommandOptions;

function hostOf(text: string): string {
  if (isIP(text) === 0 && text !== "localhost") throw new WrongValue("be an IP address or localhost");
  return text;
}

function deploymentOf(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(text))
    throw new WrongValue("be letters, digits, dots, dashes and _, at most 100");
  return text;
}

/** As CloudWatch takes it. */
function namespaceOf(text: string): string {
  if (!/^[\w./#:-]{1,255}$/.test(text) || text.startsWith("AWS/"))
    throw new WrongValue("be letters, digits and ./#:_-, at most 255, and not begin with AWS/");
  return text;
}

function storageOf(text: string): StorageAddress {
  const address = parseStorageAddress(text);
  if (typeof address === "string") throw new WrongValue("be the address of a storage", address);
  return address;
}

function reachableUrl(text: string): string {
  const url = text.length <= MAX_URL_LENGTH ? URL.parse(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === "") return text;
  throw new WrongValue("be an http or https URL without a password");
}

function originOf(text: string): string {
  const url = URL.parse(reachableUrl(text));
  if (url !== null && url.pathname === "/" && url.search + url.hash === "") return url.origin;
  throw new WrongValue("be an origin, such as https://shop.example.com, without a path");
}

/** Where it takes traces. */
function collectorOf(text: string): string {
  const url = text.length <= MAX_URL_LENGTH ? otlpTracesUrl(text) : null;
  if (url === null) throw new WrongValue("be an http or https URL without a password, such as http://127.0.0.1:4318");
  return url;
}

/** A query may hold a secret. */
export function withoutQuery(text: string): string {
  return text.replace(/\?.*$/s, "?…");
}

/** A URL may hold a password. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/[^/@]*@/g, "//…@");
}

export type SettingName = keyof typeof SETTINGS;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The variable that says the same as the option: RADICAL_LEASE_MS. */
export function variableOf(name: SettingName): string {
  return variableOfOption(ENVIRONMENT, name);
}

/** The command; the version is that of the package. */
function serverCommand(version: string): Command<typeof SETTINGS> {
  return {
    name: "radical-lvi-server",
    words:
      "the primary of a Radical application: validates, locks and stores write intents, and runs handlers near storage",
    version,
    environment: ENVIRONMENT,
    options: SETTINGS,
    notes: `Environment:
  ${KEYS_VARIABLE}   keys that locations sign with, "<id>:<hex>,…", and public halves of those of administration,
                 "<id>:ed25519:<hex>"; required, or else
                 --keys-file or --keys-parameter
  OTEL_*         OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER,
                 OTEL_TRACES_SAMPLER_ARG: the collector of spans, as all programs with OpenTelemetry read them
  AWS_*          credentials and region for DynamoDB, as the AWS SDK finds them; profiles and roles too`,
    exitCodes: ["stopped on request", "failed", "wrong options"],
    examples: [
      [`${KEYS_VARIABLE}="main:$(openssl rand -hex 32)" radical-lvi-server --storage sqlite:app.sqlite`],
      ["radical-lvi-server --port 0 --storage sqlite:app.sqlite --log-level debug"],
      ["radical-lvi-server --storage 'dynamodb:my-app?region=eu-central-1'"],
      ["curl http://127.0.0.1:8788/readyz"],
      ["curl http://127.0.0.1:8788/metrics"],
      [`sqlite3 app.sqlite 'select "table", key, commit_id from items'`],
    ],
  };
}

export type Options = Values<typeof SETTINGS> & { readonly keys: Keys };

/** Where the keys come from. */
export interface KeySources {
  /** The variable of the environment. */
  readonly variable: string | undefined;
  /** The text of a file; throws if there is none. */
  readonly read: (file: string) => string;
}

export type ServerLine =
  | { readonly kind: "options"; readonly options: Options; readonly given: GivenOptions }
  /** Help or version, to be printed. */
  | { readonly kind: "answer"; readonly text: string }
  /** The arguments are not those of the command. */
  | { readonly kind: "misuse"; readonly message: string; readonly hint: string }
  /** A sentence about each wrong value, by the option. */
  | { readonly kind: "wrong"; readonly wrong: ReadonlyMap<string, string>; readonly given: GivenOptions };

/** Reads the arguments, the environment of this process, and the keys; tells all that is wrong at once. */
export function readServerLine(version: string, args: readonly string[], keySources: KeySources): ServerLine {
  const line = readCommandLine(serverCommand(version), args);
  if (line.kind === "answer" || line.kind === "misuse") return line;
  const { given } = line;
  const wrong = new Map(line.kind === "wrong" ? line.wrong : []);
  const keys = readKeys(given, keySources, wrong);
  if (line.kind === "values") checkTunnel(line.values, given, wrong);
  if (line.kind === "wrong" || keys === null || wrong.size > 0) return { kind: "wrong", wrong, given };
  return { kind: "options", options: { ...line.values, keys }, given };
}

/** The line of log about a tunnel has the name of its machine, and the server asks itself by a URL. */
function checkTunnel(
  { tunnel, advertise, host }: Values<typeof SETTINGS>,
  given: GivenOptions,
  wrong: Map<string, string>,
): void {
  if (tunnel === null) return;
  const called = given["tunnel"]?.source === "environment" ? variableOf("tunnel") : flagOf("tunnel");
  if (machineOf(advertise) === null)
    wrong.set(
      "tunnel",
      `${called} needs --advertise with a host that begins with the machine's name, such as http://a.primary.internal:8788: the line of log about the tunnel has this name.`,
    );
  else if (host.includes("%"))
    wrong.set("tunnel", `${called} needs a --host without a zone, and that is "${host}": no URL can name a zone.`);
}

/** Null, and an entry in `wrong`, if they can't be used. Those of a parameter are read later: none. */
function readKeys(given: GivenOptions, { variable, read }: KeySources, wrong: Map<string, string>): Keys | null {
  const file = given["keysFile"]?.text ?? null;
  const parameter = given["keysParameter"]?.text ?? null;
  const sources = [
    ...(file === null ? [] : [{ name: "keysFile", words: "--keys-file" }]),
    ...(parameter === null ? [] : [{ name: "keysParameter", words: "--keys-parameter" }]),
    ...((variable ?? "") === "" ? [] : [{ name: "keys", words: KEYS_VARIABLE }]),
  ];
  const [first, second] = sources;
  if (first !== undefined && second !== undefined) {
    wrong.set(first.name, `${first.words} and ${second.words} both give keys. Give one of them.`);
    return null;
  }
  if (parameter !== null) return { locations: new Map(), administration: new Map() };
  try {
    return parseKeys(file === null ? (variable ?? "") : read(file));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reason = error instanceof KeysError ? error.message : `can't be read: ${error.message}`;
    if (file === null) wrong.set("keys", `${KEYS_VARIABLE}: ${reason}`);
    else wrong.set("keysFile", `The file of keys "${file}": ${reason}`);
    return null;
  }
}

interface Row {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly from: string;
}

/** The configuration as a table, wrong values marked; secrets are left out, of keys only their ids are shown. */
export function describeConfiguration(
  given: GivenOptions,
  keysVariable: string | undefined,
  wrong: ReadonlyMap<string, string>,
): string {
  const rows = SETTING_NAMES.map((name): Row => {
    const { text = null, source = "default" } = given[name] ?? {};
    return { name, label: flagOf(name), value: text ?? "", from: source === "environment" ? variableOf(name) : source };
  });
  rows.push({
    name: "keys",
    label: KEYS_VARIABLE,
    value: keyIdsOf(keysVariable ?? "").join(", "),
    from: "environment",
  });
  const [labels, values] = [rows.map(({ label }) => label.length), rows.map(({ value }) => value.length)];
  return rows
    .map(({ name, label, value, from }) => {
      const mark = wrong.has(name) ? "  <-- wrong" : "";
      return `  ${label.padEnd(Math.max(...labels))}  ${value.padEnd(Math.max(...values))}  ${from}${mark}`;
    })
    .join("\n");
}

/** Of both kinds. */
export function keyIds({ locations, administration }: Keys): readonly string[] {
  return [...locations.keys(), ...administration.keys()];
}

/** The configuration for a line of log. */
export function configurationFields(given: GivenOptions, keys: Keys): Readonly<Record<string, string>> {
  const fields = Object.entries(given).flatMap(([name, { text }]) => (text === null ? [] : [[name, text] as const]));
  return { ...Object.fromEntries(fields), keys: keyIds(keys).join(", ") };
}
