/** Bytes that are not what the reader was asked for. */
export class MalformedError extends Error {
  override readonly name = "MalformedError";
}

/** A message that is understood, and has more in it than is taken. */
export class TooLargeError extends MalformedError {}
