/** Changes of a message that leave it a message, more or less. */
import type { Random } from "@radical/history";

export type Change = (bytes: Uint8Array) => Uint8Array;

/** CBOR heads: lengths that no message has, types that are not expected, small things. */
const HEADS: readonly (readonly number[])[] = [
  [0x9a, 0xff, 0xff, 0xff, 0xff],
  [0x9b, 0x00, 0x00, 0x00, 0x7f, 0xff, 0xff, 0xff, 0xff],
  [0xba, 0x7f, 0xff, 0xff, 0xff],
  [0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x7a, 0x00, 0xff, 0xff, 0xff],
  [0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
  [0x9f],
  [0x80],
  [0xa0],
  [0xf6],
  [0xf5],
  [0x00],
];

export function changed(random: Random, times: number): Change {
  return (bytes) => {
    let now = bytes;
    for (let i = 0; i < times; i++) now = once(random, now);
    return now;
  };
}

function once(random: Random, bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length + 1);
  const to = Math.min(bytes.length, at + random.below(24));
  switch (random.below(6)) {
    case 0:
      return splice(bytes, at, at + 1, [random.below(256)]);
    case 1:
      return splice(bytes, at, at + 1, random.pick(HEADS));
    case 2:
      return bytes.slice(0, at);
    case 3:
      return splice(bytes, at, to, []);
    case 4:
      return splice(bytes, to, to, bytes.subarray(at, to));
    default:
      return splice(bytes, at, at, new Uint8Array(random.pick([1, 8, 3_000])).fill(0x81));
  }
}

function splice(bytes: Uint8Array, from: number, to: number, put: Iterable<number>): Uint8Array {
  return Buffer.concat([bytes.subarray(0, from), Uint8Array.from(put), bytes.subarray(to)]);
}
