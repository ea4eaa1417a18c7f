/**
 * The overlap (paper, section 3.2): the primary works on the LVI request while f runs. Shown by order of events: here f
 * never ends, so a request that the primary receives has left before f took the CPU.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildFixture } from "./fixture/application.ts";
import { Location } from "./location.ts";
import { TestPrimary } from "./primary.ts";

const FOR_EVER = 0;
/** Lasts for months: f may not end by running out of it. */
const FUEL = Number.MAX_SAFE_INTEGER;

let primary: TestPrimary;
let location: Location;

/** Nobody answers this; it ends with the location. */
function callForEver(): void {
  location.call("work", { key: "k", rounds: FOR_EVER }).catch(() => undefined);
}

describe.each(["url", "binding"])("by %s", (way) => {
  beforeEach(async () => {
    const application = await buildFixture();
    primary = new TestPrimary(application);
    const primaryUrl = await primary.listen();
    const external = { external: { address: new URL(primaryUrl).host, http: {} } };
    location = await Location.start({
      primaryUrl,
      manifest: { limits: { ...application.manifest.limits, fuel: FUEL } },
      ...(way === "binding" ? { services: { RADICAL_PRIMARY_A: external } } : {}),
    });
  });

  afterEach(async () => {
    await location.stop();
    await primary.close();
  });

  test("over a cold connection the primary has the LVI request before f ends", async () => {
    callForEver();
    const { request } = await primary.happened("lvi");
    expect(request.handler).toBe("work");
  });

  test("likewise over one that is new because the primary has closed those before it", async () => {
    expect((await location.call("write", { key: "k", text: "warm" })).status).toBe(200);
    await primary.happened("followup");
    primary.disconnect();
    callForEver();
    await primary.happened("lvi", (event) => event.request.handler === "work");
  });

  test("over a warm connection the primary has the LVI request before f ends", async () => {
    expect((await location.call("write", { key: "k", text: "warm" })).status).toBe(200);
    await primary.happened("followup");
    callForEver();
    const { request } = await primary.happened("lvi", (event) => event.request.handler === "work");
    expect(request.units).toEqual([{ unit: "notes/k", mode: "write" }]);
  });

  test("the client waits for both: a reply that is there first does not answer before f has ended", async () => {
    // The followup carries what f wrote, so f has run to its end although the primary confirmed at once.
    const response = await location.call("work", { key: "k", rounds: 20_000_000 });
    expect(response.headers.get("x-radical-path")).toBe("speculative");
    const { followup } = await primary.happened("followup");
    expect(followup.writes.map(({ unit }) => unit)).toEqual(["notes/k"]);
  });
});
