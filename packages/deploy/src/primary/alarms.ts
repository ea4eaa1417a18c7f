/**
 * The alarms of a primary, and the filters that make their metrics of what its servers log. Each host of the template has the same ones,
 * and says how its lines look.
 */
import { primaryNames } from "./names.ts";
import type { PrimarySettings } from "./primary-deployment.ts";
import type { Resource, Template } from "./template.ts";

/** What is different from host to host. */
export interface AlarmHost {
  /** The logical id of the log group with the lines of the servers. */
  readonly logs: string;
  /** The lines, one a minute from each server, which say that it leads and can be reached, and that it is up. */
  readonly patterns: Readonly<Record<"Leading" | "Machines", string>>;
}

export function alarms(settings: PrimarySettings, host: AlarmHost): Template["Resources"] {
  const { metrics, stack } = primaryNames(settings);
  const actions = settings.alarmEmail === null ? {} : { AlarmActions: [{ Ref: "Alarms" }], OKActions: [{ Ref: "Alarms" }] };
  const metric = (id: string, FilterPattern: string, MetricValue = "1"): [string, Resource] => [
    `${id}Metric`,
    {
      Type: "AWS::Logs::MetricFilter",
      Properties: {
        LogGroupName: { Ref: host.logs },
        FilterPattern,
        MetricTransformations: [{ MetricNamespace: metrics, MetricName: id, MetricValue }],
      },
    },
  ];
  const alarm = (id: string, AlarmDescription: string, rest: Readonly<Record<string, unknown>>): [string, Resource] => [
    `${id}Alarm`,
    {
      Type: "AWS::CloudWatch::Alarm",
      Properties: {
        AlarmName: `${stack}-${alarmName(id)}`,
        AlarmDescription,
        Namespace: metrics,
        MetricName: id,
        Statistic: "Sum",
        ...rest,
        ...actions,
      },
    },
  ];
  return Object.fromEntries([
    metric("Errors", errorsPattern()),
    metric("Leading", host.patterns.Leading),
    metric("Machines", host.patterns.Machines),
    alarm("Errors", "The server logged an error: radical tail, or the log group", {
      Period: 60,
      EvaluationPeriods: 1,
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
    }),
    alarm("Leading", "No machine leads and can be reached: requests that need the primary fail", {
      Period: 60,
      EvaluationPeriods: 3,
      Threshold: 1,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
    // Two say so each minute.
    alarm("Machines", "One of the two machines is missing: the next failure stops the primary", {
      Period: 600,
      EvaluationPeriods: 2,
      Threshold: 15,
      ComparisonOperator: "LessThanThreshold",
      TreatMissingData: "breaching",
    }),
    ...effectAlarms(settings).flatMap(({ id, field, above, minutes, words }) => [
      metric(id, '{ $.event = "effects_wait" }', `$.${field}`),
      alarm(id, words, {
        Statistic: "Maximum",
        Period: 60,
        // The server says it once a minute, and a line may fall into the next one.
        EvaluationPeriods: minutes + 2,
        DatapointsToAlarm: minutes,
        Threshold: above,
        ComparisonOperator: "GreaterThanThreshold",
        TreatMissingData: "notBreaching",
      }),
    ]),
    ...(settings.alarmEmail === null
      ? []
      : [
          [
            "Alarms",
            {
              Type: "AWS::SNS::Topic",
              Properties: { Subscription: [{ Protocol: "email", Endpoint: settings.alarmEmail }] },
            },
          ],
        ]),
  ]) as Template["Resources"];
}

/** Handlers log errors of their own, which are none of the server. The others have an alarm for themselves. */
const NOT_COUNTED = ["handler_log", "task_dead", "workflow_stuck_alarm"];

function errorsPattern(): string {
  const others = NOT_COUNTED.map((event) => ` && $.event != "${event}"`);
  return `{ $.level = "error"${others.join("")} }`;
}

/** An alarm on a field of the line that the server logs each minute while effects wait for somebody. */
interface EffectAlarm {
  readonly id: string;
  readonly field: string;
  readonly above: number;
  /** For so long, before the alarm goes off. */
  readonly minutes: number;
  readonly words: string;
}

/** A task that may begin and has not is an alarm after this time. */
const MOST_READY_SECONDS = 600;

function effectAlarms({ environment }: PrimarySettings): readonly EffectAlarm[] {
  const command = (words: string): string => `radical ${words} --env ${environment}`;
  return [
    {
      id: "DeadTasks",
      field: "deadTasks",
      above: 0,
      minutes: 1,
      words: `Tasks are dead: each attempt failed, or nobody knows whether a service has acted, and nothing tries them again. Each one in a lane blocks the lane. See ${command("tasks list --state dead")}, mend the cause, and then: radical tasks retry, or discard.`,
    },
    {
      id: "OldestTask",
      field: "oldestReadySeconds",
      above: MOST_READY_SECONDS,
      minutes: 1,
      words: `A task that may begin has waited for over ${MOST_READY_SECONDS / 60} minutes: more tasks come than the machines can run, its @limit is too low, its service is down, or the module lacks its handler. See ${command("tasks list")}. Then raise the limit, take a larger instanceType, mend the service, or deploy the handler again.`,
    },
    {
      id: "StuckWorkflows",
      field: "stuckWorkflows",
      above: 0,
      minutes: 1,
      words: `Workflows are stuck: their code can't go on from their journal, and nothing was undone. See ${command("workflows list --state stuck")}, which names the reason. Mend the cause and then: radical workflows retry, or cancel.`,
    },
    {
      id: "ServicesDown",
      field: "servicesDown",
      above: 0,
      minutes: 3,
      words: `Calls of a service fail, so they pause, and its tasks wait. See ${command("doctor")}, which names the service and its last failure. Mend the service, or the Worker that calls it. The first call that succeeds ends the pause.`,
    },
  ];
}

/** `DeadTasks` is `dead-tasks`. */
function alarmName(id: string): string {
  return id.replaceAll(/\B[A-Z]/g, "-$&").toLowerCase();
}
