/**
 * Another key for locations or for administration, while everything runs and no request fails:
 *
 *   fresh key beside the old one → every machine has read it → Worker with the fresh key → the old key is dropped
 *
 * Commands find the administration key where it is kept, and the relay asks the machines. So nothing is to be deployed for that kind.
 * Each step can be broken off after which the command is run again: how many keys the primary has tells where it was.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "@radical/app/command-error";
import { type DeployOptions, awsOf, deploy } from "./deploy.ts";
import { ownOrigins } from "./own-primary.ts";
import type { KeyKind, PrimaryState } from "./primary/primary-deployment.ts";
import { type PlannedStep, type Step, planSteps } from "./steps.ts";

interface RotationOptions extends Omit<
  DeployOptions,
  "only" | "strandPending" | "acceptMisfits" | "confirm" | "onEvent"
> {
  readonly kind: KeyKind;
}

export type Rotation =
  /** The primary is the developer's own, and so are its keys. */
  | { readonly kind: "by-hand"; readonly steps: readonly string[] }
  | { readonly kind: "steps"; readonly planned: readonly PlannedStep[]; readonly close: () => void };

/** A machine's clock, and this one's. */
const CLOCK_TOLERANCE_MS = 1_000;
/** A version that does not serve any more may run on for that long: Cloudflare's network learns of another one within a minute. */
const OLD_VERSION_MS = 120_000;
/** A command that has begun signs with the old key. */
const OLD_COMMAND_MS = 120_000;

/** Throws a CommandError if the keys can't be rotated. */
export async function planRotation(options: RotationOptions): Promise<Rotation> {
  const urls = options.primary ?? options.project.config.deploy.primary;
  if (urls !== null) return { kind: "by-hand", steps: stepsByHand(options.kind, ownOrigins(urls)) };
  const { deployment } = await awsOf(options);
  const close = (): void => deployment.close();
  try {
    const state = await deployment.state();
    if (state === null) {
      throw new CommandError(
        "no_primary",
        "This environment has no primary at AWS.",
        "Run `radical deploy`, or name another --env.",
      );
    }
    const steps =
      options.kind === "administration"
        ? administrationSteps(options, deployment, state)
        : rotationSteps(options, deployment, state);
    // Otherwise a rotation is under way.
    if (options.kind === "location" && state.keys.length === 1) await checkAsDeployed(options);
    return { kind: "steps", planned: await planSteps(steps), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** The Worker is uploaded once more, with the fresh key: nothing else of it may change by the way. */
async function checkAsDeployed(options: RotationOptions): Promise<void> {
  const outcome = await deployEdge(options, false);
  if (outcome.kind === "failed") throw outcome.error;
  if (outcome.kind !== "declined") return;
  const changes = outcome.planned.flatMap((one) => one.changes.map(({ what }) => what));
  throw new CommandError(
    "not_as_deployed",
    `The sources of this folder are not deployed (${changes.join(", ")}), and the fresh key would bring them along.`,
    "Run `radical deploy` first, or check out the sources of that deployment: `radical deployments`.",
  );
}

function deployEdge(options: RotationOptions, isConfirmed: boolean): ReturnType<typeof deploy> {
  return deploy({
    ...options,
    only: "edge",
    strandPending: false,
    acceptMisfits: false,
    onEvent: () => undefined,
    confirm: () => Promise.resolve(isConfirmed),
  });
}

type Deployment = Awaited<ReturnType<typeof awsOf>>["deployment"];

function waitOf({ wait, signal }: RotationOptions): (ms: number) => Promise<void> {
  return wait ?? ((ms: number) => sleep(ms, undefined, signal === undefined ? {} : { signal }));
}

/** The first steps of both kinds. `signers`: who signs with it. */
function freshKeySteps(
  options: RotationOptions,
  deployment: Deployment,
  before: PrimaryState,
  signers: "locations" | "commands",
): readonly Step[] {
  const { kind, target, now = Date.now } = options;
  const keysOf = ({ keys, administration }: PrimaryState): readonly { readonly id: string }[] =>
    kind === "location" ? keys : administration;
  const ifFailed = `${signers === "locations" ? "Locations" : "Commands"} sign with the old key, which is taken.`;
  let state = before;
  return [
    {
      name: "fresh-key",
      title: "A fresh key beside the old one",
      half: "primary",
      ifFailed,
      plan: () =>
        Promise.resolve(
          keysOf(before).length > 1
            ? []
            : [{ kind: "make", what: `key of ${target.name}`, detail: `beside the one that ${signers} sign with` }],
        ),
      apply: async () => {
        state = await deployment.addKey(kind);
        return keysOf(state)[0]?.id;
      },
    },
    {
      name: "read",
      title: "Both machines have read it",
      half: "primary",
      ifFailed,
      plan: () => Promise.resolve([]),
      apply: async () => {
        const leftMs = state.keysReadAtMs - now();
        if (leftMs > 0) await waitOf(options)(leftMs + CLOCK_TOLERANCE_MS);
        return undefined;
      },
    },
  ];
}

function administrationSteps(options: RotationOptions, deployment: Deployment, before: PrimaryState): readonly Step[] {
  return [
    ...freshKeySteps(options, deployment, before, "commands"),
    {
      name: "old-key",
      title: "The old key is dropped",
      half: "primary",
      ifFailed: "Commands sign with the fresh key; the old one is taken, too.",
      plan: () =>
        Promise.resolve([
          {
            kind: "remove",
            what: "the old key",
            detail: `${OLD_COMMAND_MS / 60_000} minutes later, so that commands which have begun can end`,
          },
        ]),
      apply: async () => {
        await waitOf(options)(OLD_COMMAND_MS);
        await deployment.dropOldKeys("administration");
        return undefined;
      },
    },
  ];
}

function rotationSteps(options: RotationOptions, deployment: Deployment, before: PrimaryState): readonly Step[] {
  const { target } = options;
  return [
    ...freshKeySteps(options, deployment, before, "locations"),
    {
      name: "worker",
      title: "Locations sign with it",
      half: "edge",
      ifFailed: "Both keys are taken, so what serves goes on serving.",
      plan: () =>
        Promise.resolve([
          { kind: "change", what: `Worker ${target.name}`, detail: "locations sign with the fresh key" },
        ]),
      apply: async () => {
        const outcome = await deployEdge(options, true);
        if (outcome.kind === "failed") throw outcome.error;
        if (outcome.kind !== "done")
          throw new CommandError("stopped", "The command was told to stop.", "Run the same command again.");
        return outcome.edge?.version;
      },
    },
    {
      name: "old-key",
      title: "The old key is dropped",
      half: "primary",
      ifFailed: "Locations sign with the fresh key; the old one is taken, too.",
      plan: () =>
        Promise.resolve([
          {
            kind: "remove",
            what: "the old key",
            detail: `${OLD_VERSION_MS / 60_000} minutes after that version serves`,
          },
        ]),
      apply: async () => {
        await waitOf(options)(OLD_VERSION_MS);
        await deployment.dropOldKeys("location");
        return undefined;
      },
    },
  ];
}

function stepsByHand(kind: KeyKind, origins: readonly string[]): readonly string[] {
  const servers = origins.join(" and ");
  const [make, use] =
    kind === "location"
      ? [
          'make a key: echo "2027a:$(openssl rand -hex 32)"',
          'let locations sign with it: RADICAL_KEYS="<the fresh key>" radical deploy',
        ]
      : [
          "make a key: radical secrets new-keys --kind administration",
          "give its private half to everybody who runs commands, as RADICAL_ADMIN_KEYS",
        ];
  const added = kind === "location" ? "it" : "its public half";
  return [
    make,
    `add ${added} to the file of --keys-file of ${servers}, beside the old one; the log says keys_loaded`,
    use,
    'when radical_signed_requests_total{key="<the old one>"} at /metrics grows no more, take the old key out of the file',
  ];
}
