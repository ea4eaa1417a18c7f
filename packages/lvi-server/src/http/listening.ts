/** The answer to a location that listens: a line or some for each execution that writes, until either side ends it. */
import type { ServerResponse } from "node:http";
import { checkListeningQuestion, RadicalError, UPDATES_MS } from "@radical/protocol";
import type { Engine } from "../engine.ts";
import { jsonOf } from "./json-body.ts";
import { LineStream, type Streaming } from "./line-stream.ts";

/** Of one listener: more than that is old news by the time it is read. */
const MAX_WAITING_BYTES = 1536 * 1024;

/** `sent`: hears of the bytes of each line that is sent. Throws a RadicalError if too many listen. */
export function listeningAnswer(
  engine: Engine,
  body: Uint8Array,
  streaming: Streaming,
  sent: (bytes: number) => void,
): (response: ServerResponse) => void {
  const question = checkListeningQuestion(jsonOf(body));
  let stream: LineStream | null = null;
  /** Lines that have come before the answer has begun, and whether its end has. */
  const early: { readonly line: string; readonly bytes: number }[] = [];
  let isOver = false;
  const write = (to: LineStream, line: string, bytes: number): boolean => {
    const isSent = to.write(line, bytes);
    if (isSent) sent(bytes);
    return isSent;
  };
  const stop = engine.listen(question, {
    tell: (line, bytes) => (stream === null ? early.push({ line, bytes }) > 0 : write(stream, line, bytes)),
    end: () => {
      isOver = true;
      stream?.end();
    },
  });
  if (stop === null)
    throw new RadicalError(
      "primary_busy",
      "Too many locations listen for updates.",
      "Listen again later; nothing depends on it.",
    );
  return (response) => {
    const timeout = setTimeout(() => stream?.end(), UPDATES_MS);
    const onClose = (): void => {
      clearTimeout(timeout);
      stop();
    };
    stream = new LineStream(response, { ...streaming, maxWaitingBytes: MAX_WAITING_BYTES, onClose });
    for (const { line, bytes } of early.splice(0)) write(stream, line, bytes);
    if (isOver) stream.end();
  };
}
