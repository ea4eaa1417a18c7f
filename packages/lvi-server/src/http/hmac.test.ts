import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HmacKey } from "./hmac.ts";

test("property: it is HMAC-SHA-256, whatever was signed with the key before", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 150 }),
      fc.array(fc.tuple(fc.constantFrom("", "POST\n/v1/lvi\n"), fc.uint8Array({ maxLength: 1_000 })), { minLength: 1 }),
      (secret, messages) => {
        const key = new HmacKey(secret);
        for (const [head, body] of messages)
          expect(key.sign(head, body)).toBe(createHmac("sha256", secret).update(head).update(body).digest("hex"));
      },
    ),
  );
});

test("of messages of any size", () => {
  const secret = Buffer.from("00112233445566778899aabbccddeeff", "hex");
  const key = new HmacKey(secret);
  for (const size of [0, 1, 16_383, 16_384, 16_385, 1_000_000]) {
    const body = new Uint8Array(size).fill(7);
    expect(key.sign("head\n", body)).toBe(createHmac("sha256", secret).update("head\n").update(body).digest("hex"));
  }
});
