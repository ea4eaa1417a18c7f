/**
 * Charges are confirmed orders and refunds, whatever dies. The bank throws and loses answers. The server gets `kill -9` wherever a
 * workflow, one of its steps or a call of a service is on its way. The short tier draws two of these places.
 */
import { drawn } from "@radical/command-line/short-tier";
import { Random } from "@radical/history";
import { WORKFLOW_FAILPOINTS } from "@radical/lvi-server/e2e/workflow-failpoints";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Checkout } from "./checkout.ts";
import { type Application, buildApplication, Deployment } from "./deployment.ts";
import { SQLITE } from "./storages.ts";

const FAILPOINTS = [
  ...WORKFLOW_FAILPOINTS,
  "service.call-unsent",
  "service.called",
  "run.task-unsent",
  "run.task-ended",
];
const KILLED = drawn("charges and refunds", FAILPOINTS, 2);
/** A server meets these seldom: at its start, or once for each workflow. */
const SELDOM = /-read$|storage\.workflow/;
const MOST_TIMES = 12;
const TIMEOUT_MS = 1_800_000;

const seed = Math.trunc(Math.random() * 2 ** 31);

let application: Application;

beforeAll(async () => {
  application = await buildApplication(["checkout"]);
}, TIMEOUT_MS);
afterAll(() => application?.remove());

test(
  "charges are confirmed orders and refunds after each kill, and nothing stays open",
  async () => {
    const random = new Random(seed);
    const deployment = await Deployment.start(application, SQLITE);
    try {
      const checkout = new Checkout(deployment, random);
      checkout.start();
      for (const name of KILLED) {
        await checkout.ended();
        // In the middle of whatever is under way.
        await deployment.killServer();
        const time = SELDOM.test(name) ? 1 : random.between(1, MOST_TIMES);
        const how = deployment.serverAt({ name, time }, () => Promise.resolve());
        expect(await checkout.whileOrdering(how), `${name}:${time}`).toBe("reached");
        await deployment.killServer();
        await deployment.startServer();
      }
      await checkout.ended();
      await checkout.stop();
      const { problems, counts } = await checkout.check();
      expect(problems, `seed ${seed}`).toEqual([]);
      expect(Math.min(...counts), `charged, confirmed and refunded: ${counts.join(", ")}`).toBeGreaterThan(0);
      expect(deployment.alarms).toEqual([]);
    } finally {
      await deployment.stop();
    }
  },
  TIMEOUT_MS,
);
