/**
 * The names of arguments that are secrets, by module. Samples and lists leave this server without their values. A module of which
 * they are not known yet has none to show: `of` is null.
 */
import { decodeModuleContent, MalformedError, type ModuleHash, type SecretNames } from "@radical/protocol";

type ModuleContents = (hash: ModuleHash) => Promise<Uint8Array | null>;

/** Names all arguments of a call, for a module that is not known any more. */
export const ALL_ARGUMENTS: readonly string[] = ["*"];

const NONE: SecretNames = {};

export class KnownSecrets {
  readonly #contentOf: ModuleContents;
  readonly #byModule = new Map<ModuleHash, SecretNames>();

  constructor(contentOf: ModuleContents) {
    this.#contentOf = contentOf;
  }

  /** A module has been registered. */
  remember(module: ModuleHash, secrets: SecretNames = NONE): void {
    this.#byModule.set(module, secrets);
  }

  /** Reads those of the modules that are not known yet; of a module that storage lacks nothing is known then either. */
  async learn(modules: Iterable<ModuleHash>): Promise<void> {
    const unknown = [...new Set(modules)].filter((module) => !this.#byModule.has(module));
    await Promise.all(
      unknown.map(async (module) => {
        const content = await this.#contentOf(module);
        if (content !== null) this.remember(module, secretsIn(content));
      }),
    );
  }

  /** Null: the module is not known. */
  of(module: ModuleHash, handler: string): readonly string[] | null {
    const secrets = this.#byModule.get(module);
    if (secrets === undefined) return null;
    return Object.hasOwn(secrets, handler) ? (secrets[handler] ?? []) : [];
  }
}

/** Content that can't be read is of a release without secrets, or no module at all: nobody runs it here. */
function secretsIn(content: Uint8Array): SecretNames {
  try {
    return decodeModuleContent(content).secrets ?? NONE;
  } catch (error) {
    if (error instanceof MalformedError) return NONE;
    throw error;
  }
}
