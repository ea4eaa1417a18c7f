/** Services of a real application: enqueued by handlers, called by the primary, written in its Worker, with a bank that fails. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadProject, startCompiler, buildApp } from "@radical/app";
import { Refused, type TestApp, startTestApp } from "../src/testing.ts";
import { Bank } from "./fake-bank.ts";
import { createProject, problemsOfTypes, type TemporaryProject } from "./radical-process.ts";

/** The application of the documents. */
const EXAMPLE = fileURLToPath(new URL("../../../docs/examples/payments", import.meta.url));
const NAMES = ["radical.config.ts", "tsconfig.json", "services.ts", "handlers/shop.ts", "src/worker.ts"];
const FILES = Object.fromEntries(NAMES.map((name) => [name, readFileSync(join(EXAMPLE, name), "utf8")]));

const waiting = new Map<string, () => void>();
const heard: string[] = [];

function onEvent(event: unknown): void {
  const text = JSON.stringify(event);
  heard.push(text);
  for (const [wanted, resolve] of waiting) if (text.includes(wanted)) resolve();
}

/** Waits for a line of a handler, or of the server. */
function line(text: string): Promise<void> {
  if (heard.some((one) => one.includes(text))) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.set(text, resolve);
  return promise;
}

let project: TemporaryProject;
let bank: Bank;

beforeAll(async () => {
  project = await createProject(FILES);
});

beforeEach(() => {
  bank = new Bank();
  heard.length = 0;
});

afterAll(async () => {
  await project?.remove();
});

async function withApp(
  options: Omit<Parameters<typeof startTestApp>[0] & object, "project" | "onEvent">,
  use: (app: TestApp) => Promise<void>,
): Promise<void> {
  const BANK = await bank.start();
  const app = await startTestApp({ project: project.folder, onEvent, vars: { BANK }, ...options });
  try {
    await use(app);
  } finally {
    await app.stop();
    bank.close();
  }
}

test("a service of the Worker is called once for each task, whatever the bank does, and by the primary only", async () => {
  await withApp({}, async (app) => {
    for (const card of ["good", "flaky", "lost", "declined"]) await app.result("buy", { order: `o-${card}`, card });
    await Promise.all(["good", "flaky", "lost", "declined"].map((card) => line(`closed o-${card}`)));
    expect(["good", "flaky", "lost", "declined"].map((card) => bank.of(`o-${card}`))).toEqual([1, 1, 1, 0]);
    expect([...bank.charges.values()].map(({ cents }) => cents)).toEqual([900, 900, 900]);
    // The second calls came under the first keys.
    expect([bank.keys.length, new Set(bank.keys).size]).toEqual([6, 4]);
    expect(bank.mails.toSorted()).toEqual(["declined", "flaky", "good", "lost"]);
    expect(heard.filter((text) => text.includes("service_refused"))).toHaveLength(1);
    expect(heard.filter((text) => text.includes('"event":"service_failed"'))).toHaveLength(2);
    const forged = await fetch(`${app.url}/_radical/service/charge`, { method: "POST", body: "{}" });
    expect(forged.status).toBe(401);
    expect(bank.keys).toHaveLength(6);
  });
});

describe("failures to order", () => {
  test("a call whose answer is lost is made again, and one that is thrown is not made", async () => {
    // #region faults
    const serviceFaults = { charge: { throw: 0.1, lost: 0.2 }, sendMail: { slow: 50 } };
    // #endregion
    await withApp({ serviceFaults }, async (app) => {
      const orders = Array.from({ length: 6 }, (_, n) => `p${n}`);
      for (const order of orders) await app.result("buy", { order, card: "good" });
      await Promise.all(orders.map((order) => line(`closed ${order}`)));
      expect(orders.map((order) => bank.of(order))).toEqual(orders.map(() => 1));
      expect(bank.mails).toHaveLength(6);
    });
  });
});

test("a test gives services of its own", async () => {
  const calls: unknown[] = [];
  const services = {
    charge: (args: unknown, { key }: { readonly key: string }) => {
      calls.push([args, key.length]);
      if ((args as { readonly card: string }).card === "declined") throw new Refused("declined", "blocked");
      return "r1";
    },
    sendMail: (args: unknown) => void calls.push(args),
  };
  await withApp({ services }, async (app) => {
    await app.result("buy", { order: "q1", card: "good" });
    await line("closed q1");
    expect(calls).toEqual([[{ order: "q1", card: "good", cents: 900 }, 36], { to: "good", subject: "Order q1" }]);
    await app.result("buy", { order: "q2", card: "declined" });
    await line("closed q2");
    expect(heard.some((text) => text.includes("service_refused"))).toBe(true);
  });
});

test("the Worker is typed by the declarations, and a build without it says what is lacking", async () => {
  const compiler = await startCompiler({ colours: false });
  try {
    const { app } = await buildApp(await loadProject(project.folder), compiler);
    await project.write(".radical/worker.d.ts", app?.workerTypes ?? "");
    expect(await problemsOfTypes(project.folder)).toBe("");
    const worker = FILES["src/worker.ts"]!;
    await project.write("src/worker.ts", worker.replace("return response.text();", "return response.status;"));
    expect(await problemsOfTypes(project.folder)).toContain("'number' is not assignable to type 'string'");
    await project.write("src/worker.ts", worker.replace("sendMail: async", "sendFax: async"));
    expect(await problemsOfTypes(project.folder)).toContain("'sendFax' does not exist in type 'Services<Bindings>'");
    const { "src/worker.ts": _worker, ...files } = FILES;
    const without = await createProject(files);
    try {
      await expect(buildApp(await loadProject(without.folder), compiler)).rejects.toThrow(
        /declares services \(charge, sendMail\), and has no Worker .* no src\/worker\.ts/,
      );
    } finally {
      await without.remove();
    }
  } finally {
    await compiler.close();
  }
});
