/** Failures of services that are ordered, in words. */
import type { DashboardService } from "@radical/protocol";

export function isFaulty({ throw: thrown, lost, slowMs }: DashboardService): boolean {
  return thrown > 0 || lost > 0 || slowMs > 0;
}

export function percentWords(part: number): string {
  return `${Math.round(part * 1_000) / 10} %`;
}

/** The effect of the failures of a service. */
export function faultWords({ name, throw: thrown, lost, slowMs }: DashboardService): string {
  const told = [
    thrown > 0 ? `${percentWords(thrown)} of its calls fail before they are made, and are tried again later.` : "",
    lost > 0
      ? `${percentWords(lost)} of its answers are lost: the service has acted, and is called again with the same key.`
      : "",
    slowMs > 0 ? `It answers ${slowMs / 1_000} s later.` : "",
  ];
  return `The service ${name}: ${told.filter((words) => words !== "").join(" ")}`;
}
