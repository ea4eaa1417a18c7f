/** Options of the commands that find a deployment by its environment. */
export const DEPLOYED_OPTIONS = {
  env: ["--env <name>", "the environment that is deployed: its Worker, and its primary with the key"],
  region: ["--region <name>", "of the primary at AWS (default: that of AWS_REGION or of the profile)"],
} as const;
