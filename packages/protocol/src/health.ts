/** A location's answer about itself: JSON at a path of its own, after one LVI round trip. */

/** `GET`. No name of a handler has a dash. */
export const HEALTH_PATH = "/api/-/health";

/**
 * Of a healthy location, to a request that is signed with the deployment's key. Anybody else is told the status alone. Anything else is
 * answered with an error, as calls of handlers are.
 */
export interface Health {
  readonly status: "ok";
  readonly application: string;
  /** Hash of the module that it runs. */
  readonly module: string;
  /** Of the `radical deploy` that made this Worker; null: none did. */
  readonly deployment: string | null;
  readonly location: string;
  /** How long the LVI round trip took, as far as clocks go on there. */
  readonly primaryMs: number;
  /** Calls that the isolate of this answer has answered, by `x-radical-path`. A location has several isolates. An older one does not say. */
  readonly answered?: Readonly<Record<string, number>>;
  /** Results that this isolate has shown before their answers, by the verdict of the answer. An older one does not say. */
  readonly shown?: Readonly<Record<string, number>>;
}
