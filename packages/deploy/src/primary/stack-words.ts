/** The resources of the template, and the states of a stack, in the words of somebody who does not know CloudFormation. */
import { NODES, type NodeName } from "@radical/protocol";

const WORDS: Readonly<Record<string, string>> = {
  Network: "network",
  Internet: "network",
  InternetAttachment: "network",
  Routes: "network",
  RouteOut: "network",
  SubnetA: "network of machine a",
  SubnetB: "network of machine b",
  SubnetRoutesA: "network of machine a",
  SubnetRoutesB: "network of machine b",
  TablesRoute: "way from the network to the tables",
  ArtefactsRoute: "way from the network to the artefact",
  Firewall: "firewall: nothing comes in",
  Role: "role of the machines",
  Profile: "role of the machines",
  StartRole: "role that starts the machines",
  Cluster: "cluster of the machines",
  Logs: "log group of the servers",
  MachineLogs: "log group of the machines",
  Dashboard: "dashboard",
  LaunchA: "machine a",
  LaunchB: "machine b",
  MachineA: "machine a",
  MachineB: "machine b",
  TaskA: "machine a",
  TaskB: "machine b",
  ServiceA: "machine a",
  ServiceB: "machine b",
  Alarms: "topic for alarms by mail",
};

/** Of alarms, by what their resources are called before `Metric` and `Alarm`. */
const ALARMS: Readonly<Record<string, string>> = {
  Errors: "errors in the log",
  PlainLines: "a server was broken off",
  Restarts: "a server is started again and again",
  Leading: "no server leads",
  Machines: "a server is missing",
  Standby: "no server stands by",
  Probes: "Cloudflare does not reach a server",
  DeadTasks: "tasks are dead",
  OldestTask: "a task waits for long",
  StuckWorkflows: "workflows are stuck",
  FailedUndos: "an undo was not done",
  ServicesDown: "a service is down",
  MissedTicks: "schedules are not kept",
  OldestPending: "a promised write is not applied",
  Memory: "memory is nearly used up",
  EventLoop: "a server is too busy",
  Throttles: "DynamoDB throttles",
};

/** Several resources may be one thing. */
export function wordsOf(logicalId: string): string {
  const alarm = ALARMS[/^(\w+?)(?:Metric|Alarm)$/.exec(logicalId)?.[1] ?? ""];
  return alarm === undefined ? (WORDS[logicalId] ?? logicalId) : `alarm: ${alarm}`;
}

export function machineOf(logicalId: string): NodeName | null {
  const [, letter] = /^(?:Machine|Launch|Service|Task)([AB])$/.exec(logicalId) ?? [];
  return NODES.find((node) => node.toUpperCase() === letter) ?? null;
}

/** What can be done with a stack in a state. */
export type StackState =
  | { readonly kind: "none" }
  /** It was never whole: it is removed and made anew. Nothing in it holds anything. */
  | { readonly kind: "failed-creation" }
  | { readonly kind: "ready" }
  | { readonly kind: "busy" }
  | { readonly kind: "stuck" };

export function stackStateOf(status: string | undefined): StackState {
  switch (status) {
    case undefined:
    case "DELETE_COMPLETE":
      return { kind: "none" };
    case "REVIEW_IN_PROGRESS":
    case "CREATE_FAILED":
    case "ROLLBACK_COMPLETE":
    case "ROLLBACK_FAILED":
    case "DELETE_FAILED":
      return { kind: "failed-creation" };
    case "UPDATE_ROLLBACK_FAILED":
    case "UPDATE_FAILED":
      return { kind: "stuck" };
    default:
      return { kind: status.endsWith("_IN_PROGRESS") ? "busy" : "ready" };
  }
}
