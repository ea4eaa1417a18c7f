/** The example of docs/how-to/rate-limits.md: limits of Workers' own binding in real workerd, in front of the handlers. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";
import { problemsOfTypes } from "./radical-process.ts";

const PROJECT = fileURLToPath(new URL("../../../docs/examples/limits", import.meta.url));
/** As `wrangler.jsonc` has them, in a period. */
const [MOST_OF_WRITER, MOST_OF_ADDRESS] = [5, 100];

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ project: PROJECT, vars: { TOKENS: "s3cret=ann,t0ken=bob,t1ken=eve" } });
});
afterAll(async () => {
  await app?.stop();
  await rm(join(PROJECT, ".radical"), { recursive: true, force: true });
});

/** An address of its own for each test, so that none is counted for another. */
function send(address: string, handler: string, token: string | null, args: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", "cf-connecting-ip": address };
  return fetch(new URL(`/api/${handler}`, app.url), {
    method: "POST",
    body: JSON.stringify(args),
    headers: token === null ? headers : { ...headers, authorization: `Bearer ${token}` },
  });
}

/** Sends until one is refused, which is within two periods: a new one may begin meanwhile. */
async function untilLimited(
  most: number,
  attempt: (number: number) => Promise<Response>,
): Promise<{ readonly before: readonly Response[]; readonly limited: Response }> {
  const before: Response[] = [];
  for (let number = 0; number <= 2 * most; number++) {
    const response = await attempt(number);
    if (response.status === 429) return { before, limited: response };
    before.push(response);
  }
  throw new Error(`${before.length} requests were let through`);
}

test("a caller over the limit is told when to come again, and nothing of the request was done", async () => {
  const { before, limited } = await untilLimited(MOST_OF_WRITER, (number) =>
    send("192.0.2.1", "write", "s3cret", { text: `note ${number}` }),
  );
  expect(before.length).toBeGreaterThanOrEqual(MOST_OF_WRITER);
  expect(before.every(({ status }) => status === 200)).toBe(true);
  expect([limited.headers.get("retry-after"), await limited.json()]).toEqual([
    "60",
    {
      error: {
        code: "rate_limited",
        message: "This caller has sent too many requests.",
        hint: "Try again after 60 s.",
      },
    },
  ]);
  // The handler chooses the limiter, and others are counted for themselves.
  expect(await (await send("192.0.2.1", "count", "s3cret", {})).json()).toEqual({ result: before.length });
  expect(await (await send("192.0.2.1", "write", "t0ken", { text: "hello" })).json()).toEqual({ result: 1 });
});

test("a limit comes before the body: an argument that is wrong is not read", async () => {
  const { before, limited } = await untilLimited(MOST_OF_WRITER, () =>
    send("192.0.2.3", "write", "t1ken", { text: 1 }),
  );
  expect(before.length).toBeGreaterThanOrEqual(MOST_OF_WRITER);
  expect(before.every(({ status }) => status === 400)).toBe(true);
  expect(await limited.json()).toMatchObject({ error: { message: "This caller has sent too many requests." } });
});

test("an address that tries tokens is refused before they are looked at", async () => {
  const { before, limited } = await untilLimited(MOST_OF_ADDRESS, () => send("192.0.2.2", "count", "guess", {}));
  expect(before.length).toBeGreaterThanOrEqual(MOST_OF_ADDRESS);
  expect(before.every(({ status }) => status === 401)).toBe(true);
  expect(await limited.json()).toMatchObject({ error: { message: "This address has sent too many requests." } });
});

test("the Worker's types are right", async () => {
  expect(await problemsOfTypes(PROJECT)).toBe("");
});
