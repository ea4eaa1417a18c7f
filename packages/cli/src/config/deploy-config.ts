/** The field `deploy` of `radical.config.ts`. */

export interface DeployConfig {
  /** Refuses to deploy while a handler is neither sliced nor given. Default: false. */
  readonly strict?: boolean;
  /** Origins of a primary that the developer hosts, separated by commas; or how the one at AWS is made. Default: one is made at AWS. */
  readonly primary?: string | AwsPrimaryConfig;
  /** Region of the primary at AWS. Default: that of AWS_REGION or of the profile. */
  readonly region?: string;
  /** Origin at which the deployment is reached, if neither workers.dev nor a route of wrangler.jsonc says it. */
  readonly url?: string;
}

export interface AwsPrimaryConfig {
  /** Type of the two machines, an ARM one. Default: `t4g.micro`. */
  readonly instanceType?: string;
  /** Two availability zones of the region, for machine a and machine b. Default: its first two. */
  readonly zones?: readonly [string, string];
  /** The address that gets mail when an alarm goes off; AWS asks it once whether it wants that. Default: none. */
  readonly alarmEmail?: string;
  /** Lets those who may in the account open a shell on the machines, by SSM Session Manager. Default: false. */
  readonly shellAccess?: boolean;
}

export interface ResolvedDeployConfig {
  readonly strict: boolean;
  /** Of one's own; null: at AWS. */
  readonly primary: string | null;
  /** How the primary at AWS is made, as far as that is said. */
  readonly aws: AwsPrimaryConfig;
  readonly region: string | null;
  readonly url: string | null;
}

export const DEFAULT_DEPLOY_CONFIG: ResolvedDeployConfig = {
  strict: false,
  primary: null,
  aws: {},
  region: null,
  url: null,
};

export const DEPLOY_FIELDS = ["strict", "primary", "region", "url"] as const;
const AWS_FIELDS = ["instanceType", "zones", "alarmEmail", "shellAccess"] as const;

/** AWS calls its ARM types so: `t4g.micro`, `m8gd.medium`. */
const ARM_TYPE = /^[a-z]+\d+g[a-z]*\.[a-z0-9-]+$/;
const ZONE = /^[a-z]{2}(-[a-z]+)+-\d[a-z]$/;
const MAIL_ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

type Wrong = (field: string, expected: string, value: unknown) => void;
type UnknownFields = (prefix: string, object: Readonly<Record<string, unknown>>, known: readonly string[]) => void;

/** `wrong` is told of each field that can't be used, `unknownFields` looks for those that there are not. */
export function resolveDeployConfig(
  fields: Readonly<Record<string, unknown>>,
  wrong: Wrong,
  unknownFields: UnknownFields,
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
  const region = text("region", 'the name of a region like "eu-central-1"', (value) =>
    /^[a-z]{2}(-[a-z]+)+-\d$/.test(value),
  );
  const { primary } = fields;
  const isAws = typeof primary === "object" && primary !== null && !Array.isArray(primary);
  return {
    strict: strict === true,
    primary: isAws
      ? null
      : text("primary", "the URL of the LVI server, or an object", (value) =>
          value.split(",").every((url) => URL.canParse(url.trim())),
        ),
    aws: isAws ? awsConfigOf(primary as Readonly<Record<string, unknown>>, region, wrong, unknownFields) : {},
    region,
    url: text("url", "an origin like https://app.example.com", (value) => URL.canParse(value)),
  };
}

function awsConfigOf(
  fields: Readonly<Record<string, unknown>>,
  region: string | null,
  wrong: Wrong,
  unknownFields: UnknownFields,
): AwsPrimaryConfig {
  unknownFields("deploy.primary.", fields, AWS_FIELDS);
  const isZone = (zone: unknown): boolean =>
    typeof zone === "string" && ZONE.test(zone) && (region === null || zone.slice(0, -1) === region);
  const of = region === null ? "a region" : region;
  const checks: Readonly<Record<(typeof AWS_FIELDS)[number], readonly [string, (value: unknown) => boolean]>> = {
    instanceType: ['an ARM type like "t4g.small"', (value) => typeof value === "string" && ARM_TYPE.test(value)],
    zones: [
      `two different zones of ${of}, like ["${region ?? "eu-central-1"}a", "${region ?? "eu-central-1"}b"]`,
      (value) => Array.isArray(value) && value.length === 2 && value.every(isZone) && value[0] !== value[1],
    ],
    alarmEmail: ["a mail address", (value) => typeof value === "string" && MAIL_ADDRESS.test(value)],
    shellAccess: ["true or false", (value) => typeof value === "boolean"],
  };
  const given = AWS_FIELDS.flatMap((field): readonly [string, unknown][] => {
    const value = fields[field];
    if (value === undefined) return [];
    const [expected, isRight] = checks[field];
    if (!isRight(value)) wrong(`deploy.primary.${field}`, expected, value);
    return [[field, value]];
  });
  return Object.fromEntries(given) as AwsPrimaryConfig;
}
