/** The content of an earlier state, as its check has counted it. */
export interface BackupContent {
  /** In the tables of the application. */
  readonly items: number;
  readonly pendingIntents: number;
  readonly tasks: number;
  /** That have not ended. */
  readonly workflows: number;
}
