/**
 * The modules that can run here, and when each was last asked for. A module that no location asks for any more is removed
 * after a time in which others were asked for. So an application that nobody uses for long keeps its module. The module that tasks
 * run on is never removed, nor one that an execution under way names, since it may have to run again.
 */
import {
  type AccessedUnit,
  type HandlerPlan,
  type HandlerTables,
  type ModuleHash,
  type RulesByTable,
  type ServiceRules,
  type SetLeft,
  tableOf,
  type TaskRules,
} from "@radical/protocol";
import { RuledTables } from "./ruled-tables.ts";
import { SetsLeft } from "./sets-left.ts";

export type Plans = ReadonlyMap<string, HandlerPlan>;

/** The tables that handlers can access, by handler; a handler that is left out may access any. */
export type Tables = ReadonlyMap<string, HandlerTables>;

/** The rules of tasks, by handler; a handler without has the defaults. */
export type Rules = Readonly<Record<string, TaskRules>>;

/** Services, by name. */
export type ServiceTable = Readonly<Record<string, ServiceRules>>;

export interface CurrentModule {
  readonly module: ModuleHash;
  readonly rules: Rules;
  /** Left out: none. */
  readonly services?: ServiceTable;
  /** Left out: none. */
  readonly tableRules?: RulesByTable;
}

const ANY_TABLES: Tables = new Map();
const NO_RULES: Rules = {};
const NO_SERVICES: ServiceTable = {};
const NO_TABLE_RULES: RulesByTable = {};

/** By the wall clock, since it is compared with what earlier servers have stored. */
export interface ModuleUse {
  readonly module: ModuleHash;
  readonly usedAtMs: number;
}

/** A module when it is registered. */
export interface Registration {
  readonly module: ModuleHash;
  readonly plans: Plans;
  /** Left out: any table, for each handler. */
  readonly tables?: Tables;
  /** The names of the indexes that its handlers keep; left out: none. */
  readonly indexes?: readonly string[];
  /** The rules of its handlers' tasks; left out: none. */
  readonly rules?: Rules;
  /** Its services; left out: none. */
  readonly services?: ServiceTable;
  /** The rules of its tables; left out: none has some. */
  readonly tableRules?: RulesByTable | undefined;
  /** It is of no application: tasks go on to run on the module before it. Left out: it is of the application. */
  readonly isAside?: boolean;
}

interface Known {
  readonly plans: Plans;
  readonly tables: Tables;
  /** Indexes that its handlers keep. */
  readonly indexes: readonly string[];
  usedAtMs: number;
  /** As storage knows it. */
  storedAtMs: number;
}

export class ModuleTable {
  readonly #modules = new Map<ModuleHash, Known>();
  /** Modules whose handlers ran differently twice. */
  readonly #suspects = new Set<ModuleHash>();
  readonly #setsLeft = new SetsLeft();
  /** The one that tasks run on, and the rules of its handlers' tasks; null: none was registered yet. */
  #current: CurrentModule | null;
  #ruled: RuledTables;
  /** When a location last asked for any of them. */
  #askedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `uses`: as storage knows them; a module that is not among them counts as used now. `indexes`: those that its handlers keep; a
   * module that is not among them has none. `tables`: those that its handlers can access.
   */
  constructor(
    modules: ReadonlyMap<ModuleHash, Plans>,
    uses: ReadonlyMap<ModuleHash, number>,
    nowMs: number,
    indexes: ReadonlyMap<ModuleHash, readonly string[]> = new Map(),
    current: CurrentModule | null = null,
    tables: ReadonlyMap<ModuleHash, Tables> = new Map(),
  ) {
    this.#current = current;
    this.#ruled = new RuledTables(current?.tableRules);
    for (const [module, plans] of modules) {
      const storedAtMs = uses.get(module);
      this.#modules.set(module, {
        plans,
        tables: tables.get(module) ?? ANY_TABLES,
        indexes: indexes.get(module) ?? [],
        usedAtMs: storedAtMs ?? nowMs,
        storedAtMs: storedAtMs ?? 0,
      });
    }
  }

  plansOf(module: ModuleHash): Plans | undefined {
    return this.#modules.get(module)?.plans;
  }

  planOf(module: ModuleHash, handler: string): HandlerPlan | undefined {
    return this.#modules.get(module)?.plans.get(handler);
  }

  /** Whether locations may say which units the handler accesses. Near storage its run says it. */
  declares(module: ModuleHash, handler: string): boolean {
    const plan = this.planOf(module, handler);
    return plan !== undefined && plan !== "near-storage" && plan !== "workflow";
  }

  /** The access by which a set leaves the tables that the module names for the handler, in words; null: there is none. */
  outside(module: ModuleHash, handler: string, units: readonly AccessedUnit[]): string | null {
    const tables = this.#modules.get(module)?.tables.get(handler);
    if (tables === undefined) return null;
    for (const { unit, mode } of units) {
      const table = tableOf(unit);
      if (mode !== "write" && !tables.reads.includes(table)) return outsideWords(handler, "reads", table);
      if (mode !== "read" && !tables.writes.includes(table)) return outsideWords(handler, "writes", table);
    }
    return null;
  }

  /** A set names a private table: in words; null: it does not. */
  privateIn(handler: string, units: readonly AccessedUnit[]): string | null {
    // variant: private-declared
    const found = units.find(({ unit }) => this.#ruled.isPrivate(unit));
    if (found === undefined) return null;
    return `the table ${tableOf(found.unit)} is private, and the set of ${handler} has a unit of it`;
  }

  /** The names of the indexes that the module's handlers keep. */
  indexesOf(module: ModuleHash): readonly string[] {
    return this.#modules.get(module)?.indexes ?? [];
  }

  /** The modules that name one of the indexes. */
  naming(indexes: ReadonlySet<string>): readonly ModuleHash[] {
    return [...this.#modules]
      .filter(([, known]) => known.indexes.some((name) => indexes.has(name)))
      .map(([hash]) => hash);
  }

  /** The names of the indexes of all modules. */
  get indexes(): ReadonlySet<string> {
    return new Set(Array.from(this.#modules.values(), ({ indexes }) => indexes).flat());
  }

  /** Whether the handler may run at locations: its plan says so, and no two runs of its module have differed. */
  runsAtLocations(module: ModuleHash, plan: HandlerPlan | undefined): boolean {
    return plan !== "near-storage" && !this.#suspects.has(module);
  }

  /** Two runs of one execution of the module have differed. */
  suspect(module: ModuleHash): void {
    this.#suspects.add(module);
  }

  /** A run of the handler has left its read/write set: how often that has happened, this time included. */
  leftSet(module: ModuleHash, handler: string): number {
    return this.#setsLeft.add(module, handler);
  }

  /** Handlers whose runs have left their read/write set here. */
  get setsLeft(): readonly SetLeft[] {
    return this.#setsLeft.list;
  }

  /** The module of the application that was registered last: tasks run on it. */
  get current(): CurrentModule | null {
    return this.#current;
  }

  /** The rules of tables that the current module states. */
  get ruled(): RuledTables {
    return this.#ruled;
  }

  /** The rules of a service of the current module; null: it has none of this name. */
  serviceOf(name: string): ServiceRules | null {
    const { services = NO_SERVICES } = this.#current ?? {};
    // A location may name whatever it likes.
    return Object.hasOwn(services, name) ? (services[name] ?? null) : null;
  }

  /** It is in storage, used as of then. */
  register(registration: Registration, nowMs: number): void {
    const { module, plans, tables = ANY_TABLES, indexes = [], isAside = false } = registration;
    const { rules = NO_RULES, services = NO_SERVICES, tableRules = NO_TABLE_RULES } = registration;
    if (!isAside) {
      this.#current = { module, rules, services, tableRules };
      this.#ruled = new RuledTables(tableRules);
    }
    this.#modules.set(module, { plans, tables, indexes, usedAtMs: nowMs, storedAtMs: nowMs });
  }

  use(module: ModuleHash, nowMs: number): void {
    const known = this.#modules.get(module);
    if (known === undefined) return;
    known.usedAtMs = Math.max(known.usedAtMs, nowMs);
    this.#askedAtMs = Math.max(this.#askedAtMs, nowMs);
  }

  /** All that can be run here. */
  get uses(): readonly ModuleUse[] {
    return Array.from(this.#modules, ([module, { usedAtMs }]) => ({ module, usedAtMs }));
  }

  /** Those used since this was last asked; storage is told. */
  takeUsed(): readonly ModuleUse[] {
    const used: ModuleUse[] = [];
    for (const [module, known] of this.#modules) {
      if (known.usedAtMs <= known.storedAtMs) continue;
      known.storedAtMs = known.usedAtMs;
      used.push({ module, usedAtMs: known.usedAtMs });
    }
    return used;
  }

  /** Removes those that were not used for so long when a location last asked for any, and that nobody needs. */
  takeUnused(retentionMs: number, named: () => ReadonlySet<ModuleHash>): readonly ModuleUse[] {
    const old = [...this.#modules].filter(([, { usedAtMs }]) => usedAtMs < this.#askedAtMs - retentionMs);
    if (old.length === 0) return [];
    const names = named();
    const unused: ModuleUse[] = [];
    for (const [module, { usedAtMs }] of old) {
      if (names.has(module) || module === this.#current?.module) continue;
      this.#modules.delete(module);
      this.#suspects.delete(module);
      this.#setsLeft.forget(module);
      unused.push({ module, usedAtMs });
    }
    return unused;
  }
}

function outsideWords(handler: string, access: "reads" | "writes", table: string): string {
  return `${handler} never ${access} the table ${table}, and its set has a unit of it`;
}
