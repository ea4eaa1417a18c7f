/**
 * The traffic of the demonstration: real requests at every location, and the same requests to the baseline. That is a
 * Worker beside the primary, as far from its client.
 */
import { Agent, request } from "node:http";
import type { Location } from "../../packages/cli/src/index.ts";

const PATHS = ["leased", "speculative", "near-storage"] as const;

/** One request and what came of it. */
export interface Sample {
  readonly handler: string;
  readonly location: string;
  readonly baseline: boolean;
  /** Null if it was refused. */
  readonly path: (typeof PATHS)[number] | null;
  /** From the client's first byte to the last of the answer. */
  readonly ms: number;
}

export interface Site {
  readonly location: Location;
  /** Where its clients find the application: their own location, without delay. */
  readonly near: string;
  /** Where they find the baseline: the same distance away as their location is from the primary. */
  readonly central: string;
}

interface Person {
  readonly name: string;
  /** The cookie of their login. */
  readonly cookie: string;
  readonly home: Site;
}

export interface WorkloadOptions {
  readonly sites: readonly Site[];
  readonly people: number;
  readonly rounds: number;
  readonly onProgress: (done: number, all: number, what: string) => void;
  readonly signal: AbortSignal;
}

const PASSWORD = "correct horse battery";

export async function runWorkload(options: WorkloadOptions): Promise<readonly Sample[]> {
  const agent = new Agent({ keepAlive: true });
  const samples: Sample[] = [];
  try {
    const people = await seed(options, agent);
    await measure(options, people, agent, samples);
  } finally {
    agent.destroy();
  }
  return samples;
}

/** People register at their homes, follow each other and write. */
async function seed(
  { sites, people: count, onProgress, signal }: WorkloadOptions,
  agent: Agent,
): Promise<readonly Person[]> {
  const people: Person[] = [];
  for (let i = 0; i < count; i++) {
    const home = at(sites, i);
    const name = `person-${i}`;
    const { cookie } = await call(
      agent,
      home.near,
      home.location.name,
      "register",
      { name, password: PASSWORD },
      signal,
    );
    if (cookie === null) throw new Error(`the registration of ${name} opened no session`);
    people.push({ name, cookie, home });
    onProgress(i + 1, count, "people registered");
  }
  const star = at(people, 0);
  for (const [i, me] of people.entries()) {
    const { cookie, home } = me;
    for (const other of new Set([...neighboursOf(me, people), star])) {
      if (other !== me)
        await call(agent, home.near, home.location.name, "follow", { name: other.name }, signal, cookie);
    }
    await call(
      agent,
      home.near,
      home.location.name,
      "post",
      { text: `Hello, I am number ${i} #hello` },
      signal,
      cookie,
    );
    onProgress(i + 1, count, "people follow each other and post");
  }
  return people;
}

/** Most of what people do concerns people near them. */
function neighboursOf({ home }: Person, people: readonly Person[]): readonly Person[] {
  return people.filter((person) => person.home === home);
}

/**
 * Quick requests come from all locations at once, first with Radical and then at the baseline. Logins keep a CPU busy,
 * and all locations share those of this machine. So they come one after the other.
 */
async function measure(
  { sites, rounds, onProgress, signal }: WorkloadOptions,
  people: readonly Person[],
  agent: Agent,
  samples: Sample[],
): Promise<void> {
  for (const baseline of [false, true]) {
    const send: Send = async (site, handler, args, person) => {
      const [url, location] = baseline ? [site.central, "central"] : [site.near, site.location.name];
      const { path, ms, result } = await call(agent, url, location, handler, args, signal, person?.cookie);
      samples.push({ handler, location: site.location.name, baseline, path, ms });
      return result;
    };
    const label = baseline ? "at the baseline" : "with Radical";

    let done = 0;
    await Promise.all(
      sites.map(async (site) => {
        const locals = people.filter(({ home }) => home === site);
        for (let round = 0; round < rounds; round++) {
          await liveOneRound(site, round, at(locals, round), at(locals, round + 1), at(people, 0), send);
          onProgress(++done, sites.length * rounds, `rounds of reading, following and posting ${label}`);
        }
      }),
    );

    done = 0;
    const logins = Math.max(3, Math.ceil(rounds / 3));
    for (const site of sites) {
      const locals = people.filter(({ home }) => home === site);
      for (let i = 0; i < logins; i++) {
        await send(site, "login", { name: at(locals, i).name, password: PASSWORD });
        onProgress(++done, sites.length * logins, `logins ${label}`);
      }
    }
  }
}

/** Five in six requests read. The star, whom everybody follows, is read and liked everywhere: there caches go stale. */
async function liveOneRound(
  site: Site,
  round: number,
  me: Person,
  neighbour: Person,
  star: Person,
  send: Send,
): Promise<void> {
  const { posts } = (await send(site, "timeline", {}, me)) as {
    readonly posts: readonly { readonly id: string }[];
  };
  await send(site, "profile", { name: neighbour.name });
  await send(site, "profile", { name: star.name });
  const newest = posts[0];
  if (newest !== undefined && round % 4 === 3) await send(site, "like", { id: newest.id }, me);
  if (round % 6 === 5) {
    await send(site, "unfollow", { name: neighbour.name }, me);
    await send(site, "follow", { name: neighbour.name }, me);
  }
  if (round % 6 === 1) await send(site, "post", { text: `Round ${round} from ${site.location.name}` }, me);
  await send(site, "timeline", {}, me);
}

/** Sends a call, on behalf of a person or of nobody. */
type Send = (site: Site, handler: string, args: object, person?: Person) => Promise<unknown>;

interface Answered {
  /** That a login has set. */
  readonly cookie: string | null;
  readonly result: unknown;
  readonly path: Sample["path"];
  readonly ms: number;
}

/** Throws for an answer that is an error: the workload makes none. */
function call(
  agent: Agent,
  url: string,
  location: string,
  handler: string,
  args: object,
  signal: AbortSignal,
  cookie?: string,
): Promise<Answered> {
  const body = JSON.stringify(args);
  const startedAtMs = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}/api/${handler}`,
      {
        method: "POST",
        agent,
        signal,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          "x-radical-location": location,
          ...(cookie === undefined ? {} : { cookie }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== 200) {
            reject(new Error(`${handler} at ${location}: ${response.statusCode} ${text}`));
            return;
          }
          const path = response.headers["x-radical-path"];
          resolve({
            cookie: response.headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? null,
            result: (JSON.parse(text) as { readonly result: unknown }).result,
            path: PATHS.find((known) => known === path) ?? null,
            ms: performance.now() - startedAtMs,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** The element at an index that goes round. */
function at<T>(list: readonly T[], index: number): T {
  const element = list[index % list.length];
  if (element === undefined) throw new Error("an empty list");
  return element;
}
