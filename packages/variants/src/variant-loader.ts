/**
 * Loads wrong variants beside the right sources. A variant has its own instances of the changed modules and of all
 * modules that depend on them. It shares the other modules, with their state.
 */
import { registerHooks } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Anchors } from "./anchors.ts";
import type { Variant } from "./edits.ts";

interface Loaded {
  readonly sources: ReadonlyMap<string, string>;
  /** Addresses of the modules that are changed, or depend on one that is. */
  readonly anew: ReadonlySet<string>;
}

const QUERY = /\?variant=(?<index>\d+)$/;

/** A thread makes its one loader before it loads the sources that variants change. */
export class VariantLoader {
  readonly #anchors: Anchors;
  /** The importers of each module, by addresses. */
  readonly #importers = new Map<string, Set<string>>();
  readonly #variants: Loaded[] = [];

  constructor(anchors: Anchors) {
    this.#anchors = anchors;
    registerHooks({
      resolve: (specifier, context, next) => {
        const resolved = next(specifier, context);
        const { parentURL } = context;
        if (parentURL === undefined) return resolved;
        const index = QUERY.exec(parentURL)?.groups?.["index"];
        if (index === undefined) {
          const importers = this.#importers.get(resolved.url) ?? new Set();
          this.#importers.set(resolved.url, importers.add(parentURL));
          return resolved;
        }
        if (!this.#variants[Number(index)]!.anew.has(resolved.url)) return resolved;
        return { ...resolved, url: `${resolved.url}?variant=${index}` };
      },
      load: (url, context, next) => {
        const index = QUERY.exec(url)?.groups?.["index"];
        const loaded = next(url, context);
        if (index === undefined) return loaded;
        const source = this.#variants[Number(index)]!.sources.get(fileURLToPath(url.replace(QUERY, "")));
        return source === undefined ? loaded : { ...loaded, source };
      },
    });
  }

  /** Loads a module as the variant has it. Throws if the variant does not fit its sources. */
  async load(variant: Variant, module: URL): Promise<unknown> {
    // The right one, so that it is known what it consists of.
    await import(module.href);
    const sources = this.#anchors.apply(variant);
    const anew = new Set([...sources.keys()].map((file) => pathToFileURL(file).href));
    // A set grows while it is gone through.
    for (const url of anew) for (const importer of this.#importers.get(url) ?? []) anew.add(importer);
    const index = this.#variants.push({ sources, anew }) - 1;
    if (!anew.has(module.href))
      throw new Error(
        `The variant "${variant.name}" changes nothing that ${module.href} imports. Load another module, or remove the variant.`,
      );
    return import(`${module.href}?variant=${index}`);
  }
}
