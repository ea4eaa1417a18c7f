/** The field `deploy` of `radical.config.ts`. */
import { z } from "zod";
import { fields, flag, numberIn, oneOf, text, textThat, wholeNumber } from "./fields.ts";

/** AWS calls its ARM types so: `t4g.small`, `m8gd.medium`. */
const ARM_TYPE = /^[a-z]+\d+g[a-z]*\.[a-z0-9-]+$/;
/** Sizes with 1 GiB and less. All others have 2 GiB and more. The server does not start with what the system and the tunnel leave of 1 GiB. */
const SMALL_TYPE = /^[a-z]+\d+g[a-z]*\.(nano|micro)$/;
const ZONE = /^[a-z]{2}(-[a-z]+)+-\d[a-z]$/;
const REGION = /^[a-z]{2}(-[a-z]+)+-\d$/;
const TOPIC = /^arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/;
const POLICY = /^arn:[a-z-]+:iam::(\d{12}|aws):policy\/[\w+=,.@/-]{1,512}$/;
const MAIL_ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

const TABLES = /^[A-Za-z0-9_.-]{1,200}$/;
const TABLES_EXAMPLE = "radical-shop-production-at-20261127T140000Z";
const TABLES_WORDS = `a prefix of tables, like "${TABLES_EXAMPLE}"`;

/** Names of tags that all services of AWS take. */
const TAG_NAME = /^[\p{L}\p{N} _.:/=+@-]{1,128}$/u;
const TAG_VALUE = /^[\p{L}\p{N} _.:/=+@-]{0,256}$/u;
/** A template has them several times, and CloudFormation takes templates up to a size. */
const MOST_TAGS = 20;
const MOST_TAG_CHARACTERS = 2_000;
/** Names that are AWS's, or that a deployment gives itself. */
const OWN_TAG = /^(aws:|radical:|Name$)/i;
const TAGS_WORDS = `at most ${MOST_TAGS} tags, like { costCentre: "shop" }, of ${MOST_TAG_CHARACTERS} characters together`;
const TAG_NAMES_WORDS =
  'an object whose names have letters, digits, spaces and _.:/=+@-, 128 at most, differ not only in their case, and are none of "Name", "aws:…" and "radical:…"';

/** IAM takes names that differ only in their case for the same. */
function areTagNames(names: readonly string[]): boolean {
  const differing = new Set(names.map((name) => name.toLowerCase()));
  return differing.size === names.length && names.every((name) => TAG_NAME.test(name) && !OWN_TAG.test(name));
}

const zonesOf = (region: string): string => `two different zones of ${region}, like `;
const ZONES_WORDS = `${zonesOf("a region")}["eu-central-1a", "eu-central-1b"]`;

/** The memory that Fargate has, in gigabytes, by vCPUs. With half a gigabyte, which it has too, the server does not start. */
const FARGATE_MEMORY: Readonly<Record<number, readonly [least: number, most: number, step: number]>> = {
  0.25: [1, 2, 1],
  0.5: [1, 4, 1],
  1: [2, 8, 1],
  2: [4, 16, 1],
  4: [8, 30, 1],
  8: [16, 60, 4],
  16: [32, 120, 8],
};
const VCPU_WORDS = `one of ${Object.keys(FARGATE_MEMORY)
  .toSorted((a, b) => Number(a) - Number(b))
  .join(", ")}`;
const DEFAULT_VCPU = 0.5;

/** The least memory that a machine of so many vCPUs may have, in gigabytes. */
export function fargateMemoryGb(vcpu: number): number {
  return FARGATE_MEMORY[vcpu]?.[0] ?? 2 * vcpu;
}

const COLLECTOR = /^https:\/\/[A-Za-z0-9.-]+(:443)?(\/[A-Za-z0-9._/-]*)?$/;
/** A day. */
const MAX_EXECUTION_MS = 86_400_000;
const LIMIT_WORDS = `a whole number of milliseconds from 1 to ${MAX_EXECUTION_MS}`;

/** Options of the LVI server: docs/operations.md says what each does. */
const serverSchema = fields({
  /** Share of the followups that are compared with a run near storage before they are applied, from 0 to 100. Default: 1. */
  auditPercent: wholeNumber(0, 100, "a whole number from 0 to 100").optional(),
  /** Longest run of a handler near storage, in milliseconds. Default: 10000. */
  executionLimitMs: wholeNumber(1, MAX_EXECUTION_MS, LIMIT_WORDS).optional(),
  /** Starts although the keys of promised calls are lost, and gives their writes up. Take it out after one deployment. Default: false. */
  giveUpUnreadable: flag().optional(),
  /** Collector that gets the spans of the primary by OTLP over HTTP. Machines reach port 443 only. Default: no spans. */
  otlp: text(COLLECTOR, 'the URL of a collector without a query, like "https://otlp.example.com"').optional(),
  /** Part of the executions without a traceparent that has spans, from 0 to 1. Default: 1. */
  otlpRatio: numberIn(0, 1, "a number from 0 to 1").optional(),
});

/** Fields that only one of the hosts has. */
const ONLY_OF = { instanceType: "ec2", vcpu: "fargate", memoryGb: "fargate" } as const;

const awsPrimarySchema = fields({
  /** The kind of the two machines: tasks of `fargate`, or instances of `ec2`. Default: `fargate`. */
  host: oneOf(["fargate", "ec2"]).optional(),
  /** On Fargate: vCPUs of each machine, from 0.25 to 16. Default: 0.5. */
  vcpu: z
    .number(VCPU_WORDS)
    .refine((count) => count in FARGATE_MEMORY, VCPU_WORDS)
    .optional(),
  /** On Fargate: memory of each machine in GB. Default: twice its vCPUs, and 1 at least. */
  memoryGb: z.number("a number of GB").optional(),
  /** On EC2: type of the two machines, an ARM one with 2 GiB at least. Default: `t4g.small`. */
  instanceType: text(ARM_TYPE, 'an ARM type like "t4g.small"')
    .refine((type) => !SMALL_TYPE.test(type), 'a type with at least 2 GiB of memory, like "t4g.small"')
    .optional(),
  /** Two availability zones of the region, for machine a and machine b. Default: its first two. */
  zones: z
    .tuple([text(ZONE, ZONES_WORDS), text(ZONE, ZONES_WORDS)], ZONES_WORDS)
    .refine(([a, b]) => a !== b, ZONES_WORDS)
    .optional(),
  /** The address that gets mail when an alarm goes off; AWS asks it once whether it wants that. Default: none. */
  alarmEmail: text(MAIL_ADDRESS, "a mail address").optional(),
  /** ARN of a topic of SNS that is told when an alarm goes off, such as that of an on-call service. Default: none. */
  alarmTopic: text(TOPIC, 'the ARN of an SNS topic like "arn:aws:sns:eu-central-1:123456789012:on-call"').optional(),
  /** Tags of what CloudFormation makes, beside `radical:deployment`: like `{ costCentre: "shop" }`. Default: none. */
  tags: z
    .record(
      z.string(),
      text(TAG_VALUE, "the value of a tag: letters, digits, spaces and _.:/=+@-, at most 256"),
      TAGS_WORDS,
    )
    .refine((tags) => areTagNames(Object.keys(tags)), TAG_NAMES_WORDS)
    .refine(
      (tags) =>
        Object.keys(tags).length <= MOST_TAGS && Object.entries(tags).flat().join("").length <= MOST_TAG_CHARACTERS,
      TAGS_WORDS,
    )
    .optional(),
  /** ARN of the policy that bounds the permissions of the roles of the machines, where a company wants one. Default: none. */
  permissionsBoundary: text(
    POLICY,
    'the ARN of a policy of IAM like "arn:aws:iam::123456789012:policy/boundary"',
  ).optional(),
  /** Lets those who may in the account open a shell on the machines, by SSM Session Manager or ECS Exec. Default: false. */
  shellAccess: flag().optional(),
  /** Options of the server on both machines. Default: those of the server. */
  server: serverSchema.optional(),
  /**
   * Prefixes of the tables, by environment, of those that were restored: like `{ production: "radical-shop-production-at-20261127T140000Z" }`.
   * `radical restore` says what to write. Default: those that the first deployment has made.
   */
  tables: z
    .record(z.string(), text(TABLES, TABLES_WORDS), `an object, like { production: "${TABLES_EXAMPLE}" }`)
    .optional(),
}).superRefine((primary, context) => {
  const { host = "fargate", vcpu = DEFAULT_VCPU, memoryGb = fargateMemoryGb(vcpu) } = primary;
  const refuse = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
  for (const [field, of] of Object.entries(ONLY_OF))
    if (of !== host && primary[field as keyof typeof ONLY_OF] !== undefined)
      refuse(field, `left out, or go with host: "${of}"`);
  const range = FARGATE_MEMORY[vcpu];
  if (host !== "fargate" || range === undefined) return;
  const [least, most, step] = range;
  if (memoryGb < least || memoryGb > most || memoryGb % step !== 0)
    refuse("memoryGb", `from ${least} to ${most} GB in steps of ${step} with ${vcpu} vCPUs`);
});

const isUrlList = (value: string): boolean => value.split(",").every((url) => URL.canParse(url.trim()));
const PRIMARY_WORDS = "the URL of the LVI server, or an object";

export const deploySchema = fields({
  /** Refuses to deploy while a handler is neither sliced nor given. Default: false. */
  strict: flag().default(false),
  /** Origins of a primary that the developer hosts, separated by commas; or how the one at AWS is made. Default: one is made at AWS. */
  primary: z.union([textThat(isUrlList, PRIMARY_WORDS), awsPrimarySchema], PRIMARY_WORDS).optional(),
  /** Region of the primary at AWS. Default: that of AWS_REGION or of the profile. */
  region: text(REGION, 'the name of a region like "eu-central-1"').optional(),
  /** Origin at which the deployment is reached, if neither workers.dev nor a route of wrangler.jsonc says it. */
  url: textThat((value) => URL.canParse(value), "an origin like https://app.example.com").optional(),
})
  .superRefine(({ primary, region }, context) => {
    const zones = typeof primary === "object" ? primary.zones : undefined;
    if (region === undefined || zones === undefined || zones.every((zone) => zone.slice(0, -1) === region)) return;
    const message = `${zonesOf(region)}["${region}a", "${region}b"]`;
    context.addIssue({ code: "custom", path: ["primary", "zones"], message });
  })
  .transform(({ strict, primary, region = null, url = null }) => ({
    strict,
    /** Of one's own; null: at AWS. */
    primary: typeof primary === "string" ? primary : null,
    /** How the primary at AWS is made, as far as that is said. */
    aws: typeof primary === "object" ? primary : {},
    region,
    url,
  }));
