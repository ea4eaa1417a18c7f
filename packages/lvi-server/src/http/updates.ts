/** The answer to a location that listens: updates, a line or some for each execution, until either side ends it. */
import type { ServerResponse } from "node:http";
import { MalformedError, RadicalError, UPDATES_MS, type UpdatesQuestion } from "@radical/protocol";
import type { Updates } from "../updates.ts";
import { jsonOf } from "./json-body.ts";
import { LineStream } from "./line-stream.ts";

/** Of one listener: more than that is old news by the time it is read. */
const MAX_WAITING_BYTES = 1536 * 1024;
const MAX_NAME_LENGTH = 256;

/** Throws a RadicalError if too many listen. */
export function updatesAnswer(
  updates: Updates,
  body: Uint8Array,
  heartbeatMs: number,
): (response: ServerResponse) => void {
  const { location, listener } = readQuestion(jsonOf(body));
  let stream: LineStream | null = null;
  const stop = updates.listen(location, listener, {
    tell: (line) => stream?.write(line) === true,
    end: () => stream?.end(),
  });
  if (stop === null)
    throw new RadicalError("primary_busy", "too many listen for updates", "listen again later; nothing depends on it");
  return (response) => {
    const timeout = setTimeout(() => stream?.end(), UPDATES_MS);
    const onClose = (): void => {
      clearTimeout(timeout);
      stop();
    };
    stream = new LineStream(response, { heartbeatMs, maxWaitingBytes: MAX_WAITING_BYTES, onClose });
  };
}

function readQuestion({ location, listener }: Readonly<Record<string, unknown>>): UpdatesQuestion {
  if (!isName(location) || !isName(listener)) throw new MalformedError("no location, or no listener");
  return { location, listener };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_LENGTH;
}
