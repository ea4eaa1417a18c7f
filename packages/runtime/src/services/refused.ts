/** Thrown by a service: its answer is no, and no further call would change that. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** For programs: a snake_case word. */
  readonly code: string;

  constructor(code: string, message = "") {
    super(message);
    if (typeof code !== "string" || code === "") throw new TypeError("a Refused has a code, such as declined");
    this.code = code;
  }
}
