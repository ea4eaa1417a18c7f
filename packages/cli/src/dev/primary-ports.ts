/** The primary, as pages of the dashboard ask it. */
import type { PrimaryAddress } from "@radical/admin";

export interface PrimaryPorts {
  /** Asks the server that leads. */
  readonly asking: <T>(ask: (primary: PrimaryAddress) => Promise<T>) => Promise<T>;
  /** Whether arguments are shown. Those of a deployment are values of its users. */
  readonly showsArguments: boolean;
}
