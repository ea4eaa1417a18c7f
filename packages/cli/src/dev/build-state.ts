/** How the last build of `radical dev` ended, as its HTTP control tells. */
import type { Diagnostic } from "@radical/analyzer";

export type BuildState =
  /** The first build is being made. */
  | { readonly kind: "building" }
  | { readonly kind: "good"; readonly module: string }
  | {
      readonly kind: "failed";
      /** `2 errors`. */
      readonly words: string;
      /** The module of the build that goes on serving; null: there was none yet. */
      readonly serving: string | null;
      readonly diagnostics: readonly Diagnostic[];
      /** The errors as text with code frames. */
      readonly frames: readonly string[];
    };
