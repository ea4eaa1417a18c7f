/** `radical secrets`: the secrets of the application's Worker, and the keys that locations and commands sign with. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Options, type Program, subcommand, type Values } from "@radical/command-line";
import { newAdministrationKey, privateKeyText, publicKeyText } from "@radical/admin";
import { CommandError, EXIT_FAILED, EXIT_USAGE, messageOf } from "@radical/app/command-error";
import { loadProject } from "@radical/app";
import type { OpenEdge, Rotation } from "@radical/deploy";
import { ask } from "../terminal/ask.ts";
import { showPlan, showStep, showUnfinished } from "../terminal/step-lines.ts";
import { type Terminal, createTerminal, print } from "../terminal/terminal.ts";
import { type CommonOptions, PROJECT, commandLine, interruptible, reported, unfinishedJson } from "./command.ts";
import { confirmChanges } from "../terminal/confirm-changes.ts";
import { ENVIRONMENT } from "./deploy.ts";

const COMMON = {
  project: PROJECT,
  env: ENVIRONMENT,
  json: { kind: "flag", words: "print the result as JSON" },
} as const satisfies Options;

const ROTATE = {
  ...COMMON,
  kind: {
    kind: "choice",
    of: ["location", "administration"],
    default: "location",
    placeholder: "kind",
    words: "key to replace: that of locations, or that of commands",
  },
  plan: { kind: "flag", words: "show what would change, and change nothing" },
  yes: { kind: "flag", short: "y", words: "do not ask for confirmation" },
  primary: { kind: "text", placeholder: "url", words: "LVI server of your own: shows what to do there" },
  region: {
    kind: "text",
    placeholder: "name",
    words: "AWS region of the primary (default: AWS_REGION, or the region of the profile)",
  },
  url: {
    kind: "text",
    placeholder: "origin",
    words: "origin of the deployment, if neither a route nor a workers.dev name gives it",
  },
} as const satisfies Options;

type SecretsOptions = Values<typeof COMMON>;

type RotateOptions = Values<typeof ROTATE>;

export const secretsCommand: Program = {
  name: "secrets",
  words: "list, set and delete secrets of the Worker; rotate the primary's keys",
  commands: [
    subcommand(
      {
        name: "list",
        words: "print the names of the Worker's secrets",
        options: {
          ...COMMON,
        },
        examples: [["radical secrets list --env staging"]],
      },
      (options) => reported(options, () => list(options)),
    ),
    subcommand(
      {
        name: "set",
        words: "give the Worker a secret; the command asks for its value, or reads it from standard input",
        options: {
          name: { kind: "operand", words: "name of the secret" },
          ...COMMON,
        },
        examples: [["openssl rand -hex 32 | radical secrets set SESSION_SECRET"]],
      },
      (options) =>
        reported(options, async () => {
          const { setSecret } = await import("@radical/deploy");
          await setSecret(await edgeOf(options), options.name, () => readValue(options.name));
          tell(options, "set", options.name);
        }),
    ),
    subcommand(
      {
        name: "delete",
        words: "take a secret from the Worker",
        options: {
          name: { kind: "operand", words: "name of the secret" },
          ...COMMON,
        },
        examples: [["radical secrets delete SESSION_SECRET"]],
      },
      (options) =>
        reported(options, async () => {
          const { deleteSecret } = await import("@radical/deploy");
          await deleteSecret(await edgeOf(options), options.name);
          tell(options, "deleted", options.name);
        }),
    ),
    subcommand(
      {
        name: "rotate-keys",
        words: "replace the key that locations sign with, or that of commands, while everything runs",
        options: ROTATE,
        notes: `At AWS it puts a new key beside the old one, and gives both machines 90 seconds to read it. Then a version of the Worker signs
with the new key, and two minutes later the old key goes. No request fails. If it was interrupted, run it again: it goes on
where it was.

With --kind administration the key changes that commands sign with. Nothing is deployed for that. The old key goes after two
minutes.`,
        examples: [
          ["radical secrets rotate-keys"],
          ["radical secrets rotate-keys --env staging --yes"],
          ["radical secrets rotate-keys --kind administration", "somebody leaves who could deploy"],
        ],
      },
      (options) => interruptible(options, (signal) => rotate(options, signal)),
    ),
    subcommand(
      {
        name: "new-keys",
        words: "make keys for a primary of your own, and print them",
        options: {
          kind: {
            kind: "choice",
            of: ["location", "administration"],
            default: null,
            placeholder: "kind",
            words: "kind of key (default: one key of each kind)",
          },
          json: COMMON.json,
          out: {
            kind: "text",
            placeholder: "file",
            words: "write them as JSON into a new file that only you can read, and show none",
          },
        },
        notes: `Locations and commands have different keys. A key of a location is a secret that the Worker and the server share. The server
has only the public half of a key of administration. It can check signatures with it, and can't sign.

Without --out the command stores nothing. The keys are shown once: put them where you keep secrets.`,
        examples: [
          ["radical secrets new-keys"],
          ["radical secrets new-keys --kind administration", "for one more person, or to replace a key"],
          ["radical secrets new-keys --out my-keys.json", "its fields: server, RADICAL_KEYS, RADICAL_ADMIN_KEYS"],
        ],
      },
      (options) => reported(options, () => makeKeys(options)),
    ),
  ],
  notes: `Secrets of your own Worker (docs/worker.md) are variables of its environment. Cloudflare keeps them, through deployments too, and
nobody can read them back. The command asks for a value, or reads it from standard input, and never shows it. A new value serves
at once.`,
  examples: [
    ["radical secrets list"],
    ["radical secrets set SESSION_SECRET", "asks for the value"],
    ["openssl rand -hex 32 | radical secrets set SESSION_SECRET --env staging"],
    ["radical secrets delete SESSION_SECRET"],
    ["radical secrets rotate-keys", "another key between the locations and the primary"],
    ["radical secrets new-keys", "for a primary of your own"],
  ],
};

async function edgeOf({ project: folder, env }: SecretsOptions): Promise<OpenEdge> {
  const { openEdge, targetOfProject } = await import("@radical/deploy");
  const project = await loadProject(folder);
  return openEdge(project, targetOfProject(project, env));
}

async function list(options: SecretsOptions): Promise<void> {
  const { listSecrets } = await import("@radical/deploy");
  const edge = await edgeOf(options);
  const secrets = await listSecrets(edge);
  if (options.json) return print(JSON.stringify({ worker: edge.worker, secrets }));
  if (secrets.length === 0) createTerminal().note(`${edge.worker} has no secrets of its own`);
  for (const name of secrets) print(name);
}

function tell({ json }: CommonOptions, outcome: "set" | "deleted", secret: string): void {
  if (json) print(JSON.stringify({ outcome, secret }));
  else createTerminal().note(`${secret} is ${outcome}`);
}

/** Typed without being shown, or all of standard input. */
function readValue(name: string): Promise<string> {
  return process.stdin.isTTY ? ask(`Value of ${name} (not shown): `, { isHidden: true }) : text(process.stdin);
}

interface NewKeysOptions {
  readonly json: boolean;
  readonly kind: "location" | "administration" | null;
  /** A file that is not there yet; null: the keys are printed. */
  readonly out: string | null;
}

async function makeKeys({ kind, json, out }: NewKeysOptions): Promise<void> {
  const location =
    kind === "administration" ? null : `k${randomBytes(4).toString("hex")}:${randomBytes(32).toString("hex")}`;
  const administration = kind === "location" ? null : newAdministrationKey(`a${randomBytes(4).toString("hex")}`);
  const server = [location, administration === null ? null : publicKeyText(administration)].filter(
    (one) => one !== null,
  );
  const given = {
    RADICAL_KEYS: location,
    RADICAL_ADMIN_KEYS: administration === null ? null : privateKeyText(administration),
  };
  const made = JSON.stringify({ server: server.join(","), ...given });
  if (out !== null) {
    await writeSecretFile(out, made);
    if (json) return print(JSON.stringify({ out }));
    return createTerminal().note(`The keys are in ${out}. Nobody else can read it.`);
  }
  if (json) return print(made);
  print("# For the LVI server, in the file of --keys-file or as RADICAL_KEYS:");
  for (const key of server) print(key);
  print("# For who deploys:");
  for (const [name, value] of Object.entries(given)) if (value !== null) print(`${name}=${value}`);
}

/** Makes a new file that its owner alone can read, and replaces none. Throws a CommandError. */
async function writeSecretFile(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, `${content}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    const message = isThere ? `${file} is there already.` : `${file} can't be written: ${messageOf(error)}.`;
    const hint = isThere ? "Name another file, or remove it if nobody uses its keys." : "Name another file with --out.";
    throw new CommandError("file_not_written", message, hint, { exitCode: EXIT_USAGE });
  }
}

async function rotate(options: RotateOptions, signal: AbortSignal): Promise<void> {
  const { planRotation, targetOfProject, unlessStopped } = await import("@radical/deploy");
  const terminal = createTerminal({ quiet: options.json });
  const project = await loadProject(options.project);
  const { kind, primary, region, url } = options;
  const target = targetOfProject(project, options.env);
  const planning = planRotation({ kind, project, target, primary, region, url, colours: terminal.colours, signal });
  const rotation = await unlessStopped(planning, signal);
  if (rotation.kind === "by-hand") {
    if (options.json) return print(JSON.stringify({ outcome: "by-hand", steps: rotation.steps }));
    terminal.note("The primary is your own, and so are its keys (docs/how-to/rotate-keys.md):");
    for (const [index, step] of rotation.steps.entries()) print(`${index + 1}. ${step}`);
    return;
  }
  try {
    await carryOut(rotation, options, terminal, signal);
  } finally {
    rotation.close();
  }
}

async function carryOut(
  { planned }: Extract<Rotation, { readonly kind: "steps" }>,
  options: RotateOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const { applySteps, unlessStopped } = await import("@radical/deploy");
  const plan = planned.map(({ step, changes }) => ({ name: step.name, half: step.half, changes }));
  const report = (outcome: string, more: object = {}): void => {
    if (options.json) print(JSON.stringify({ outcome, plan, ...more }));
  };
  showPlan(planned, terminal);
  if (!(await unlessStopped(confirmChanges(planned, options, terminal), signal))) {
    terminal.note("Nothing was changed.");
    if (!options.plan) process.exitCode = EXIT_FAILED;
    return report(options.plan ? "planned" : "declined");
  }
  const outcome = await applySteps(planned, { onEvent: (event) => showStep(event, terminal), signal });
  if (outcome.kind === "done") return report("rotated", { steps: outcome.reports });
  process.exitCode = EXIT_FAILED;
  showUnfinished(outcome, commandLine(), terminal);
  report(outcome.kind, unfinishedJson(outcome));
}
