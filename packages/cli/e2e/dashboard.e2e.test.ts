/** The dashboard's server under `radical dev`: who is answered, and what it tells. Real processes; requests byte by byte as others may send them. */
import { fileURLToPath } from "node:url";
import { request } from "node:http";
import {
  type CachedAnswer,
  type ContentionReport,
  DASHBOARD_APP_PATH,
  DASHBOARD_CACHED_PATH,
  DASHBOARD_CALL_PATH,
  DASHBOARD_CONTENTION_PATH,
  DASHBOARD_DATA_PATH,
  DASHBOARD_FAULTS_PATH,
  DASHBOARD_RECORDS_PATH,
  DASHBOARD_REPLAY_PATH,
  DASHBOARD_STREAM_PATH,
  DASHBOARD_TIME_PATH,
  DASHBOARD_TOKEN_HEADER,
  DASHBOARD_WORKFLOW_ORDERS_PATH,
  DASHBOARD_WORKFLOWS_PATH,
  DASHBOARD_WRITE_PATH,
  type DashboardCalled,
  type DashboardLine,
  type DashboardRecords,
  type DataChanged,
  type DataPage,
  type Life,
  type Replay,
  SHOWN_SECRET,
} from "@radical/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../src/testing.ts";

const project = fileURLToPath(new URL("../../../templates/social", import.meta.url));
const CUT = '{"partitioned": ["near"]}';
const JSON_TYPE = { "content-type": "application/json" };

let app: TestApp;
let origin: string;
let token: string;

beforeAll(async () => {
  app = await startTestApp({ project, seeded: true });
  const url = new URL(app.dashboard!);
  ({ origin } = url);
  token = url.hash.slice(1);
});
afterAll(() => app?.stop());

interface Asked {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** As no browser would let a page: with any header. */
function ask(url: string, headers: Readonly<Record<string, string>> = {}, body: string | null = null): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: body === null ? "GET" : "POST", headers }, (answer) => {
      let text = "";
      answer.on("data", (bytes: Buffer) => (text += bytes.toString()));
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body: text, headers: answer.headers }));
    });
    asking.on("error", reject);
    asking.end(body ?? undefined);
  });
}

const withToken = (): Readonly<Record<string, string>> => ({ [DASHBOARD_TOKEN_HEADER]: token, ...JSON_TYPE });

async function asked<T>(path: string, question: unknown): Promise<T> {
  const { status, body } = await ask(origin + path, withToken(), JSON.stringify(question));
  expect({ status, body }).toMatchObject({ status: 200 });
  return JSON.parse(body) as T;
}

describe("who is answered", () => {
  test("the page has an origin of its own, and a policy that lets in its own files only", async () => {
    expect(new URL(app.url).origin).not.toBe(origin);
    const { status, headers } = await ask(`${origin}/`);
    // Its files are there when the repository is built.
    expect([200, 503]).toContain(status);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
  });

  test("another host's name is refused, also with the token", async () => {
    const { port } = new URL(origin);
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      `127.0.0.1:${Number(port) + 1}`,
      `x.localhost:${port}`,
    ])
      for (const path of ["/", DASHBOARD_APP_PATH])
        expect({ host, status: (await ask(origin + path, { ...withToken(), host })).status }).toEqual({
          host,
          status: 403,
        });
    for (const host of [`localhost:${port}`, `[::1]:${port}`])
      expect(await ask(origin + DASHBOARD_APP_PATH, { ...withToken(), host })).toMatchObject({ status: 200 });
  });

  test("a page of another origin is refused, that of the application too, and changes nothing", async () => {
    for (const from of ["https://evil.example", "null", app.url]) {
      const answer = await ask(origin + DASHBOARD_FAULTS_PATH, { ...withToken(), origin: from }, CUT);
      expect({ from, status: answer.status }).toEqual({ from, status: 403 });
    }
    for (const site of ["cross-site", "same-site"]) {
      const headers = {
        ...withToken(),
        "sec-fetch-site": site,
        "sec-fetch-mode": "no-cors",
        "sec-fetch-dest": "script",
      };
      expect(await ask(origin + DASHBOARD_APP_PATH, headers)).toMatchObject({ status: 403 });
    }
    expect(app.control.faults().partitioned).toEqual([]);
  });

  test("without the token, or with another one, nothing is told and nothing is changed", async () => {
    for (const given of ["", "x", `${token}x`, token.slice(1)]) {
      const headers = { ...JSON_TYPE, ...(given === "" ? {} : { [DASHBOARD_TOKEN_HEADER]: given }) };
      for (const path of [DASHBOARD_APP_PATH, DASHBOARD_STREAM_PATH])
        expect(await ask(origin + path, headers)).toMatchObject({ status: 401 });
      for (const path of [
        DASHBOARD_FAULTS_PATH,
        DASHBOARD_CALL_PATH,
        DASHBOARD_DATA_PATH,
        DASHBOARD_WRITE_PATH,
        DASHBOARD_CACHED_PATH,
        DASHBOARD_TIME_PATH,
        DASHBOARD_WORKFLOW_ORDERS_PATH,
        DASHBOARD_WORKFLOWS_PATH,
      ])
        expect(await ask(origin + path, headers, CUT)).toMatchObject({ status: 401 });
    }
    expect(app.control.faults().partitioned).toEqual([]);
  });

  test("a change that is no JSON by its type is refused", async () => {
    const headers = { [DASHBOARD_TOKEN_HEADER]: token, "content-type": "text/plain" };
    expect(await ask(origin + DASHBOARD_FAULTS_PATH, headers, CUT)).toMatchObject({ status: 405 });
  });

  test.each(["/../package.json", "/%2e%2e/package.json", "/.env", "/a/b.js", "//x"])("%s is no file", async (path) => {
    expect(await ask(origin + path)).toMatchObject({ status: 404 });
  });

  test("the address of the application leads a browser there, and tells programs and pages nothing", async () => {
    const opened = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const { status, headers } = await ask(`${app.url}/__radical/`, opened);
    expect({ status, location: headers["location"] }).toEqual({ status: 302, location: app.dashboard });
    for (const more of [
      {},
      { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
      { ...opened, "sec-fetch-dest": "iframe" },
    ]) {
      const answer = await ask(`${app.url}/__radical/`, more);
      expect(answer.status).toBe(403);
      expect(JSON.stringify(answer)).not.toContain(token);
    }
  });
});

/** Lines of the stream until `isEnough` says so. */
async function linesUntil(isEnough: (lines: readonly DashboardLine[]) => boolean): Promise<readonly DashboardLine[]> {
  const ending = new AbortController();
  const response = await fetch(origin + DASHBOARD_STREAM_PATH, { headers: withToken(), signal: ending.signal });
  const lines: DashboardLine[] = [];
  let rest = "";
  for await (const part of response.body!.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + part).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts.filter((line) => line !== "").map((line) => JSON.parse(line) as DashboardLine));
    if (isEnough(lines)) break;
  }
  ending.abort();
  return lines;
}

/** Both halves of an execution, once both are told. */
async function lifeOf(execution: string): Promise<{ readonly location: Life; readonly primary: Life }> {
  const halves = (lines: readonly DashboardLine[]): readonly Life[] =>
    lines.filter(
      (line): line is Life => line.kind === "life" && execution.endsWith(line.execution) && line.code !== "in_doubt",
    );
  const found = halves(await linesUntil((lines) => new Set(halves(lines).map(({ side }) => side)).size === 2));
  return {
    location: found.find(({ side }) => side === "location")!,
    primary: found.find(({ side }) => side === "primary")!,
  };
}

describe("lives", () => {
  test("both sides tell of the same call: spans, units and commit", async () => {
    const registered = await app.call("register", { name: "zoe", password: "correct horse" }, { location: "near" });
    const { location, primary } = await lifeOf(registered.execution!);
    expect(location).toMatchObject({ handler: "register", place: "near", attempt: primary.attempt });
    expect(location.spans.map(([name]) => name)).toContain("send");
    expect(primary.spans.map(([name]) => name)).toContain("apply");
    expect(primary.commit).toMatch(/^[0-9a-f]{8}-[0-9a-f]{12}$/);
    expect(primary.units.map(([unit]) => unit)).toContain("people/zoe");
    // By the header that the client has seen.
    const total = Number(/total;dur=(\d+(?:\.\d+)?)/.exec(registered.headers.get("server-timing") ?? "")?.[1]);
    expect(location.tookUs).toBe(Math.round(total * 1_000));
  });

  test("wrong arguments are a life too, of a call that asked nobody", async () => {
    const refused = await app.call("profile", { nobody: 1 }, { location: "far" });
    expect(refused.status).toBe(400);
    const ofIt = (line: DashboardLine): line is Life => line.kind === "life" && line.code === "unknown_argument";
    const [life] = (await linesUntil((lines) => lines.some(ofIt))).filter(ofIt);
    expect(life).toMatchObject({
      side: "location",
      handler: "profile",
      place: "far",
      attempt: 0,
      path: null,
      spans: [],
    });
  });

  test("a stale call names the unit and both versions", async () => {
    const read = await app.call("profile", { name: "grace" }, { location: "far" });
    expect(read.status).toBe(200);
    const { items } = await asked<DataPage & { kind: "page" }>(DASHBOARD_DATA_PATH, {
      kind: "page",
      table: "people",
      prefix: "grace",
      after: null,
    });
    await asked(DASHBOARD_WRITE_PATH, {
      expects: items[0]?.commit,
      table: "people",
      key: "grace",
      value: '{"name": "grace", "bio": "Compilers.", "joinedAt": 1}',
    });
    const again = await app.call("profile", { name: "grace" }, { location: "far" });
    expect(again.result).toMatchObject({ bio: "Compilers." });
    const { location, primary } = await lifeOf(again.execution!);
    // Hints may have told the cache of it before the call.
    if (location.reason === "stale") expect(primary.because).toMatchObject({ unit: "people/grace" });
    else expect(["valid", "doubted", "missing", "unchanged", "hot"]).toContain(location.reason);
  });
});

test("one call goes to two places at once, and both commits are told; with one key it happens once", async () => {
  const { headers } = await app.call("register", { name: "max", password: "correct horse" });
  const authorization = `Bearer ${/^session=([^;]*)/.exec(headers.getSetCookie()[0] ?? "")?.[1]}`;
  const args = JSON.stringify({ text: "Hello" });
  const sends = ["near", "far"].map((place) => ({ place, key: null, authorization }));
  const twice = await asked<DashboardCalled>(DASHBOARD_CALL_PATH, { handler: "post", args, sends });
  expect(twice.answers.map(({ status }) => status)).toEqual([200, 200]);
  const commits = await Promise.all(
    twice.answers.map(async ({ execution }) => (await lifeOf(execution!)).primary.commit),
  );
  expect(new Set(commits).size).toBe(2);

  const keyed = sends.map((send) => ({ ...send, key: "one-call-for-both-places" }));
  const once = await asked<DashboardCalled>(DASHBOARD_CALL_PATH, { handler: "post", args, sends: keyed });
  const [first, second] = once.answers;
  expect(first?.status).toBe(200);
  expect([second?.body, second?.execution]).toEqual([first?.body, first?.execution]);
});

test("a fault is switched, told, and healed", async () => {
  const told = linesUntil((lines) => lines.some((line) => line.kind === "state" && line.locations[0]?.isCut === true));
  await asked(DASHBOARD_FAULTS_PATH, { partitioned: ["near"] });
  expect(await told).not.toEqual([]);
  expect(app.control.faults().partitioned).toEqual(["near"]);
  await asked(DASHBOARD_FAULTS_PATH, { partitioned: [] });
  expect((await app.call("profile", { name: "ada" }, { location: "near" })).status).toBe(200);
});

test("a location is moved farther away, and healed", async () => {
  const distances = { far: { roundTripMs: 55, lossPercent: 0 } };
  await asked(DASHBOARD_FAULTS_PATH, { distances });
  expect(app.control.faults().distances).toEqual(distances);
  const [state] = await linesUntil((lines) => lines.length > 0);
  expect(state).toMatchObject({ source: { kind: "dev" }, locations: [{}, { name: "far", roundTripMs: 55 }] });
  const wrong = await ask(origin + DASHBOARD_FAULTS_PATH, withToken(), '{"distances": {"far": {"roundTripMs": -1}}}');
  expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining("roundTripMs of far must be a number")]);
  await asked(DASHBOARD_FAULTS_PATH, { distances: {} });
  expect(app.control.faults().distances).toEqual({});
});

test("calls that want one item at once: the primary tells who waited for whom", async () => {
  const { headers } = await app.call("register", { name: "tom", password: "correct horse" });
  const [cookie = ""] = headers.getSetCookie().map((line) => line.split(";", 1)[0]!);
  const id = await app.result<string>("post", { text: "Like me" }, { headers: { cookie } });
  const args = JSON.stringify({ id });
  const sends = Array.from({ length: 8 }, (_, at) => ({
    place: at % 2 === 0 ? "near" : "far",
    key: null,
    authorization: `Bearer ${cookie.slice(cookie.indexOf("=") + 1)}`,
  }));
  const { answers } = await asked<DashboardCalled>(DASHBOARD_CALL_PATH, { handler: "like", args, sends });
  const executions = answers.map(({ execution }) => execution!.slice(-32));
  const report = JSON.parse((await ask(origin + DASHBOARD_CONTENTION_PATH, withToken())).body) as ContentionReport;
  const waits = report.units.flatMap(({ last }) => last);
  expect(waits.some(({ execution, behind }) => executions.includes(execution) && executions.includes(behind!))).toBe(
    true,
  );
});

describe("replay", () => {
  test("a recorded execution, step by step, with versions; secrets that people typed are masked", async () => {
    const registered = await app.call("register", { name: "una", password: "correct horse" }, { location: "near" });
    const execution = registered.execution!.slice(-32);
    const { records } = await recordsUntil(execution);
    expect(records.find((record) => record.execution === execution)).toMatchObject({
      handler: "register",
      location: "near",
    });
    const recorded = await asked<Replay>(DASHBOARD_REPLAY_PATH, { execution, build: "recorded" });
    expect(JSON.parse(recorded.args)).toEqual({ name: "una", password: SHOWN_SECRET });
    expect(recorded.redacted).toEqual(["@arguments.password"]);
    expect(recorded.steps.some(({ kind, subject }) => kind === "write" && subject === "people/una")).toBe(true);
    expect(JSON.parse(recorded.outcome!)).toMatchObject({ kind: "result" });
    expect(recorded.differences).toEqual([]);

    const read = await app.call("profile", { name: "una" }, { location: "far" });
    await recordsUntil(read.execution!.slice(-32));
    const question = { execution: read.execution!.slice(-32), build: "present" };
    const present = await asked<Replay>(DASHBOARD_REPLAY_PATH, question);
    expect(present).toMatchObject({ differences: [], reason: null });
    const step = present.steps.find(({ subject }) => subject === "people/una");
    expect(step).toMatchObject({
      kind: "get",
      version: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{12}$/) as unknown,
    });
  });

  test("an execution that is not recorded is told in words", async () => {
    const question = JSON.stringify({ execution: "f".repeat(32), build: "present" });
    const { status, body } = await ask(origin + DASHBOARD_REPLAY_PATH, withToken(), question);
    expect([status, (JSON.parse(body) as { error: { code: string } }).error.code]).toEqual([400, "not_recorded"]);
  });
});

/** The records, once this execution is among them: its sample comes when its writes are applied. */
async function recordsUntil(execution: string): Promise<DashboardRecords> {
  let found: DashboardRecords | null = null;
  await expect
    .poll(
      async () => {
        found = JSON.parse((await ask(origin + DASHBOARD_RECORDS_PATH, withToken())).body) as DashboardRecords;
        return found.records.some((record) => record.execution === execution);
      },
      { timeout: 100_000 },
    )
    .toBe(true);
  return found!;
}

describe("caches", () => {
  const look = async (unit: string): Promise<CachedAnswer["items"][number]> => {
    const { items } = await asked<CachedAnswer>(DASHBOARD_CACHED_PATH, { units: [unit] });
    return items[0]!;
  };
  const read = (location: string) => app.call("profile", { name: "alan" }, { location });

  test("an item's version at each location beside the primary's: equal, behind after a write, equal after the next read", async () => {
    for (const location of ["near", "far"]) expect((await read(location)).status).toBe(200);
    const before = await look("people/alan");
    expect(before.held.map(({ place, commit }) => [place, commit])).toEqual([
      ["near", before.primary.commit],
      ["far", before.primary.commit],
    ]);
    // A location that is cut off hears of no write.
    await asked(DASHBOARD_FAULTS_PATH, { partitioned: ["far"] });
    const change = { table: "people", key: "alan", value: '{"name": "alan", "bio": "Machines.", "joinedAt": 1}' };
    expect(await asked(DASHBOARD_WRITE_PATH, { ...change, expects: before.primary.commit })).toEqual({
      kind: "written",
    });
    // The time is that of the execution that has written it, of which is told a moment later.
    await expect
      .poll(async () => (await look("people/alan")).primary.writtenAtMs, { timeout: 100_000 })
      .toBeGreaterThan(0);
    const after = await look("people/alan");
    expect(after.primary.commit).not.toBe(before.primary.commit);
    expect(after.held.find(({ place }) => place === "far")).toMatchObject({
      commit: before.primary.commit,
      tier: "memory",
      isThere: true,
    });
    await asked(DASHBOARD_FAULTS_PATH, { partitioned: [] });
    expect((await read("far")).result).toMatchObject({ bio: "Machines." });
    const repaired = await look("people/alan");
    expect(repaired.held.find(({ place }) => place === "far")?.commit).toBe(repaired.primary.commit);
  });

  test("an item that nobody has is held nowhere, and absent at the primary", async () => {
    expect(await look("people/nobody-has-asked-for")).toEqual({
      unit: "people/nobody-has-asked-for",
      primary: { commit: null, isThere: false, writtenAtMs: null },
      held: [],
    });
  });

  test("an emptied cache holds nothing, and what a question gets wrong is told", async () => {
    await read("near");
    await asked(DASHBOARD_FAULTS_PATH, { wipeCaches: ["near"] });
    const { items, unseen } = await asked<CachedAnswer>(DASHBOARD_CACHED_PATH, { units: ["people/alan"] });
    expect(items[0]?.held.map(({ place }) => place)).not.toContain("near");
    expect(unseen).toEqual([{ place: "near", reason: "No call has come there since this build serves." }]);
    const wrong = await ask(origin + DASHBOARD_CACHED_PATH, withToken(), '{"units": ["no-table"]}');
    expect([wrong.status, wrong.body]).toEqual([400, expect.stringContaining("Each unit must be an item")]);
  });
});

describe("data", () => {
  test("tables, and pages of their items by key", async () => {
    const listed = await asked<{ readonly tables: readonly { readonly name: string }[] }>(DASHBOARD_DATA_PATH, {
      kind: "tables",
    });
    expect(listed.tables.map(({ name }) => name)).toContain("people");
    const page = { kind: "page", table: "people", prefix: "a", after: null };
    expect(await asked(DASHBOARD_DATA_PATH, page)).toMatchObject({
      items: [{ key: "ada" }, { key: "alan" }],
      isMore: false,
    });
    expect(await asked(DASHBOARD_DATA_PATH, { ...page, after: "ada" })).toMatchObject({ items: [{ key: "alan" }] });
  });

  test("a value of another type is refused, and nothing is written", async () => {
    const change = { table: "people", key: "ada", value: '{"name": 3}', expects: null };
    const { status, body } = await ask(origin + DASHBOARD_WRITE_PATH, withToken(), JSON.stringify(change));
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: "invalid_items", hint: "Correct it: nothing was written." },
    });
    expect(
      await asked(DASHBOARD_DATA_PATH, { kind: "page", table: "people", prefix: "ada", after: null }),
    ).toMatchObject({
      items: [{ key: "ada", value: expect.stringContaining("Engines") as unknown }],
    });
  });

  test("an item is written and deleted by executions, and every location sees it", async () => {
    const item = { table: "people", key: "yan", value: '{"name": "yan", "bio": "", "joinedAt": 5}', expects: null };
    expect(await asked(DASHBOARD_WRITE_PATH, item)).toEqual({ kind: "written" });
    for (const location of ["near", "far"])
      expect((await app.call("profile", { name: "yan" }, { location })).result).toMatchObject({ name: "yan" });
    // It is not absent any more, and nothing is lost.
    const stored = await asked<DataChanged>(DASHBOARD_WRITE_PATH, { ...item, value: '{"name": "yan", "bio": "x"}' });
    expect(stored).toMatchObject({ kind: "conflict", value: expect.stringContaining('"joinedAt":5') as unknown });
    const expects = stored.kind === "conflict" ? stored.commit : null;
    expect(await asked(DASHBOARD_WRITE_PATH, { ...item, value: null, expects })).toEqual({ kind: "written" });
    expect(await asked(DASHBOARD_WRITE_PATH, { ...item, value: null, expects })).toEqual({
      kind: "conflict",
      value: null,
      commit: null,
    });
    for (const location of ["near", "far"])
      expect((await app.call("profile", { name: "yan" }, { location })).status).toBe(404);
  });
});
