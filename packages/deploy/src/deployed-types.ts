/**
 * Whether a build reads what the builds before it have stored. The primary keeps each module with the types of its tables, for as
 * long as locations ask for it and a while longer. Nobody looks at the items: there may be many.
 */
import { compareStoredTypes, type Misfit, type ModuleHash, type StoredTypes } from "@radical/protocol";
import { storedTypesOf, ACCEPT_OPTION, MisfitError, misfitLine, NEW_FIELD } from "@radical/app";
import { type AdminAddress, moduleContent, registeredModules, storedModule } from "@radical/admin";

export interface DeployedTypesOptions {
  readonly admin: AdminAddress;
  /** The folder of the application. */
  readonly project: string;
  /** The module of the version that serves; null: none does. */
  readonly serving: ModuleHash | null;
  /** The module that is to serve, and its types. */
  readonly module: ModuleHash;
  readonly types: StoredTypes;
  /** Told what is not known. */
  readonly note: (words: string) => void;
}

/** Throws a MisfitError if modules that have run at the primary have stored values that the types do not fit. */
export async function checkDeployedTypes(options: DeployedTypesOptions): Promise<void> {
  const { admin, project, serving, module, types, note } = options;
  const listed = await registeredModules(admin);
  // A module that was registered and never asked for has stored nothing.
  const hasRun = listed.filter(
    ({ registered, registeredAtMs, usedAtMs }) => registered && (usedAtMs ?? 0) > (registeredAtMs ?? 0),
  );
  const modules = new Set([...(serving === null ? [] : [serving]), ...hasRun.map((one) => one.module)]);
  modules.delete(module);
  const contents = await Promise.all(
    Array.from(modules, async (one) => (await moduleContent(admin, one)) ?? (await storedModule(project, one))),
  );
  const found = new Map<string, Misfit>();
  let unknown = 0;
  for (const content of contents) {
    const before = content === null ? null : storedTypesOf(content.wasm);
    if (before === null) unknown++;
    else for (const misfit of compareStoredTypes(before, types).misfits) found.set(misfitLine(misfit), misfit);
  }
  if (found.size > 0) throw new MisfitError([...found.keys()].toSorted(), HINT);
  if (unknown > 0)
    note(
      `The types that ${unknown} earlier ${unknown === 1 ? "module has" : "modules have"} stored are not known: an older release has built ${unknown === 1 ? "it" : "them"}.`,
    );
}

const HINT = `${NEW_FIELD}: a handler can fill it from the old one. If no stored item has such a value, go on with ${ACCEPT_OPTION}: a handler that reads an item which does not fit fails then.`;
