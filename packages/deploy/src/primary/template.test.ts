import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { SERVER_METRICS } from "@radical/protocol";
import { nodeFiles } from "./node-files.ts";
import { DEFAULT_PRIMARY_SETTINGS, type PrimarySettings } from "./primary-deployment.ts";
import { wordsOf } from "./stack-words.ts";
import { groupOf } from "./ec2-host.ts";
import { template } from "./template.ts";
import type { Template } from "./template-parts.ts";

const SETTINGS: PrimarySettings = {
  ...DEFAULT_PRIMARY_SETTINGS,
  host: "ec2",
  application: "shop",
  environment: "production",
};
const ARTEFACT = "5eca2e55e94e997577dbcadd0de02f524bd50952ebb33f1402c4ee5da44f8c7d";

const made = template({ settings: SETTINGS, artefact: ARTEFACT, last: "b" });

function ofType({ Resources }: Template, type: string): readonly Readonly<Record<string, unknown>>[] {
  return Object.values(Resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties ?? {}] : []));
}

test("the template of a deployment", async () => {
  await expect(`${JSON.stringify(made, null, 2)}\n`).toMatchFileSnapshot("golden/template.json");
});

test("with shell access, an address for alarms and chosen zones", async () => {
  const settings: PrimarySettings = {
    ...SETTINGS,
    shellAccess: true,
    alarmEmail: "ops@example.com",
    zones: ["us-east-1b", "us-east-1d"],
    instanceType: "m8g.medium",
  };
  const all = template({ settings, artefact: ARTEFACT, last: "b" });
  const plain = JSON.parse(JSON.stringify(made)) as Template;
  const changed = Object.entries(all.Resources)
    .filter(([id, resource]) => JSON.stringify(resource) !== JSON.stringify(plain.Resources[id]))
    .map(([id]) => id);
  const allAlarms = Object.keys(made.Resources).filter((id) => id.endsWith("Alarm"));
  expect(changed.toSorted()).toEqual(
    ["Alarms", ...allAlarms, "LaunchA", "LaunchB", "Role", "SubnetA", "SubnetB"].toSorted(),
  );
});

test("tags and a boundary of permissions: on all that is made, on volumes too, and each role has the boundary", () => {
  const boundary = "arn:aws:iam::123456789012:policy/boundary";
  const settings = { ...SETTINGS, tags: { costCentre: "shop" }, permissionsBoundary: boundary };
  for (const host of ["ec2", "fargate"] as const) {
    const all = template({ settings: { ...settings, host }, artefact: ARTEFACT, last: "b" });
    expect(all.Metadata.Tags).toEqual({ "radical:deployment": "radical-shop-production", costCentre: "shop" });
    const roles = ofType(all, "AWS::IAM::Role");
    expect(roles.map(({ PermissionsBoundary }) => PermissionsBoundary)).toEqual(roles.map(() => boundary));
    for (const { LaunchTemplateData } of ofType(all, "AWS::EC2::LaunchTemplate"))
      for (const { Tags } of (LaunchTemplateData as { TagSpecifications: { Tags: object[] }[] }).TagSpecifications)
        expect(Tags).toContainEqual({ Key: "costCentre", Value: "shop" });
  }
  for (const role of ofType(made, "AWS::IAM::Role")) expect(role).not.toHaveProperty("PermissionsBoundary");
});

test("the most tags that a configuration may have leave room in the template", () => {
  const tags = Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => [`${index}`.padEnd(50, "x"), "x".repeat(50)]),
  );
  for (const host of ["ec2", "fargate"] as const) {
    const all = template({ settings: { ...SETTINGS, host, tags }, artefact: ARTEFACT, last: "b" });
    // CloudFormation takes no more.
    expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(51_200);
  }
});

test("another time of read leases replaces both machines, and the outputs say it", () => {
  const all = template({ settings: { ...SETTINGS, readLeaseMs: 0 }, artefact: ARTEFACT, last: "b" });
  const changed = Object.keys(all.Resources).filter(
    (id) => JSON.stringify(all.Resources[id]) !== JSON.stringify(made.Resources[id]),
  );
  expect(changed.toSorted()).toEqual(["LaunchA", "LaunchB"]);
  expect([made, all].map(({ Outputs }) => Outputs.ReadLeases.Value)).toEqual(["3000 ms", "none"]);
});

test("alarms tell a topic of the developer's own, beside the address or without it", () => {
  const topic = "arn:aws:sns:eu-central-1:123456789012:on-call";
  const both = template({
    settings: { ...SETTINGS, alarmEmail: "ops@example.com", alarmTopic: topic },
    artefact: ARTEFACT,
    last: "b",
  });
  const alone = template({ settings: { ...SETTINGS, alarmTopic: topic }, artefact: ARTEFACT, last: "b" });
  for (const [all, actions] of [
    [both, [{ Ref: "Alarms" }, topic]],
    [alone, [topic]],
  ] as const)
    for (const { AlarmActions, OKActions } of ofType(all, "AWS::CloudWatch::Alarm"))
      expect([AlarmActions, OKActions]).toEqual([actions, actions]);
  expect(alone.Resources).not.toHaveProperty("Alarms");
});

test("each alarm has a name of its own, a metric that a filter or a server makes, words for whoever is woken, and a page", async () => {
  const filters = ofType(made, "AWS::Logs::MetricFilter").map(
    ({ MetricTransformations }) => (MetricTransformations as { MetricName: string }[])[0]!.MetricName,
  );
  const alarms = ofType(made, "AWS::CloudWatch::Alarm");
  const ofServers = Object.keys(SERVER_METRICS);
  const read = new Set(alarms.map(({ MetricName }) => String(MetricName)));
  expect(new Set([...read].filter((name) => !ofServers.includes(name)))).toEqual(new Set(filters));
  expect(filters.filter((name) => ofServers.includes(name))).toEqual([]);
  const page = await readFile(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
  for (const { AlarmName, AlarmDescription } of alarms as readonly Readonly<Record<string, string>>[]) {
    const name = AlarmName!.replace("radical-shop-production-", "");
    expect(page).toContain(`\n| \`${name}\` |`);
    // CloudWatch takes no more.
    expect(AlarmDescription!.length).toBeLessThan(1_024);
    expect(AlarmDescription).toMatch(new RegExp(` docs/runbooks/${name}\\.md$`));
  }
  expect(new Set(alarms.map(({ AlarmName }) => AlarmName)).size).toBe(alarms.length);
});

test("the dashboard shows all alarms, and metrics that servers write", () => {
  const [{ DashboardBody }] = ofType(made, "AWS::CloudWatch::Dashboard") as [{ DashboardBody: { "Fn::Sub": string } }];
  const { widgets } = JSON.parse(DashboardBody["Fn::Sub"]) as {
    widgets: { properties: { alarms?: string[]; metrics?: [string, string][] } }[];
  };
  const shown = widgets.flatMap(({ properties: { alarms = [] } }) => alarms.map((arn) => arn.split(":").at(-1)));
  expect(shown).toEqual(ofType(made, "AWS::CloudWatch::Alarm").map(({ AlarmName }) => AlarmName));
  const metrics = widgets.flatMap(({ properties }) => properties.metrics ?? []);
  expect(new Set(metrics.map(([namespace]) => namespace))).toEqual(new Set(["Radical/shop/production"]));
  expect(metrics.map(([, name]) => name).toSorted()).toEqual(Object.keys(SERVER_METRICS).toSorted());
});

test("alarms of effects read what the server logs, and no other alarm counts the same events", () => {
  const filters = ofType(made, "AWS::Logs::MetricFilter");
  const values = filters.flatMap(({ FilterPattern, MetricTransformations }) =>
    FilterPattern === '{ $.event = "effects_wait" }'
      ? (MetricTransformations as { MetricValue: string }[]).map(({ MetricValue }) => MetricValue)
      : [],
  );
  expect(values).toEqual(["$.deadTasks", "$.oldestReadySeconds", "$.stuckWorkflows", "$.servicesDown"]);
  const errors = filters.find(({ FilterPattern }) => String(FilterPattern).includes('$.level = "error"'));
  for (const event of ["task_dead", "workflow_stuck_alarm", "workflow_undo_failed"])
    expect(errors!["FilterPattern"]).toContain(`$.event != "${event}"`);
  const descriptions = ofType(made, "AWS::CloudWatch::Alarm").map(({ AlarmDescription }) => AlarmDescription);
  for (const words of descriptions)
    expect(words).not.toMatch(/radical (?:tail|doctor|metrics|tasks list)(?!.*--env production)/);
});

test("every resource of an alarm has words", () => {
  for (const id of Object.keys(made.Resources).filter((each) => /Alarm$|Metric$/.test(each)))
    expect(wordsOf(id)).toMatch(/^alarm: /);
  for (const id of ["Dashboard", "MachineLogs"]) expect(wordsOf(id)).not.toBe(id);
});

test("nothing comes in: no ingress, no key pair, no port but that of the tunnel's way out", () => {
  const [firewall] = ofType(made, "AWS::EC2::SecurityGroup");
  expect(firewall).not.toHaveProperty("SecurityGroupIngress");
  expect(ofType(made, "AWS::EC2::SecurityGroupIngress")).toEqual([]);
  const ports = (firewall!["SecurityGroupEgress"] as { IpProtocol: string; FromPort: number; ToPort: number }[]).map(
    ({ IpProtocol, FromPort, ToPort }) => `${IpProtocol} ${FromPort}-${ToPort}`,
  );
  expect(ports).toEqual(["udp 7844-7844", "tcp 443-443"]);
  expect(JSON.stringify(made)).not.toMatch(/KeyName|SecurityGroupIngress/);
  for (const { LaunchTemplateData } of ofType(made, "AWS::EC2::LaunchTemplate"))
    expect(LaunchTemplateData).toMatchObject({ MetadataOptions: { HttpTokens: "required" } });
});

test("the role names what is this deployment's, and no action or resource is everything", () => {
  const [role] = ofType(made, "AWS::IAM::Role");
  const [policy] = role!["Policies"] as { PolicyDocument: { Statement: { Action: unknown; Resource: unknown }[] } }[];
  for (const { Action, Resource } of policy!.PolicyDocument.Statement) {
    const actions = [Action].flat() as string[];
    for (const action of actions) {
      expect(action).not.toContain("*");
      expect(action).not.toMatch(/CreateTable|DeleteTable|PutParameter|PutObject|iam:/);
    }
    for (const resource of [Resource].flat()) {
      const arn = (resource as { "Fn::Sub": string })["Fn::Sub"];
      expect(arn).toMatch(/radical-shop-production-|\/radical\/shop\/production|:s3:::radical-shop-[0-9a-f]{8}-/);
    }
  }
});

test("the machine that leads is replaced when the other one is up again", () => {
  for (const [last, first] of [
    ["a", "b"],
    ["b", "a"],
  ] as const) {
    const { Resources } = template({ settings: SETTINGS, artefact: ARTEFACT, last });
    expect(Resources[groupOf(last)]!.DependsOn).toContain(groupOf(first));
    expect(Resources[groupOf(first)]!.DependsOn).not.toContain(groupOf(last));
    for (const group of [groupOf("a"), groupOf("b")])
      expect(Resources[group]!.UpdatePolicy).toMatchObject({
        AutoScalingRollingUpdate: { MinInstancesInService: 0, MaxBatchSize: 1, WaitOnResourceSignals: true },
      });
  }
});

test("another server is another start of both machines, and of nothing else", () => {
  const other = template({ settings: SETTINGS, artefact: "0".repeat(64), last: "b" });
  const changed = Object.keys(made.Resources).filter(
    (id) => JSON.stringify(made.Resources[id]) !== JSON.stringify(other.Resources[id]),
  );
  expect(changed).toEqual(["LaunchA", "LaunchB"]);
});

test("it is small enough to be sent as it is", () => {
  expect(Buffer.byteLength(JSON.stringify(made))).toBeLessThan(51_200);
  for (const { LaunchTemplateData } of ofType(made, "AWS::EC2::LaunchTemplate")) {
    const { UserData } = LaunchTemplateData as { UserData: { "Fn::Base64": { "Fn::Sub": string } } };
    expect(Buffer.byteLength(UserData["Fn::Base64"]["Fn::Sub"])).toBeLessThan(16_384);
  }
});

test("a machine that can't be made ends itself after a pause, so that its group launches another one", () => {
  for (const { LaunchTemplateData } of ofType(made, "AWS::EC2::LaunchTemplate")) {
    expect(LaunchTemplateData).toMatchObject({ InstanceInitiatedShutdownBehavior: "terminate" });
    const { UserData } = LaunchTemplateData as { UserData: { "Fn::Base64": { "Fn::Sub": string } } };
    expect(UserData["Fn::Base64"]["Fn::Sub"]).toMatch(
      /if \[ \$code -eq 0 \]; then return; fi\n[^\n]*\n {2}shutdown --poweroff \+5\n/,
    );
  }
});

test("what faces the network is kept from the metadata of its machine, and has the sandbox of the server", () => {
  const files = nodeFiles();
  const settings = (unit: string): readonly string[] =>
    files[unit]!.split("\n").filter((line) =>
      /^(?:Protect|Private|Restrict|SystemCall|Capability|NoNew|Lock|LimitCORE)/.test(line),
    );
  const [server, tunnel] = ["radical-lvi-server.service", "node/systemd/radical-tunnel.service"].map(settings);
  expect(tunnel).toEqual(server);
  expect(tunnel!.length).toBeGreaterThan(15);
  expect(files["node/systemd/radical-tunnel.service"]).toContain("\nIPAddressDeny=169.254.169.254 fd00:ec2::254\n");
});

test("every timer has its unit, and every unit its script", () => {
  const files = nodeFiles();
  const needed = Object.entries(files).flatMap(([path, text]) => [
    ...(path.endsWith(".timer") ? [path.replace(/timer$/, "service")] : []),
    ...[...text.matchAll(/^ExecSt(?:art|opPost)=\+?\/opt\/radical\/(node\/.*)$/gm)].map(([, script]) => script!),
  ]);
  expect(needed).toHaveLength(5);
  expect(Object.keys(files)).toEqual(expect.arrayContaining(needed));
});
