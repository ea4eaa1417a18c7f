/**
 * The alarms of a primary, the filters that make metrics of what its servers log, and the dashboard. Each host of the template has the same
 * ones, and says how its lines look. Every alarm has a page, docs/runbooks/<its name>.md.
 */
import { SERVER_METRICS, type ServerMetric, VITAL_LIMITS } from "@radical/protocol";
import { primaryNames } from "./names.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import type { Resource, Template } from "./template-parts.ts";

/** The parts that are different from host to host. */
export interface AlarmHost {
  /** The logical id of the log group with the logs of the servers. It has no lines of other programs: each one that is not JSON raises an alarm. */
  readonly logs: string;
  /**
   * Each server has a line a minute that each of these counts. `Leading`: it leads, and can be reached. `Machines`: it answers, and can be
   * reached. `Standby`: it waits for the leadership. The server's own line of metrics has its `state`, `serving` or `standby`.
   */
  readonly patterns: Readonly<Record<"Leading" | "Machines" | "Standby", string>>;
}

interface Condition {
  readonly statistic: "Sum" | "Maximum";
  readonly above?: number;
  readonly below?: number;
  readonly periodSeconds: number;
  /** In so many of the last periods. */
  readonly periods: number;
  readonly of: number;
}

interface AlarmKind extends Condition {
  readonly id: string;
  /** The source of its metric. */
  readonly from:
    | { readonly kind: "lines"; readonly pattern: string; readonly value?: string }
    /** The servers' lines of metrics have it. */
    | { readonly kind: "metric"; readonly name: ServerMetric };
  readonly words: string;
}

/** `DeadTasks` is `dead-tasks`. */
function alarmName(id: string): string {
  return id.replaceAll(/\B[A-Z]/g, "-$&").toLowerCase();
}

export function alarms(settings: PrimarySettings, host: AlarmHost): Template["Resources"] {
  const { metrics: namespace, stack } = primaryNames(settings);
  const { alarmEmail, alarmTopic } = settings;
  const topics = [...(alarmEmail === null ? [] : [{ Ref: "Alarms" }]), ...(alarmTopic === null ? [] : [alarmTopic])];
  const actions = topics.length === 0 ? {} : { AlarmActions: topics, OKActions: topics };
  const all = alarmKinds(settings, host);
  const filters = all.flatMap(({ id, from }): [string, Resource][] =>
    from.kind === "metric"
      ? []
      : [
          [
            `${id}Metric`,
            {
              Type: "AWS::Logs::MetricFilter",
              Properties: {
                LogGroupName: { Ref: host.logs },
                FilterPattern: from.pattern,
                MetricTransformations: [{ MetricNamespace: namespace, MetricName: id, MetricValue: from.value ?? "1" }],
              },
            },
          ],
        ],
  );
  const watching = all.map(({ id, from, words, ...condition }): [string, Resource] => [
    `${id}Alarm`,
    {
      Type: "AWS::CloudWatch::Alarm",
      Properties: {
        AlarmName: `${stack}-${alarmName(id)}`,
        AlarmDescription: `${words} What to do: docs/runbooks/${alarmName(id)}.md`,
        Namespace: namespace,
        MetricName: from.kind === "metric" ? from.name : id,
        ...conditionOf(condition),
        ...actions,
      },
    },
  ]);
  return Object.fromEntries([
    ...filters,
    ...watching,
    ...(alarmEmail === null ? [] : [["Alarms", topicOf(alarmEmail)] as const]),
    [
      "Dashboard",
      dashboard(
        settings,
        all.map(({ id }) => `${stack}-${alarmName(id)}`),
      ),
    ],
  ]);
}

function topicOf(address: string): Resource {
  return { Type: "AWS::SNS::Topic", Properties: { Subscription: [{ Protocol: "email", Endpoint: address }] } };
}

function conditionOf({ statistic, above, below, periodSeconds, periods, of }: Condition): object {
  return {
    Statistic: statistic,
    Period: periodSeconds,
    EvaluationPeriods: of,
    ...(periods === of ? {} : { DatapointsToAlarm: periods }),
    Threshold: above ?? below,
    ComparisonOperator: above === undefined ? "LessThanThreshold" : "GreaterThanThreshold",
    // A server that is well says nothing of troubles; one that is gone says nothing at all.
    TreatMissingData: above === undefined ? "breaching" : "notBreaching",
  };
}

/** In a minute. */
const AT_ONCE = { statistic: "Sum", above: 0, periodSeconds: 60, periods: 1, of: 1 } as const;
/** Two say it each minute. A machine that is replaced is away for a quarter of an hour at most. */
const TWO_FOR_LONG = { statistic: "Sum", periodSeconds: 600, periods: 2, of: 2 } as const;
/** Lines of the server come once a minute, and one may fall into the next minute. */
const LASTING = { statistic: "Maximum", periodSeconds: 60, periods: 3, of: 5 } as const;

/** A task that may begin and has not is an alarm after this time. */
const MOST_READY_SECONDS = 600;
/** A deployment starts each of the two servers once. */
const MOST_STARTS = 4;

/** Events that have alarms for themselves, and lines of handlers, which log errors of their own. */
const NOT_COUNTED = ["handler_log", "task_dead", "workflow_stuck_alarm", "workflow_undo_failed"];

function alarmKinds({ environment }: PrimarySettings, { patterns }: AlarmHost): readonly AlarmKind[] {
  const command = (words: string): string => `radical ${words} --env ${environment}`;
  const lines = (pattern: string, value?: string): AlarmKind["from"] => ({
    kind: "lines",
    pattern,
    ...(value === undefined ? {} : { value }),
  });
  const metric = (name: ServerMetric): AlarmKind["from"] => ({ kind: "metric", name });
  /** A field of the line that the server logs each minute while effects wait for somebody. */
  const effect = (field: string, above: number, minutes: number) => ({
    from: lines('{ $.event = "effects_wait" }', `$.${field}`),
    ...LASTING,
    above,
    periods: minutes,
    of: minutes + 2,
  });
  return [
    {
      id: "Errors",
      from: lines(`{ $.level = "error"${NOT_COUNTED.map((event) => ` && $.event != "${event}"`).join("")} }`),
      ...AT_ONCE,
      words: `The server logged an error: ${command("tail --errors")}, or the log group.`,
    },
    {
      id: "PlainLines",
      // Each line of the log begins with a brace.
      from: lines("%^[A-Za-z0-9#]%"),
      ...AT_ONCE,
      words: "A server wrote words that are not its log: its process was broken off, mostly since memory was used up.",
    },
    {
      id: "Restarts",
      from: lines('{ $.event = "configuration" }'),
      ...AT_ONCE,
      above: MOST_STARTS,
      periodSeconds: 900,
      words: `Servers were started more than ${MOST_STARTS} times in a quarter of an hour: one ends again and again.`,
    },
    {
      id: "Leading",
      from: lines(patterns.Leading),
      statistic: "Sum",
      below: 1,
      periodSeconds: 60,
      periods: 3,
      of: 3,
      words: "No server leads and can be reached: requests that need the primary fail.",
    },
    {
      id: "Machines",
      from: lines(patterns.Machines),
      ...TWO_FOR_LONG,
      below: 15,
      words: `One of the two servers does not answer, or can't be reached: the next failure stops the primary. See ${command("doctor")}.`,
    },
    {
      id: "Standby",
      from: lines(patterns.Standby),
      ...TWO_FOR_LONG,
      below: 5,
      words: "No server waits for the leadership: if the one that leads fails, none takes over.",
    },
    {
      id: "Probes",
      from: lines('{ $.event = "probed" }'),
      ...TWO_FOR_LONG,
      below: 15,
      words: "Cloudflare does not reach both servers through their tunnels: locations may not reach them either.",
    },
    {
      id: "DeadTasks",
      ...effect("deadTasks", 0, 1),
      words: `Tasks are dead: each attempt failed, or nobody knows whether a service has acted, and nothing tries them again. Each one in a lane blocks the lane. See ${command("tasks list --state dead")}, mend the cause, and then: radical tasks retry, or discard.`,
    },
    {
      id: "OldestTask",
      ...effect("oldestReadySeconds", MOST_READY_SECONDS, 1),
      words: `A task that may begin has waited for over ${MOST_READY_SECONDS / 60} minutes: more tasks come than the machines can run, its @limit is too low, its service is down, or the module lacks its handler. See ${command("tasks list")}. Then raise the limit, take a larger machine, mend the service, or deploy the handler again.`,
    },
    {
      id: "StuckWorkflows",
      ...effect("stuckWorkflows", 0, 1),
      words: `Workflows are stuck: their code can't go on from their journal, and nothing was undone. See ${command("workflows list --state stuck")}, which names the reason. Mend the cause and then: radical workflows retry, or cancel.`,
    },
    {
      id: "FailedUndos",
      from: lines('{ $.event = "workflow_undo_failed" }'),
      ...AT_ONCE,
      words: `An undo of a workflow was not done: it was refused, or nobody knows whether its service has acted. Nothing tries it again. Or it fails again and again, and is tried again. See ${command("tail --errors")}, which names the workflow, the callee, its key and the reason. Then do by hand what is left, or mend the cause.`,
    },
    {
      id: "ServicesDown",
      ...effect("servicesDown", 0, 3),
      words: `Calls of a service fail, so they pause, and its tasks wait. See ${command("doctor")}, which names the service and its last failure. Mend the service, or the Worker that calls it. The first call that succeeds ends the pause.`,
    },
    {
      id: "MissedTicks",
      from: metric("MissedTicks"),
      ...AT_ONCE,
      periodSeconds: 300,
      periods: 2,
      of: 3,
      words: `Ticks of schedules make no calls: the call before goes on for too long, or the primary was away. See ${command("schedules list")}.`,
    },
    {
      id: "OldestPending",
      from: metric("OldestPendingSeconds"),
      ...LASTING,
      above: VITAL_LIMITS.oldestPendingSeconds,
      words: `A promised write was not applied for over a minute, and its items are locked. See ${command("doctor")}.`,
    },
    {
      id: "Memory",
      from: metric("MemoryPercent"),
      ...LASTING,
      above: VITAL_LIMITS.memoryPercent,
      words: `A server has more than ${VITAL_LIMITS.memoryPercent} % of its memory in use. See ${command("metrics")}. Then take a larger machine.`,
    },
    {
      id: "EventLoop",
      from: metric("LoopDelayMs"),
      ...LASTING,
      above: VITAL_LIMITS.loopDelayMs,
      words: `A server is busy beyond its processor: each answer waits for over half a second. See ${command("metrics")}.`,
    },
    {
      id: "Throttles",
      from: metric("Throttles"),
      ...LASTING,
      statistic: "Sum",
      above: 0,
      words: `DynamoDB throttles requests of the server, which repeats them: writes are slow or refused. See ${command("metrics")}.`,
    },
  ];
}

// ── Dashboard ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Widgets in the grid of a dashboard, which is 24 wide. */
const WIDTH = 8;
const HEIGHT = 6;
const ACROSS = 3;

function dashboard(settings: PrimarySettings, alarmNames: readonly string[]): Resource {
  const { metrics: namespace, stack } = primaryNames(settings);
  const graph = (title: string, ...names: readonly ServerMetric[]): object => ({
    type: "metric",
    properties: {
      title,
      region: "${AWS::Region}",
      period: 60,
      metrics: names.map((name) => [
        namespace,
        name,
        { stat: SERVER_METRICS[name].statistic, label: SERVER_METRICS[name].words },
      ]),
    },
  });
  const arn = (name: string): string =>
    `arn:\${AWS::Partition}:cloudwatch:\${AWS::Region}:\${AWS::AccountId}:alarm:${name}`;
  const status = { type: "alarm", properties: { title: "Alarms", alarms: alarmNames.map(arn) } };
  const graphs = [
    graph("Requests a minute", "Requests", "Refused"),
    graph("Time of a request at the primary, ms", "LatencyP50Ms", "LatencyP99Ms"),
    graph("Promised writes", "Pending", "OldestPendingSeconds"),
    graph("Effects", "TasksReady", "MissedTicks"),
    graph("Storage", "StorageP99Ms", "StorageFailures", "Throttles"),
    graph("Memory, %", "MemoryPercent"),
    graph("Delay of the event loop, ms", "LoopDelayMs"),
    graph("Read leases", "LeasedUnits"),
  ];
  const placed = graphs.map((widget, at) => ({
    ...widget,
    x: (at % ACROSS) * WIDTH,
    y: HEIGHT * (1 + Math.floor(at / ACROSS)),
    width: WIDTH,
    height: HEIGHT,
  }));
  const widgets = [{ ...status, x: 0, y: 0, width: WIDTH * ACROSS, height: HEIGHT }, ...placed];
  return {
    Type: "AWS::CloudWatch::Dashboard",
    Properties: { DashboardName: stack, DashboardBody: { "Fn::Sub": JSON.stringify({ widgets }) } },
  };
}
