/** Why nothing was made, and what to do. */
export class ScaffoldError extends Error {
  override readonly name = "ScaffoldError";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
