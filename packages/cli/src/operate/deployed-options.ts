/** Options of the commands that find a deployment by its environment, or the LVI server that they ask. */
import type { Option, Options } from "@radical/command-line";

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

export const PRIMARY = {
  kind: "text",
  placeholder: "url",
  words: "the LVI server, whose administration key is in RADICAL_ADMIN_KEYS (default: that of radical dev)",
} as const satisfies Option;
