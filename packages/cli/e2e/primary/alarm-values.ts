/** The alarms of the template, applied to lines of log as CloudWatch applies them to the lines of one period. */
import { DEFAULT_PRIMARY_SETTINGS, template } from "@radical/deploy/testing";
import { fieldsOf, metricFilter } from "./metric-filter.ts";

/** Namespace of the metrics of the deployment whose alarms these are. */
export const NAMESPACE = "Radical/shop/production";

const RESOURCES = template({
  settings: { ...DEFAULT_PRIMARY_SETTINGS, application: "shop", environment: "production" },
  artefact: "0".repeat(64),
  last: "b",
}).Resources;

interface Filter {
  readonly FilterPattern: string;
  readonly MetricTransformations: readonly [{ readonly MetricValue: string }];
}

interface Alarm {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Statistic: "Sum" | "Maximum";
  readonly Threshold: number;
  readonly ComparisonOperator: "GreaterThanThreshold" | "LessThanThreshold";
  readonly TreatMissingData: "breaching" | "notBreaching";
}

interface EmbeddedMetrics {
  readonly CloudWatchMetrics: readonly {
    readonly Namespace: string;
    readonly Dimensions: readonly (readonly string[])[];
    readonly Metrics: readonly { readonly Name: string }[];
  }[];
}

function alarmOf(id: string): Alarm {
  const alarm = RESOURCES[`${id}Alarm`]?.Properties;
  if (alarm === undefined) throw new Error(`there is no alarm ${id}`);
  return alarm as unknown as Alarm;
}

/** The ids of all alarms. */
const ALARMS: readonly string[] = Object.entries(RESOURCES).flatMap(([id, { Type }]) =>
  Type === "AWS::CloudWatch::Alarm" ? [id.replace(/Alarm$/, "")] : [],
);

/** The value of the alarm's metric over these lines; null: it has none. */
export function valueOf(id: string, lines: readonly string[]): number | null {
  const { MetricName, Statistic, Namespace } = alarmOf(id);
  const filter = RESOURCES[`${id}Metric`]?.Properties as unknown as Filter | undefined;
  const values = filter === undefined ? embeddedIn(lines, Namespace, MetricName) : filteredIn(lines, filter);
  if (values.length === 0) return null;
  return Statistic === "Sum" ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
}

function filteredIn(lines: readonly string[], { FilterPattern, MetricTransformations }: Filter): readonly number[] {
  const [{ MetricValue }] = MetricTransformations;
  return lines.filter(metricFilter(FilterPattern)).map((line) => {
    const value = MetricValue.startsWith("$.") ? fieldsOf(line)?.[MetricValue.slice(2)] : Number(MetricValue);
    if (typeof value !== "number") throw new Error(`${MetricValue} is not a number in ${line}`);
    return value;
  });
}

/** The values of a metric that lines have in the embedded metric format, without dimensions. */
function embeddedIn(lines: readonly string[], namespace: string, name: string): readonly number[] {
  return lines.flatMap((text) => {
    const line = fieldsOf(text) ?? {};
    const told = (line["_aws"] as EmbeddedMetrics | undefined)?.CloudWatchMetrics ?? [];
    const isTold = told.some(
      ({ Namespace, Dimensions, Metrics }) =>
        Namespace === namespace &&
        Dimensions.some((dimensions) => dimensions.length === 0) &&
        Metrics.some(({ Name }) => Name === name),
    );
    if (!isTold) return [];
    const value = line[name];
    if (typeof value !== "number") throw new Error(`${name} is not a number in ${text}`);
    return [value];
  });
}

/** The alarms of troubles that a period with these lines lets go off, after it lasts for long enough. */
export function goingOff(lines: readonly string[]): readonly string[] {
  return ALARMS.filter((id) => {
    const { Threshold, ComparisonOperator, TreatMissingData } = alarmOf(id);
    if (ComparisonOperator === "LessThanThreshold") return false;
    if (TreatMissingData !== "notBreaching") throw new Error(`${id} goes off without a trouble`);
    return (valueOf(id, lines) ?? 0) > Threshold;
  });
}

/** The alarms about signs of life that a period with these lines lets go off. `minutes`: how many minutes the lines are of. */
export function missing(lines: readonly string[], minutes: number): readonly string[] {
  return ALARMS.filter((id) => {
    const { Threshold, ComparisonOperator, TreatMissingData } = alarmOf(id);
    const { Period } = RESOURCES[`${id}Alarm`]!.Properties as { Period: number };
    if (ComparisonOperator === "GreaterThanThreshold") return false;
    if (TreatMissingData !== "breaching") throw new Error(`${id} does not notice that nothing is told`);
    return ((valueOf(id, lines) ?? 0) * (Period / 60)) / minutes < Threshold;
  });
}
