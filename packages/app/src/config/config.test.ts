import {
  type CacheChoice,
  DEFAULT_BLOB_KEEP_HOURS,
  DEFAULT_CACHE,
  DEFAULT_LIMITS,
  DEFAULT_MAX_BLOB_BYTES,
  DEFAULT_READ_LEASE_MS,
} from "@radical/protocol";
import { expect, test } from "vitest";
import { CommandError } from "../command-error.ts";
import { resolveConfig } from "./config.ts";
import { PAPER_LOCATIONS, parseLocations, withCommonDistance } from "./locations.ts";

const FILE = "radical.config.ts";
const FAR = { roundTripMs: 70, jitterMs: 4, lossPercent: 0.1 };

test("a name is enough; everything else has a default", () => {
  expect(resolveConfig({ name: "social" }, FILE)).toEqual({
    name: "social",
    handlers: "handlers",
    worker: "src/worker.ts",
    assets: { folder: "public", notFound: "none", workerFirst: [], client: null, page: null },
    blobs: { maxBytes: DEFAULT_MAX_BLOB_BYTES, keepHours: DEFAULT_BLOB_KEEP_HOURS, bucket: null },
    outDir: "dist",
    cache: DEFAULT_CACHE,
    jurisdiction: null,
    readLeaseMs: DEFAULT_READ_LEASE_MS,
    log: "debug",
    limits: DEFAULT_LIMITS,
    deploy: { strict: false, primary: null, aws: {}, region: null, url: null },
    dev: { port: 8787, locations: PAPER_LOCATIONS },
  });
});

test("a machine on Fargate has as much memory as goes with its vCPUs, and each host its own fields", () => {
  const of = (primary: object) => () => resolveConfig({ name: "a", deploy: { primary } }, FILE).deploy.aws;
  for (const right of [{ vcpu: 0.25 }, { vcpu: 2 }, { memoryGb: 4 }, { vcpu: 8, memoryGb: 20 }, { host: "fargate" }])
    expect(of(right)()).toEqual(right);
  for (const [wrong, words] of [
    [{ vcpu: 3 }, "deploy.primary.vcpu must be one of 0.25, 0.5, 1, 2, 4, 8, 16, not 3"],
    [{ vcpu: 2, memoryGb: 2 }, "deploy.primary.memoryGb must be from 4 to 16 GB in steps of 1 with 2 vCPUs, not 2"],
    [{ memoryGb: 1.5 }, "deploy.primary.memoryGb must be from 1 to 4 GB in steps of 1 with 0.5 vCPUs, not 1.5"],
    [
      { vcpu: 0.25, memoryGb: 0.5 },
      "deploy.primary.memoryGb must be from 1 to 2 GB in steps of 1 with 0.25 vCPUs, not 0.5",
    ],
    [{ vcpu: 0.25, memoryGb: "1" }, 'deploy.primary.memoryGb must be a number of GB, not "1"'],
    [{ host: "lambda" }, 'deploy.primary.host must be one of "fargate", "ec2", not "lambda"'],
    [{ host: "ec2", vcpu: 1 }, 'deploy.primary.vcpu must be left out, or go with host: "fargate", not 1'],
    [
      { instanceType: "t4g.small" },
      'deploy.primary.instanceType must be left out, or go with host: "ec2", not "t4g.small"',
    ],
    [
      { host: "ec2", instanceType: "t4g.micro" },
      'deploy.primary.instanceType must be a type with at least 2 GiB of memory, like "t4g.small", not "t4g.micro"',
    ],
    [{ host: "ec2", instanceType: "t4g.nano" }, "must be a type with at least 2 GiB of memory"],
  ] as const)
    expect(of(wrong)).toThrow(words);
});

test("options of the server at AWS are those that a shell reads as they are", () => {
  const of = (server: object) => () => resolveConfig({ name: "a", deploy: { primary: { server } } }, FILE).deploy.aws;
  const all = {
    auditPercent: 100,
    executionLimitMs: 60_000,
    giveUpUnreadable: true,
    otlp: "https://otlp.example.com/v1/traces",
    otlpRatio: 0.25,
  };
  expect(of(all)()).toEqual({ server: all });
  for (const otlp of [
    "http://otlp.example.com",
    "https://otlp.example.com:4318",
    "https://otlp.example.com/?key=1",
    "https://a.example.com/$(id)",
    "https://a.example.com\nRADICAL_HOST=0.0.0.0",
  ])
    expect(of({ otlp })).toThrow("deploy.primary.server.otlp must be the URL of a collector without a query");
  expect(of({ auditPercent: 101 })).toThrow("deploy.primary.server.auditPercent must be a whole number from 0 to 100");
  expect(of({ port: 1 })).toThrow("deploy.primary.server.port is not a field");
});

test("how the primary at AWS is made", () => {
  const primary = {
    host: "ec2",
    instanceType: "m8g.medium",
    zones: ["eu-central-1a", "eu-central-1c"],
    shellAccess: true,
  };
  const deploy = { region: "eu-central-1", primary };
  expect(resolveConfig({ name: "a", deploy }, FILE).deploy).toMatchObject({ primary: null, aws: primary });
  const own = resolveConfig({ name: "a", deploy: { primary: "https://lvi.example.com" } }, FILE).deploy;
  expect(own).toMatchObject({ primary: "https://lvi.example.com", aws: {} });

  const wrong = {
    instanceType: "t3.micro",
    zones: ["us-east-1a", "us-east-1a"],
    alarmEmail: "ann",
    alarmTopic: "on-call",
    tags: { cost: "a<b" },
    permissionsBoundary: "boundary",
    shellAccess: 1,
    x: 2,
  };
  expect(() => resolveConfig({ name: "a", deploy: { region: "eu-central-1", primary: wrong } }, FILE)).toThrow(
    [
      'deploy.primary.instanceType must be an ARM type like "t4g.small", not "t3.micro"',
      'deploy.primary.zones must be two different zones of a region, like ["eu-central-1a", "eu-central-1b"], not ["us-east-1a","us-east-1a"]',
      'deploy.primary.alarmEmail must be a mail address, not "ann"',
      'deploy.primary.alarmTopic must be the ARN of an SNS topic like "arn:aws:sns:eu-central-1:123456789012:on-call", not "on-call"',
      'deploy.primary.tags.cost must be the value of a tag: letters, digits, spaces and _.:/=+@-, at most 256, not "a<b"',
      'deploy.primary.permissionsBoundary must be the ARN of a policy of IAM like "arn:aws:iam::123456789012:policy/boundary", not "boundary"',
      "deploy.primary.shellAccess must be true or false, not 1",
      "deploy.primary.x is not a field; the fields are host, vcpu, memoryGb, instanceType, zones, alarmEmail, alarmTopic, tags, permissionsBoundary, shellAccess, server, tables",
    ]
      .map((problem) => `${FILE}: ${problem}`)
      .join("\n"),
  );
  const refused = (tags: Readonly<Record<string, string>>): (() => unknown) => {
    return () => resolveConfig({ name: "a", deploy: { primary: { tags } } }, FILE);
  };
  for (const name of ["Name", "aws:shop", "radical:deployment", "", "a<b", "x".repeat(129)])
    expect(refused({ [name]: "shop" })).toThrow("deploy.primary.tags must be an object whose names have letters");
  expect(refused({ owner: "ann", Owner: "bob" })).toThrow("differ not only in their case");
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`tag ${index}`, ""]));
  for (const tags of [
    many,
    Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`long ${index}`, "x".repeat(256)])),
  ])
    expect(refused(tags)).toThrow("deploy.primary.tags must be at most 20 tags");
  const companys = {
    tags: { "Cost centre": "shöp/1", owner: "" },
    permissionsBoundary: "arn:aws:iam::123456789012:policy/a/b",
  };
  expect(resolveConfig({ name: "a", deploy: { primary: companys } }, FILE).deploy.aws).toEqual(companys);
  const elsewhere = { region: "eu-central-1", primary: { zones: ["us-east-1a", "us-east-1b"] } };
  expect(() => resolveConfig({ name: "a", deploy: elsewhere }, FILE)).toThrow(
    'deploy.primary.zones must be two different zones of eu-central-1, like ["eu-central-1a", "eu-central-1b"], not ["us-east-1a","us-east-1b"]',
  );
  expect(resolveConfig({ name: "a", deploy: { primary: { alarmEmail: undefined } } }, FILE).deploy.aws).toEqual({});
  expect(() => resolveConfig({ name: "a", deploy: { primary: 1 } }, FILE)).toThrow(
    "deploy.primary must be the URL of the LVI server, or an object, not 1",
  );
});

test("a jurisdiction binds the caches and the region of the primary", () => {
  const { cache, jurisdiction } = resolveConfig(
    { name: "a", jurisdiction: "eu", deploy: { region: "eu-north-1" } },
    FILE,
  );
  expect({ cache, jurisdiction }).toEqual({ cache: { ...DEFAULT_CACHE, jurisdiction: "eu" }, jurisdiction: "eu" });
  expect(resolveConfig({ name: "a", jurisdiction: "us", cache: "memory" }, FILE).cache).not.toHaveProperty(
    "jurisdiction",
  );
  const wrong = { name: "a", jurisdiction: "eu", cache: "kv", deploy: { region: "eu-west-2" } };
  expect(() => resolveConfig(wrong, FILE)).toThrow(
    [
      'cache must be "durable-object" or "memory" with a jurisdiction, since Workers KV stores everywhere, not "kv"',
      'deploy.region must be a region in the jurisdiction "eu": eu-central-1, eu-west-1, eu-west-3, eu-north-1, eu-south-1, eu-south-2, not "eu-west-2"',
    ]
      .map((problem) => `${FILE}: ${problem}`)
      .join("\n"),
  );
  expect(() => resolveConfig({ name: "a", jurisdiction: "ch" }, FILE)).toThrow(
    'jurisdiction must be one of "eu", "us", not "ch"',
  );
});

test("the age of cached entries", () => {
  expect(resolveConfig({ name: "a", cache: { maxAgeHours: 24 } }, FILE).cache).toEqual({
    ...DEFAULT_CACHE,
    maxAgeHours: 24,
  });
  for (const maxAgeHours of [0, 1.5, 9_000, "1d"])
    expect(() => resolveConfig({ name: "a", cache: { kind: "kv", maxAgeHours } }, FILE)).toThrow(
      "cache.maxAgeHours must be a whole number of hours from 1 to 8784",
    );
});

test("the time of read leases", () => {
  const readLeaseMsOf = (readLeaseMs: number): number => resolveConfig({ name: "a", readLeaseMs }, FILE).readLeaseMs;
  expect([0, 5_000, 60_000].map(readLeaseMsOf)).toEqual([0, 5_000, 60_000]);
});

test("fuel of executions", () => {
  const limitsOf = (fuel: number): unknown => resolveConfig({ name: "a", limits: { fuel } }, FILE).limits;
  expect(limitsOf(5_000)).toEqual({ ...DEFAULT_LIMITS, fuel: 5_000, speculationFuel: 5_000 });
  expect(limitsOf(1e12)).toEqual({ ...DEFAULT_LIMITS, fuel: 1e12 });
});

test("what is given is kept, locations in their order", () => {
  const config = resolveConfig(
    { name: "a", handlers: "src/h/", outDir: "out", dev: { port: 0, locations: { JP: 146, VA: 7.5, IE: FAR } } },
    FILE,
  );
  expect(config.handlers).toBe("src/h");
  expect(config.dev.locations).toEqual([
    { name: "JP", roundTripMs: 146 },
    { name: "VA", roundTripMs: 7.5 },
    { name: "IE", ...FAR },
  ]);
});

const MEBIBYTE = 1024 * 1024;

test.each<[unknown, CacheChoice]>([
  ["durable-object", DEFAULT_CACHE],
  [{}, DEFAULT_CACHE],
  ["kv", { kind: "kv", memoryBytes: 16 * MEBIBYTE, timeoutMs: 500, maxAgeHours: 168 }],
  ["memory", { kind: "memory", memoryBytes: 16 * MEBIBYTE, maxAgeHours: 168 }],
  [
    { kind: "memory", memoryBytes: 0 },
    { kind: "memory", memoryBytes: 0, maxAgeHours: 168 },
  ],
  [
    { kind: "kv", timeoutMs: 50 },
    { kind: "kv", memoryBytes: 16 * MEBIBYTE, timeoutMs: 50, maxAgeHours: 168 },
  ],
  [
    { objectBytes: 64 * MEBIBYTE, memoryBytes: MEBIBYTE, timeoutMs: 20 },
    { kind: "durable-object", memoryBytes: MEBIBYTE, objectBytes: 64 * MEBIBYTE, timeoutMs: 20, maxAgeHours: 168 },
  ],
])("cache %j", (cache, expected) => {
  expect(resolveConfig({ name: "a", cache }, FILE).cache).toEqual(expected);
});

test.each([
  [undefined, /must export an object by default/],
  [{}, /name must be/],
  [{ name: "Social" }, /name must be .* not "Social"/],
  [{ name: "a", port: 3 }, /port is not a field/],
  [{ name: "a", handlers: "../x" }, /handlers must be/],
  [{ name: "a", outDir: "/tmp" }, /outDir must be/],
  [{ name: "a", readLeaseMs: 60_001 }, /readLeaseMs must be a whole number of milliseconds from 0 to 60000, not 60001/],
  [{ name: "a", readLeaseMs: 0.5 }, /readLeaseMs must be a whole number of milliseconds/],
  [{ name: "a", readLeaseMs: "3s" }, /readLeaseMs must be .*, not "3s"/],
  [{ name: "a", log: "loud" }, /log must be one of "debug", "info", "warn", "error", "silent", not "loud"/],
  [{ name: "a", limits: 3 }, /limits must be an object, not 3/],
  [{ name: "a", limits: { memory: 3 } }, /limits\.memory is not a field; the fields are fuel/],
  [{ name: "a", limits: { fuel: 0 } }, /limits\.fuel must be a whole number from 1 to 1000000000000, not 0/],
  [{ name: "a", limits: { fuel: "much" } }, /limits\.fuel must be a whole number/],
  [{ name: "a", cache: "redis" }, /cache must be one of "durable-object", "kv", "memory", or an object, not "redis"/],
  [{ name: "a", cache: 3 }, /cache must be one of .*, or an object, not 3/],
  [{ name: "a", cache: { kind: "d1" } }, /cache\.kind must be one of/],
  [
    { name: "a", cache: { memoryBytes: "16M" } },
    /cache\.memoryBytes must be a whole number of bytes from 0 to 67108864/,
  ],
  [{ name: "a", cache: { objectBytes: 4 } }, /cache\.objectBytes must be a whole number of bytes/],
  [{ name: "a", cache: { timeoutMs: 0 } }, /cache\.timeoutMs must be a whole number of milliseconds from 1 to 10000/],
  [
    { name: "a", cache: { kind: "kv", objectBytes: 1 } },
    /cache\.objectBytes is not a field; the fields are kind, memoryBytes, timeoutMs, maxAgeHours/,
  ],
  [{ name: "a", cache: { kind: "memory", timeoutMs: 5 } }, /cache\.timeoutMs is not a field/],
  [{ name: "a", worker: "../worker.ts" }, /worker must be the relative path of a TypeScript file/],
  [{ name: "a", worker: "src" }, /worker must be/],
  [{ name: "a", assets: "public" }, /assets must be an object/],
  [{ name: "a", assets: { folder: "/public" } }, /assets\.folder must be/],
  [{ name: "a", assets: { notFound: "index" } }, /assets\.notFound must be one of "none", "404-page"/],
  [
    { name: "a", assets: { workerFirst: ["/a", "login"] } },
    /assets\.workerFirst\.1 must be a path like .*, not "login"/,
  ],
  [{ name: "a", assets: { workerFirst: "/login" } }, /assets\.workerFirst must be a list of paths/],
  [{ name: "a", assets: [] }, /assets must be an object, not \[\]/],
  [{ name: "a", assets: { client: "client.ts" } }, /assets\.client must be the relative path of a JavaScript file/],
  [{ name: "a", assets: { page: "page/page.css" } }, /assets\.page must be the relative path of a module/],
  [{ name: "a", assets: { client: "../client.js" } }, /assets\.client must be/],
  [{ name: "a", blobs: { maxBytes: 0 } }, /blobs\.maxBytes must be a whole number of bytes from 1 to 33554432, not 0/],
  [{ name: "a", blobs: { keepHours: 0.5 } }, /blobs\.keepHours must be a whole number of hours/],
  [{ name: "a", blobs: { bucket: "My" } }, /blobs\.bucket must be 3 to 63 lowercase letters/],
  [{ name: "a", dev: 3 }, /dev must be an object/],
  [{ name: "a", dev: { port: "80" } }, /dev\.port must be an integer from 0 to 65535, not "80"/],
  [{ name: "a", dev: { locations: {} } }, /dev\.locations must be/],
  [{ name: "a", dev: { locations: { VA: "7" } } }, /dev\.locations\.VA must be a round trip/],
  [{ name: "a", dev: { locations: { "V A": 7 } } }, /dev\.locations\.V A must be named by/],
  [
    { name: "a", dev: { locations: { VA: { roundTripMs: -1 } } } },
    /dev\.locations\.VA\.roundTripMs must be a round trip/,
  ],
  [
    { name: "a", dev: { locations: { VA: { roundTripMs: 7, jitterMs: 8 } } } },
    /VA\.jitterMs must be 0 ms to the round trip/,
  ],
  [
    { name: "a", dev: { locations: { VA: { roundTripMs: 7, lossPercent: 51 } } } },
    /VA\.lossPercent must be 0 to 50 percent/,
  ],
  [{ name: "a", dev: { locations: { VA: { roundTripMs: 7, loss: 1 } } } }, /dev\.locations\.VA\.loss is not a field/],
])("%j is refused, the field named, with the exit code of wrong usage", (config, message) => {
  const error = thrownBy(() => resolveConfig(config, FILE));
  expect(error.message).toMatch(message);
  expect(error.message).toContain(FILE);
  expect(error.exitCode).toBe(2);
});

test("every wrong field is named at once", () => {
  const error = thrownBy(() => resolveConfig({ name: 1, dev: { port: -1 } }, FILE));
  expect(error.message.split("\n")).toHaveLength(2);
  const unknown = { name: "a", one: 1, two: 2, cache: { three: 3, kind: "kv", memoryBytes: -1 } };
  expect(
    thrownBy(() => resolveConfig(unknown, FILE))
      .message.split("\n")
      .toSorted(),
  ).toEqual([
    expect.stringMatching(/cache\.memoryBytes must be/),
    expect.stringMatching(/cache\.three is not a field/),
    expect.stringMatching(/ one is not a field/),
    expect.stringMatching(/ two is not a field/),
  ]);
});

test("--locations", () => {
  expect(parseLocations("VA=7, CA=74.5")).toEqual([
    { name: "VA", roundTripMs: 7 },
    { name: "CA", roundTripMs: 74.5 },
  ]);
  expect(parseLocations("VA=7/0.5%,JP=146±5/1%,IE=70+-2.5")).toEqual([
    { name: "VA", roundTripMs: 7, lossPercent: 0.5 },
    { name: "JP", roundTripMs: 146, jitterMs: 5, lossPercent: 1 },
    { name: "IE", roundTripMs: 70, jitterMs: 2.5 },
  ]);
  const wrong = ["", "VA", "VA=", "VA=-1", "VA=7,VA=8", "VA=99999", "=7", "VA=7=8", "VA=7±8", "VA=7/51%", "VA=7/1"];
  for (const text of wrong) expect(thrownBy(() => parseLocations(text)).message).toContain("--locations");
});

test("--jitter and --loss are for the locations that say nothing themselves", () => {
  const common = { jitterMs: 20, lossPercent: 1 };
  expect(withCommonDistance(parseLocations("VA=7,JP=146±5,IE=70/0%"), common)).toEqual([
    { name: "VA", roundTripMs: 7, jitterMs: 7, lossPercent: 1 },
    { name: "JP", roundTripMs: 146, jitterMs: 5, lossPercent: 1 },
    { name: "IE", roundTripMs: 70, jitterMs: 20, lossPercent: 0 },
  ]);
  expect(withCommonDistance(PAPER_LOCATIONS, { jitterMs: null, lossPercent: null })).toEqual(PAPER_LOCATIONS);
});

function thrownBy(run: () => unknown): CommandError {
  try {
    run();
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
