/** The field `deploy` of `radical.config.ts`. */

export interface DeployConfig {
  /** Refuses to deploy while a handler is neither sliced nor given. Default: false. */
  readonly strict?: boolean;
  /** Origins of a primary that the developer hosts, separated by commas. Default: one is made at AWS. */
  readonly primary?: string;
  /** Region of the primary at AWS. Default: that of AWS_REGION or of the profile. */
  readonly region?: string;
  /** Origin at which the deployment is reached, if neither workers.dev nor a route of wrangler.jsonc says it. */
  readonly url?: string;
}

export interface ResolvedDeployConfig {
  readonly strict: boolean;
  readonly primary: string | null;
  readonly region: string | null;
  readonly url: string | null;
}

export const DEFAULT_DEPLOY_CONFIG: ResolvedDeployConfig = { strict: false, primary: null, region: null, url: null };

export const DEPLOY_FIELDS = ["strict", "primary", "region", "url"] as const;

/** `wrong` is told of each field that can't be used. */
export function resolveDeployConfig(
  fields: Readonly<Record<string, unknown>>,
  wrong: (field: string, expected: string, value: unknown) => void,
): ResolvedDeployConfig {
  const text = (field: string, expected: string, isRight: (value: string) => boolean): string | null => {
    const value = fields[field];
    if (value === undefined) return null;
    if (typeof value === "string" && isRight(value)) return value;
    wrong(`deploy.${field}`, expected, value);
    return null;
  };
  const strict = fields["strict"] ?? false;
  if (typeof strict !== "boolean") wrong("deploy.strict", "true or false", strict);
  return {
    strict: strict === true,
    primary: text("primary", "the URL of the LVI server", (value) =>
      value.split(",").every((url) => URL.canParse(url.trim())),
    ),
    region: text("region", 'the name of a region like "eu-central-1"', (value) =>
      /^[a-z]{2}(-[a-z]+)+-\d$/.test(value),
    ),
    url: text("url", "an origin like https://app.example.com", (value) => URL.canParse(value)),
  };
}
