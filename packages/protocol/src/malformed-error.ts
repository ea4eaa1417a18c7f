import { FRAMING } from "./wire-version.ts";

/** Bytes that are not what the reader was asked for. */
export class MalformedError extends Error {
  override readonly name = "MalformedError";
}

/** A message that is understood, and has more in it than is taken. */
export class TooLargeError extends MalformedError {}

/** A message of a release that is too far from this one. */
export class UnknownVersionError extends MalformedError {
  readonly hint: string;

  constructor(version: number | bigint) {
    super(
      `the message has protocol version ${version}, and this release of Radical takes ${FRAMING.floor} to ${FRAMING.newest}`,
    );
    this.hint =
      version > FRAMING.newest
        ? "a newer release has sent it: upgrade this side, the primary before its locations"
        : "an older release has sent it: upgrade that side, one release after the other";
  }
}
