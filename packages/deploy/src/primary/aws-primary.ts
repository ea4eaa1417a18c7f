/**
 * A deployment's primary in an AWS account. Beside the stack, and made before it: the server, where the machines fetch it, the tables, and
 * the secrets, which CloudFormation can't make. The stack has everything else, so it is changed as a whole or
 * not at all.
 */
import type { ResourceChange, Stack } from "@aws-sdk/client-cloudformation";
import { type DynamoTables, openTables, parseKeys } from "@radical/lvi-server";
import { randomBytes } from "node:crypto";
import { CommandError } from "@radical/app/command-error";
import {
  type AdministrationKey,
  type DeploymentKey,
  newAdministrationKey,
  parseAdministrationKeys,
  privateKeyText,
  publicKeyText,
} from "@radical/admin";
import type { QuotaLook } from "../quotas.ts";
import { AwsAccount, type StoredParameter } from "./aws-account.ts";
import { stackError, tablesError } from "./aws-errors.ts";
import {
  advertisedBy,
  bindingOf,
  type PrimaryNames,
  primaryNames,
  PROTECTED_ENVIRONMENT,
  SERVER_HOST,
  SERVER_PORT,
} from "./names.ts";
import { NODES, type NodeName } from "@radical/protocol";
import {
  type KeyKind,
  KEYS_READ_WITHIN_MS,
  type NodeTunnel,
  type PlannedChange,
  type PrimaryAccess,
  type PrimaryDeployment,
  type PrimaryPlan,
  type PrimaryProgress,
  type PrimarySettings,
  type PrimaryState,
  type PrimaryStep,
  type Removal,
} from "./primary-deployment.ts";
import { buildServerLayer, type ServerLayer } from "../image/server-image.ts";
import { BucketStore } from "./bucket-store.ts";
import { CLOUDFLARED, type Tool } from "./cloudflared.ts";
import { IMAGE_SOURCES, type ImageSources, ImageStore } from "./image-store.ts";
import { buildServerArtefact, type ServerArtefact } from "./server-artefact.ts";
import type { ServerStore } from "./server-store.ts";
import { machineOf, type StackState, stackStateOf, wordsOf } from "./stack-words.ts";
import { template } from "./template.ts";
import type { Template, TunnelIds } from "./template-parts.ts";

const POLL_MS = 2_000;
/** CloudFormation's clock is not ours. */
const CLOCK_TOLERANCE_MS = 60_000;

export interface AwsPrimaryOptions {
  /** Between two looks at something that takes its time; for tests. */
  readonly pollMs?: number;
  /** The server that machines of EC2 run; by default that of this version of Radical. */
  readonly artefact?: () => Promise<ServerArtefact>;
  /** The cloudflared that their bucket gets. */
  readonly cloudflared?: Tool;
  /** The server that machines on Fargate run. */
  readonly layer?: () => Promise<ServerLayer>;
  /** The images that theirs are made of. */
  readonly images?: ImageSources;
}

/** What there is. */
interface Found {
  readonly access: PrimaryAccess;
  /** Changes for things that are missing where the machines fetch the server. */
  readonly store: readonly PlannedChange[];
  /** Removals of things that only machines of the other kind need. */
  readonly leftover: readonly PlannedChange[];
  readonly parameters: ReadonlyMap<string, StoredParameter>;
  readonly stack: Stack | undefined;
}

interface WantedStack {
  readonly template: Template;
  readonly isDeployed: boolean;
  /** Of the stack that is deployed, as its outputs say it; null: no stack says it. */
  readonly readLeases: string | null;
}

export class AwsPrimary implements PrimaryDeployment {
  readonly #settings: PrimarySettings;
  readonly #names: PrimaryNames;
  readonly #account: AwsAccount;
  readonly #store: ServerStore;
  /** That of the other host, which may have been chosen before. */
  readonly #otherStore: ServerStore;

  constructor(settings: PrimarySettings, options: AwsPrimaryOptions = {}) {
    const { pollMs = POLL_MS, artefact = buildServerArtefact, cloudflared = CLOUDFLARED } = options;
    const { layer = buildServerLayer, images = IMAGE_SOURCES } = options;
    this.#settings = settings;
    this.#names = primaryNames(settings);
    this.#account = new AwsAccount({ region: settings.region, pollMs });
    const bucket = new BucketStore(settings, this.#account, artefact, cloudflared);
    const repository = new ImageStore(settings, settings.region, layer, images);
    [this.#store, this.#otherStore] = settings.host === "ec2" ? [bucket, repository] : [repository, bucket];
  }

  checkAccess(): Promise<PrimaryAccess> {
    return this.#account.access();
  }

  async plan(): Promise<PrimaryPlan> {
    const artefact = await this.#store.server();
    const found = await this.#find(artefact);
    const { access, stack } = found;
    const { stacked, leader } = await this.#withTables(access, async (tables) => ({
      stacked: await this.#tableChanges(tables),
      leader: await this.#leader(tables),
    }));
    const wanted = await this.#wanted(found, artefact, leader);
    const changes = [
      ...found.store,
      ...stacked,
      ...this.#parameterChanges(found),
      ...(await this.#stackChanges(stack, wanted, leader)),
      ...found.leftover,
    ];
    return { access, artefact, changes, template: wanted.template, leader };
  }

  quotas({ access: { region }, changes }: PrimaryPlan): Promise<QuotaLook> {
    const { host, instanceType, vcpu } = this.#settings;
    const machines = NODES.map((node) => this.#names.tunnels[node]);
    return this.#account.quotas({ region, host, instanceType, vcpu, cluster: this.#names.stack, machines, changes });
  }

  async apply(
    plan: PrimaryPlan,
    tunnels: Readonly<Record<NodeName, NodeTunnel | null>>,
    progress: (event: PrimaryProgress) => void,
  ): Promise<PrimaryState> {
    const current = await this.plan();
    const { artefact } = current;
    if (
      JSON.stringify(current.changes) !== JSON.stringify(plan.changes) ||
      current.access.account !== plan.access.account
    )
      throw new CommandError(
        "plan_outdated",
        "The deployment has changed since the plan was made.",
        "Nothing was changed. Run the command again for a new plan.",
      );
    const { access, parameters, leftover } = await this.#find(artefact);
    for (const node of NODES) {
      if (tunnels[node] === null && !parameters.has(this.#names.parameters.tunnelTokens[node]))
        throw new CommandError(
          "tunnel_missing",
          `The machine ${node} has no tunnel: neither given, nor stored as ${this.#names.parameters.tunnelTokens[node]}.`,
          "Run `radical deploy` without --only primary, which makes the tunnel.",
        );
    }
    const step = async (name: PrimaryStep, words: string, run: () => Promise<boolean>): Promise<void> => {
      const startedAtMs = performance.now();
      progress({ kind: "step", step: name, words });
      const changed = await run();
      progress({ kind: "step-done", step: name, tookMs: performance.now() - startedAtMs, changed });
    };

    const note = (words: string): void => progress({ kind: "note", words });
    for (const { step: name, words, run } of await this.#store.steps(access)) await step(name, words, () => run(note));
    await step("tables", `tables ${this.#names.tablePrefix}-*`, () =>
      this.#withTables(access, async (tables) => {
        const changes = await this.#tableChanges(tables);
        if (changes.length > 0) await tables.provision();
        return changes.length > 0;
      }),
    );
    await step("parameters", "secrets", () => this.#storeSecrets(parameters, tunnels));
    await step("stack", `stack ${this.#names.stack}`, async () => {
      // Tunnels may have got their tokens just now.
      const { stack, parameters: stored } = await this.#find(artefact);
      const wanted = await this.#wanted({ stack, parameters: stored }, artefact, current.leader);
      return this.#changeStack(wanted.template, progress);
    });
    await this.#dropOthers(access, note);
    if (leftover.length > 0) await this.#otherStore.remove(access);
    const state = await this.state();
    if (state === null) throw new Error(`The stack ${this.#names.stack} is gone.`);
    return state;
  }

  async state(): Promise<PrimaryState | null> {
    const { keys: keysName, administration } = this.#names.parameters;
    const [stack, parameters] = await Promise.all([
      this.#account.stack(this.#names.stack),
      this.#account.parameters([keysName, administration]),
    ]);
    const keys = parameters.get(keysName);
    if (stackStateOf(stack?.StackStatus).kind === "none" || keys === undefined) return null;
    const artefact = outputOf(await this.#account.stackTemplate(this.#names.stack), "Artefact");
    if (artefact === null) return null;
    const { account, region } = await this.#account.access();
    return {
      access: { account, region },
      nodes: NODES.map((name) => ({
        name,
        binding: bindingOf(name),
        tunnelName: this.#names.tunnels[name],
        host: SERVER_HOST,
        port: SERVER_PORT,
      })),
      keys: keysOf(keys.value),
      administration: administrationOf(keys.value, parameters.get(administration)?.value),
      keysReadAtMs: keys.storedAtMs + KEYS_READ_WITHIN_MS,
      artefact,
      tablePrefix: this.#names.tablePrefix,
      logGroup: this.#names.logGroup,
      stack: this.#names.stack,
    };
  }

  async drift({ artefact }: PrimaryState): Promise<readonly PlannedChange[]> {
    const deployed = JSON.stringify(await this.#account.stackTemplate(this.#names.stack));
    const found = await this.#find(artefact, deployed);
    this.#checkChangeable(found.stack);
    const tables = await this.#withTables(found.access, (all) => this.#tableChanges(all));
    return [...found.store, ...tables, ...this.#parameterChanges(found)];
  }

  async storedTunnels(): Promise<Readonly<Record<NodeName, string | null>>> {
    return this.#tunnelsOf(await this.#account.parameters(Object.values(this.#names.parameters.tunnelTokens)));
  }

  async addKey(kind: KeyKind): Promise<PrimaryState> {
    const state = await this.#deployed();
    const { keys, administration } = state;
    if (kind === "location") return keys.length > 1 ? state : this.#storeKeys([freshKey(), ...keys], administration);
    if (administration.length > 1) return state;
    const all = [freshAdministrationKey(), ...administration];
    // A private half counts once the servers have its public one.
    await this.#storeAdministration(all);
    return this.#storeKeys(keys, all);
  }

  async dropOldKeys(kind: KeyKind): Promise<PrimaryState> {
    const state = await this.#deployed();
    const { keys, administration } = state;
    if (kind === "location") return keys.length > 1 ? this.#storeKeys(keys.slice(0, 1), administration) : state;
    if (administration.length <= 1) return state;
    const last = administration.slice(0, 1);
    const after = await this.#storeKeys(keys, last);
    await this.#storeAdministration(last);
    return after;
  }

  async planDestroy({ keepTables }: { readonly keepTables: boolean }): Promise<Removal> {
    const access = await this.#account.access();
    const [stack, stores, parameters, there, unused] = await Promise.all([
      this.#account.stack(this.#names.stack),
      Promise.all([this.#store.removals(access), this.#otherStore.removals(access)]),
      this.#account.parameters(this.#secretNames),
      this.#tablesThere(access, this.#names.tablePrefix),
      this.#unusedTables(access),
    ]);
    const remove = (what: string, detail: string): PlannedChange => ({ kind: "remove", what, detail });
    const removes = [
      ...(stackStateOf(stack?.StackStatus).kind === "none"
        ? []
        : [remove(`stack ${this.#names.stack}`, "network, machines, their role, logs and alarms")]),
      ...stores.flat(),
      ...[...parameters.keys()].map((name) => remove(`secret ${name}`, "")),
      ...(keepTables ? [] : there.map((table) => remove(table, "with everything that it holds"))),
    ];
    return { removes, stays: [...(keepTables ? there : []), ...unused] };
  }

  async destroy(
    { keepTables }: { readonly keepTables: boolean },
    progress: (event: PrimaryProgress) => void,
  ): Promise<void> {
    const access = await this.#account.access();
    await this.#removeStack(progress);
    await this.#store.remove(access);
    await this.#otherStore.remove(access);
    await this.#account.removeParameters(this.#secretNames);
    if (!keepTables) await this.#withTables(access, (tables) => tables.remove());
  }

  close(): void {
    this.#account.close();
    this.#store.close();
    this.#otherStore.close();
  }

  // ── What there is ──────────────────────────────────────────────────────────────────────────────────────────────────

  get #protects(): boolean {
    return this.#settings.environment === PROTECTED_ENVIRONMENT;
  }

  get #secretNames(): readonly string[] {
    const { keys, administration, tunnelTokens } = this.#names.parameters;
    return [keys, administration, ...Object.values(tunnelTokens)];
  }

  #tunnelsOf(stored: ReadonlyMap<string, StoredParameter>): TunnelIds {
    const { tunnelTokens } = this.#names.parameters;
    const idOf = (node: NodeName): string | null => tunnelOf(stored.get(tunnelTokens[node])?.value ?? "");
    return { a: idOf("a"), b: idOf("b") };
  }

  /** `deployed`: the template that is deployed; null: that of this version is to be. */
  async #find(artefact: string, deployed: string | null = null): Promise<Found> {
    const access = await this.#account.access();
    const [store, leftover, parameters, stack] = await Promise.all([
      this.#store.changes(access, artefact, deployed),
      this.#otherStore.removals(access),
      this.#account.parameters(this.#secretNames),
      this.#account.stack(this.#names.stack),
    ]);
    return { access, store, leftover, parameters, stack };
  }

  /** Those of this prefix that exist, in words. */
  async #tablesThere(access: PrimaryAccess, prefix: string): Promise<readonly string[]> {
    const tables = await this.#withTables(access, (all) => all.inspect(), prefix);
    return tables.flatMap(({ name, exists }) => (exists ? [`table ${name}`] : []));
  }

  /** Tables of the deployment's past, in words: restored ones have replaced them, or they were restored themselves. */
  async #unusedTables(access: PrimaryAccess): Promise<readonly string[]> {
    const { application, environment } = this.#settings;
    const { tablePrefix } = primaryNames({ application, environment });
    const cost = "it keeps its data, and costs, until you delete it at AWS";
    const replaced = tablePrefix === this.#names.tablePrefix ? [] : await this.#tablesThere(access, tablePrefix);
    return [
      ...replaced.map((table) => `${table}: restored tables have replaced it; ${cost}`),
      ...(await this.#unusedRestored(access, tablePrefix, cost)),
    ];
  }

  async #unusedRestored(access: PrimaryAccess, firstPrefix: string, cost: string): Promise<readonly string[]> {
    const inUse = await this.#withTables(access, ({ names }) => Promise.resolve(names));
    try {
      const restored = await this.#withTables(access, (tables) => tables.restored(), firstPrefix);
      return restored
        .filter((name) => !inUse.includes(name))
        .map((name) => `table ${name}: it was restored, and is not in use; ${cost}`);
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== "aws_access_denied") throw error;
      return [
        `tables ${firstPrefix}-at-*, if there are any that are not in use: AWS lists them only with the permission dynamodb:ListTables`,
      ];
    }
  }

  async #withTables<T>(
    { region }: PrimaryAccess,
    run: (tables: DynamoTables) => Promise<T>,
    prefix = this.#names.tablePrefix,
  ): Promise<T> {
    const tables = await openTables({ prefix, region, protect: this.#protects });
    try {
      return await run(tables);
    } catch (error) {
      throw tablesError(error);
    } finally {
      tables.close();
    }
  }

  async #leader(tables: DynamoTables): Promise<NodeName | null> {
    const leader = await tables.leader();
    return NODES.find((node) => advertisedBy(node) === leader) ?? null;
  }

  /** The template; with the one that is deployed, if there is one, since only differences count. */
  async #wanted(
    { stack, parameters }: Pick<Found, "stack" | "parameters">,
    artefact: string,
    leader: NodeName | null,
  ): Promise<WantedStack> {
    const tunnels = this.#tunnelsOf(parameters);
    const of = (last: NodeName): Template => template({ settings: this.#settings, artefact, last, tunnels });
    const kind = this.#checkChangeable(stack);
    if (kind !== "ready") return { template: of(leader ?? "b"), isDeployed: false, readLeases: null };
    const deployed = await this.#account.stackTemplate(this.#names.stack);
    const deployedLast = outputOf(deployed, "Last") === "a" ? "a" : "b";
    // Which machine leads is no reason to change anything.
    const same = of(deployedLast);
    const readLeases = outputOf(deployed, "ReadLeases");
    if (isSame(deployed, same)) return { template: same, isDeployed: true, readLeases };
    return { template: of(leader ?? deployedLast), isDeployed: false, readLeases };
  }

  /** Throws a CommandError for a stack that takes no change. */
  #checkChangeable(stack: Stack | undefined): StackState["kind"] {
    const { kind } = stackStateOf(stack?.StackStatus);
    if (kind === "busy")
      throw new CommandError(
        "stack_busy",
        `The stack ${this.#names.stack} is being changed (${stack?.StackStatus}).`,
        "Wait until that has ended. Then run the same command again.",
      );
    if (kind === "stuck")
      throw new CommandError(
        "stack_stuck",
        `The stack ${this.#names.stack} is in the state ${stack?.StackStatus}: a change failed, and so did taking it back.`,
        "In the console of CloudFormation, let the stack continue its rollback. Then run the same command again. The present machines serve on.",
      );
    return kind;
  }

  // ── What is to be changed ──────────────────────────────────────────────────────────────────────────────────────────

  async #tableChanges(tables: DynamoTables): Promise<readonly PlannedChange[]> {
    return (await tables.inspect()).flatMap(({ name, exists, isProtected }): PlannedChange[] => {
      const protection = this.#protects ? "protected against deletion, with recovery to any moment of 35 days" : "";
      if (!exists && this.#settings.tables !== null)
        throw new CommandError(
          "no_such_tables",
          `The table ${name} does not exist, and \`deploy.primary.tables\` in radical.config.ts names its prefix.`,
          "Nothing was changed. Correct the prefix: `radical restore` says it. Restored tables are never made empty.",
        );
      if (!exists) return [{ kind: "make", what: `table ${name}`, detail: protection }];
      return isProtected ? [] : [{ kind: "repair", what: `table ${name}`, detail: protection }];
    });
  }

  #parameterChanges({ parameters, stack }: Found): readonly PlannedChange[] {
    const kind = stack === undefined ? "make" : "repair";
    const { keys, administration, tunnelTokens } = this.#names.parameters;
    const stored = parameters.get(keys)?.value;
    const isAdministered = administrationOf(stored ?? "", parameters.get(administration)?.value).length > 0;
    return [
      ...(stored !== undefined
        ? []
        : [{ kind, what: `secret ${keys}`, detail: "a fresh key, with which locations sign" } as const]),
      ...(isAdministered
        ? []
        : [{ kind, what: `secret ${administration}`, detail: "a fresh key, with which commands sign" } as const]),
      ...NODES.filter((node) => !parameters.has(tunnelTokens[node])).map((node): PlannedChange => ({
        kind,
        what: `secret ${tunnelTokens[node]}`,
        detail: "the token of its tunnel",
      })),
    ];
  }

  async #stackChanges(
    stack: Stack | undefined,
    wanted: WantedStack,
    leader: NodeName | null,
  ): Promise<readonly PlannedChange[]> {
    if (wanted.isDeployed) return [];
    const { stack: name } = this.#names;
    if (stackStateOf(stack?.StackStatus).kind !== "ready") {
      const again: PlannedChange[] =
        stack === undefined || stack.StackStatus === "REVIEW_IN_PROGRESS"
          ? []
          : [{ kind: "remove", what: `stack ${name}`, detail: `it was never whole (${stack.StackStatus})` }];
      const added = Object.keys(wanted.template.Resources).map(
        (id) => ({ Action: "Add", LogicalResourceId: id }) as const,
      );
      return [...again, ...plannedOf(added, leader), ...readLeaseChanges(wanted)];
    }
    const { changes, changeSet } = await this.#account.proposeChanges(name, wanted.template, "UPDATE");
    if (changes.length > 0) await this.#account.discardChanges(name, changeSet);
    return [...plannedOf(changes, leader), ...readLeaseChanges(wanted)];
  }

  // ── Changing it ────────────────────────────────────────────────────────────────────────────────────────────────────

  async #storeSecrets(
    stored: ReadonlyMap<string, StoredParameter>,
    tunnels: Readonly<Record<NodeName, NodeTunnel | null>>,
  ): Promise<boolean> {
    const { keys: keysName, administration: administrationName, tunnelTokens } = this.#names.parameters;
    let changed = false;
    const text = stored.get(keysName)?.value;
    const administration = administrationOf(text ?? "", stored.get(administrationName)?.value);
    if (text === undefined || administration.length === 0) {
      const all = [freshAdministrationKey()];
      await this.#storeAdministration(all);
      await this.#account.putSecret(
        keysName,
        textOf(text === undefined ? [freshKey()] : keysOf(text), all),
        KEYS_DESCRIPTION,
        text !== undefined,
      );
      changed = true;
    }
    for (const node of NODES) {
      const token = tunnels[node]?.token;
      if (token === undefined || token === stored.get(tunnelTokens[node])?.value) continue;
      await this.#account.putSecret(
        tunnelTokens[node],
        token,
        `Token of the Cloudflare Tunnel of machine ${node}`,
        true,
      );
      changed = true;
    }
    return changed;
  }

  async #changeStack(wanted: Template, progress: (event: PrimaryProgress) => void): Promise<boolean> {
    const { stack: name } = this.#names;
    let stack = await this.#account.stack(name);
    if (stackStateOf(stack?.StackStatus).kind === "failed-creation") {
      await this.#removeStack(progress);
      stack = undefined;
    }
    const exists = stackStateOf(stack?.StackStatus).kind === "ready";
    if (exists && isSame(await this.#account.stackTemplate(name), wanted)) return false;
    const { changes, changeSet } = await this.#account.proposeChanges(name, wanted, exists ? "UPDATE" : "CREATE");
    if (changes.length === 0) return false;
    const sinceMs = Date.now() - CLOCK_TOLERANCE_MS;
    const before = new Set(stack === undefined ? [] : await this.#account.eventIds(name, sinceMs));
    await this.#account.executeChanges(name, changeSet);
    let reason: string | null = null;
    const settled = await this.#account.settled(name, sinceMs, (event) => {
      if (before.has(event.EventId ?? "")) return;
      const { LogicalResourceId: id = "", ResourceStatus: status = "", ResourceStatusReason } = event;
      if (status.endsWith("_FAILED") && !/cancelled/i.test(ResourceStatusReason ?? ""))
        reason ??= `${wordsOf(id)}: ${ResourceStatusReason ?? status}`;
      progress({ kind: "resource", what: wordsOf(id), status, reason: ResourceStatusReason ?? null });
    });
    const status = settled?.StackStatus ?? "gone";
    if (status === "CREATE_COMPLETE" || status === "UPDATE_COMPLETE") return true;
    throw stackError(
      reason ?? settled?.StackStatusReason ?? status,
      `the change of the stack ${name}`,
      exists && status === "UPDATE_ROLLBACK_COMPLETE"
        ? "the change was taken back: what was deployed before serves on"
        : `the stack is ${status}`,
    );
  }

  /** The machines are replaced by now, so a deployment does not end at old things that AWS does not remove. */
  async #dropOthers(access: PrimaryAccess, note: (words: string) => void): Promise<void> {
    try {
      await this.#store.dropOthers(access);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      note(`${error.message} The machines run the new server. The next change of the primary tries the removal again.`);
    }
  }

  async #removeStack(progress: (event: PrimaryProgress) => void): Promise<void> {
    const { stack: name } = this.#names;
    const stack = await this.#account.stack(name);
    if (stack?.StackId === undefined) return;
    await this.#account.removeStack(name);
    let reason: string | null = null;
    const left = await this.#account.settled(stack.StackId, Date.now() - CLOCK_TOLERANCE_MS, (event) => {
      const { LogicalResourceId: id = "", ResourceStatus: status = "", ResourceStatusReason } = event;
      if (!status.startsWith("DELETE_")) return;
      if (status === "DELETE_FAILED") reason ??= `${wordsOf(id)}: ${ResourceStatusReason ?? status}`;
      progress({ kind: "resource", what: wordsOf(id), status, reason: ResourceStatusReason ?? null });
    });
    if (left !== undefined)
      throw stackError(
        reason ?? left.StackStatusReason ?? "",
        `the removal of the stack ${name}`,
        `the stack is ${left.StackStatus}; what was not removed is listed in the console of CloudFormation`,
      );
  }

  // ── Keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #deployed(): Promise<PrimaryState> {
    const state = await this.state();
    if (state !== null) return state;
    throw new CommandError(
      "not_deployed",
      `${this.#settings.application} has no primary in the environment ${this.#settings.environment}.`,
      "Run `radical deploy` first.",
    );
  }

  async #storeKeys(
    keys: readonly DeploymentKey[],
    administration: readonly AdministrationKey[],
  ): Promise<PrimaryState> {
    const { keys: name } = this.#names.parameters;
    await this.#account.putSecret(name, textOf(keys, administration), KEYS_DESCRIPTION, true);
    return this.#deployed();
  }

  #storeAdministration(keys: readonly AdministrationKey[]): Promise<void> {
    const { administration: name } = this.#names.parameters;
    const text = keys.map(privateKeyText).join(",");
    return this.#account.putSecret(name, text, "Administration keys of a Radical deployment: private halves", true);
  }
}

const KEYS_DESCRIPTION = "Keys that the servers of a Radical deployment take";

function freshKey(): DeploymentKey {
  return { id: `k${randomBytes(4).toString("hex")}`, secret: randomBytes(32).toString("hex") };
}

function freshAdministrationKey(): AdministrationKey {
  return newAdministrationKey(`a${randomBytes(4).toString("hex")}`);
}

function textOf(keys: readonly DeploymentKey[], administration: readonly AdministrationKey[]): string {
  return [...keys.map(({ id, secret }) => `${id}:${secret}`), ...administration.map(publicKeyText)].join(",");
}

function keysOf(text: string): readonly DeploymentKey[] {
  return [...parseKeys(text).locations].map(([id, secret]) => ({ id, secret: Buffer.from(secret).toString("hex") }));
}

/** Those of the private halves whose public ones the servers have. */
function administrationOf(serverKeys: string, privateHalves = ""): readonly AdministrationKey[] {
  const taken = serverKeys.split(",");
  return (parseAdministrationKeys(privateHalves) ?? []).filter((key) => taken.includes(publicKeyText(key)));
}

/** Of a tunnel's token, base64 of a JSON object with the tunnel's id as `t`; null: it is no such token. */
function tunnelOf(token: string): string | null {
  try {
    const { t: id } = JSON.parse(Buffer.from(token, "base64").toString()) as { readonly t?: unknown };
    return typeof id === "string" ? id : null;
  } catch {
    return null;
  }
}

/** A machine is replaced for it, and no resource has its name. */
function readLeaseChanges({ template: { Outputs }, readLeases }: WantedStack): readonly PlannedChange[] {
  const wanted = Outputs.ReadLeases.Value;
  if (wanted === readLeases) return [];
  const what = "read leases";
  return [
    readLeases === null
      ? { kind: "make", what, detail: wanted }
      : { kind: "change", what, detail: `${readLeases} before, ${wanted} from now on` },
  ];
}

/** Each thing once, with the gravest of what happens to its resources. */
function plannedOf(
  changes: readonly Pick<ResourceChange, "Action" | "LogicalResourceId" | "Replacement">[],
  leader: NodeName | null,
): readonly PlannedChange[] {
  const planned = new Map<string, PlannedChange>();
  for (const { Action, LogicalResourceId: id = "", Replacement } of changes) {
    const what = wordsOf(id);
    const machine = machineOf(id);
    const kind =
      Action === "Add"
        ? "make"
        : Action === "Remove"
          ? "remove"
          : Replacement === "True" || machine !== null
            ? "replace"
            : "change";
    if (planned.has(what) && kind !== "replace") continue;
    planned.set(what, { kind, what, detail: machine !== null && kind === "replace" ? takeover(machine, leader) : "" });
  }
  return [...planned.values()];
}

function takeover(machine: NodeName, leader: NodeName | null): string {
  if (machine !== leader) return "it drains and is started anew";
  return "it leads: replaced when the other one is up, which takes over; requests that need the primary wait meanwhile, some seconds";
}

/** An output of a template as it was sent. */
function outputOf(deployed: unknown, name: keyof Template["Outputs"]): string | null {
  const value = (deployed as Partial<Template> | null)?.Outputs?.[name]?.Value;
  return typeof value === "string" ? value : null;
}

/** Templates are compared as what they say: a store may have ordered their fields. */
function isSame(deployed: unknown, wanted: unknown): boolean {
  return JSON.stringify(sorted(deployed)) === JSON.stringify(sorted(wanted));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, sorted(inner)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
