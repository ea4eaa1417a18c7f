/**
 * The box office of the documents, docs/examples/tickets. Several how-to pages show its code: holds that expire, pages,
 * sessions that can be ended, mail by an outbox, and jobs by a schedule.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";
import { problemsOfTypes } from "./radical-process.ts";

const PROJECT = fileURLToPath(new URL("../../../docs/examples/tickets", import.meta.url));
const SECRETS = { LOGIN_CODE: "4711", JOB_SECRET: "a secret that only the test knows" };

interface Handed {
  readonly key: string;
  readonly mail: { readonly to: string; readonly text: string };
}

/** All that was handed in at the mail service, and whether it takes mail. */
const handed: Handed[] = [];
let isMailDown = false;
const mailService = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const mail = JSON.parse(Buffer.concat(chunks).toString()) as Handed["mail"];
    handed.push({ key: String(request.headers["idempotency-key"]), mail });
    response.writeHead(isMailDown ? 503 : 202).end();
  });
});

let app: TestApp;

beforeAll(async () => {
  mailService.listen(0, "127.0.0.1");
  await once(mailService, "listening");
  const vars = { ...SECRETS, MAIL_URL: `http://127.0.0.1:${(mailService.address() as AddressInfo).port}` };
  app = await startTestApp({ project: PROJECT, vars, seeded: true });
});
afterAll(async () => {
  await app?.stop();
  mailService.close().closeAllConnections();
  await rm(join(PROJECT, ".radical"), { recursive: true, force: true });
});
afterEach(() => {
  isMailDown = false;
  handed.length = 0;
});

const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(new URL(path, app.url), { method: "POST", body: JSON.stringify(body), headers });
const runJobs = (secret = SECRETS.JOB_SECRET): Promise<Response> =>
  post("/jobs", {}, { authorization: `Bearer ${secret}` });

/** Logs in, and gives the cookie. */
async function logIn(user: string): Promise<string> {
  const response = await post("/login", { user, code: SECRETS.LOGIN_CODE });
  expect(response.status).toBe(204);
  return /^session=[^;]+/.exec(response.headers.get("set-cookie") ?? "")![0];
}

describe("holds that expire", () => {
  test("a hold keeps others away, at another location too, and only its holder buys", async () => {
    const until = await app.result<number>("hold", { id: "A1", who: "ann" });
    expect(until).toBeGreaterThan(Date.now());
    expect(await app.result("isFree", { id: "A1" }, { location: "far" })).toBe(false);
    const taken = await app.call("hold", { id: "A1", who: "bob" }, { location: "far" });
    expect(taken.error?.code).toBe("taken");
    expect((await app.call("buy", { id: "A1", who: "bob" })).error?.code).toBe("not_held");
    await app.result("buy", { id: "A1", who: "ann" });
    expect((await app.call("hold", { id: "A1", who: "ann" })).error?.code).toBe("taken");
  });

  test("a hold that has expired counts for nothing", async () => {
    await app.result("hold", { id: "A2", who: "ann", ms: 0 });
    expect(await app.result("isFree", { id: "A2" })).toBe(true);
    expect((await app.call("buy", { id: "A2", who: "ann" })).error?.code).toBe("not_held");
    await app.result("hold", { id: "A2", who: "bob" }, { location: "far" });
    await app.result("buy", { id: "A2", who: "bob" });
  });
});

test("pages have all events once, in the order of their times, and the last one says so", async () => {
  const titles = Array.from({ length: 7 }, (_, index) => `event ${index}`);
  for (const [index, title] of titles.toReversed().entries()) await app.result("announce", { title, at: 1000 - index });
  const pages: string[][] = [];
  let after: string | null = null;
  do {
    const page: { events: { title: string }[]; next: string | null } = await app.result(
      "listEvents",
      { after, most: 3 },
      { location: "far" },
    );
    pages.push(page.events.map(({ title }) => title));
    after = page.next;
  } while (after !== null);
  expect(pages).toEqual([titles.slice(0, 3), titles.slice(3, 6), titles.slice(6)]);
  // A page that ends with the last event has no next one.
  expect((await app.result<{ next: string | null }>("listEvents", { most: 7 })).next).toBeNull();
  expect((await app.call("listEvents", { most: 0 })).error?.code).toBe("bad_page");
});

describe("sessions", () => {
  test("a cookie says who calls, until its session is ended, which counts everywhere at once", async () => {
    const cookie = await logIn("ann");
    const at = (location: string) => ({ headers: { cookie }, location });
    expect(await app.result("whoAmI", {}, at("near"))).toBe("ann");
    expect(await app.result("whoAmI", {}, at("far"))).toBe("ann");
    await app.result("logOut", {}, at("near"));
    expect((await app.call("whoAmI", {}, at("far"))).status).toBe(401);
  });

  test("nobody is somebody without a session, and no client is the Worker", async () => {
    expect((await post("/login", { user: "ann", code: "wrong" })).status).toBe(403);
    for (const cookie of ["", "session=worker", "session=nobody", `session=${crypto.randomUUID()}`]) {
      const headers = { cookie };
      expect((await app.call("whoAmI", {}, { headers })).status).toBe(401);
      expect((await app.call("openSession", { id: "x", user: "ann" }, { headers })).status).toBe(403);
      expect((await app.call("waitingMail", {}, { headers })).status).toBe(403);
    }
  });
});

test("the job deletes sessions that are over, and no others", async () => {
  const cookie = await logIn("carl");
  // The seed has one of last year.
  expect(await (await runJobs()).json()).toMatchObject({ deleted: 1 });
  expect(await (await runJobs()).json()).toMatchObject({ deleted: 0 });
  expect(await app.result("whoAmI", {}, { headers: { cookie } })).toBe("carl");
});

describe("mail", () => {
  test("is asked for with the order, sent by the job, and kept while the service is down", async () => {
    const refused = await app.call("order", { what: "a seat", address: "nobody" });
    expect(refused.error?.code).toBe("bad_address");
    const id = await app.result<string>("order", { what: "a seat", address: "ann@example.com" });
    isMailDown = true;
    expect(await (await runJobs()).json()).toMatchObject({ sent: 0 });
    isMailDown = false;
    expect(await (await runJobs()).json()).toMatchObject({ sent: 1 });
    expect(await (await runJobs()).json()).toMatchObject({ sent: 0 });
    const mail = { to: "ann@example.com", text: "Thank you for ordering a seat." };
    // Both tries have the same key, so that the service sends one mail.
    expect(handed).toEqual([
      { key: id, mail },
      { key: id, mail },
    ]);
  });

  test("is not sent for strangers", async () => {
    expect((await runJobs("another secret")).status).toBe(403);
    expect(handed).toEqual([]);
  });
});

test("the command of the page about cron triggers runs the jobs, with the secret alone", async () => {
  const page = await readFile(new URL("../../../docs/how-to/cron-triggers.md", import.meta.url), "utf8");
  const [, command = ""] = /^(curl .*localhost:8787\/jobs .*)$/m.exec(page) ?? [];
  const ask = async (secret: string): Promise<unknown> => {
    const here = command.replace("localhost:8787", new URL(app.url).host);
    const { stdout } = await promisify(execFile)("sh", ["-ec", here], { env: { ...process.env, JOB_SECRET: secret } });
    return JSON.parse(stdout);
  };
  expect(await ask("wrong")).toMatchObject({ error: { code: "forbidden" } });
  expect(await ask(SECRETS.JOB_SECRET)).toEqual({ sent: 0, deleted: 0 });
});

test("the schedule runs the same jobs", async () => {
  await app.result("order", { what: "a box", address: "bob@example.com" });
  const fired = await fetch(new URL("/cdn-cgi/handler/scheduled?cron=*+*+*+*+*", app.url));
  expect(await fired.text()).toBe("ok");
  expect(handed.map(({ mail }) => mail.to)).toEqual(["bob@example.com"]);
  expect(await (await runJobs()).json()).toEqual({ sent: 0, deleted: 0 });
});

test("the Worker's types are right", async () => {
  expect(await problemsOfTypes(PROJECT)).toBe("");
});
