/** The questions of clients and the answers to them: all that checkers of client-visible values may look at. */
import type { ExecutionId, Outcome, UnitId } from "@radical/protocol";
import type { ProgramName } from "./programs.ts";

/** One question of a client. The same execution may be asked for several times. */
export interface Operation {
  readonly name: string;
  readonly executionId: ExecutionId;
  readonly program: ProgramName;
  readonly units: readonly UnitId[];
  readonly amount: number;
  readonly mustNotWrite: boolean;
  /** Times are positions in the history, all different. */
  readonly invokedAt: number;
  /** Null: it never got an answer. */
  readonly answeredAt: number | null;
  readonly outcome: Outcome | null;
}
