/** The bytes of the application's Worker's answer. One that goes on for too long is not read to its end, whatever its headers say. */
const MAX_BYTES = 1024 * 1024;

export class AnswerTooLongError extends Error {
  override readonly name = "AnswerTooLongError";
}

/** Rejects with an AnswerTooLongError. */
export async function readWorkerAnswer({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new AnswerTooLongError(`the answer has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}
