/** Options of the commands that find a deployment by its environment. */
import type { Options } from "@radical/command-line";

export const DEPLOYED = {
  env: {
    kind: "text",
    placeholder: "name",
    words: "the environment that is deployed: its Worker, and its primary with the key",
  },
  region: {
    kind: "text",
    placeholder: "name",
    words: "of the primary at AWS (default: that of AWS_REGION or of the profile)",
  },
} as const satisfies Options;
