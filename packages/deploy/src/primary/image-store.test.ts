/** Images that are missing for a template, with a repository that asks nobody. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { EcrRepository } from "./ecr-repository.ts";
import { IMAGE_SOURCES, ImageStore } from "./image-store.ts";
import { serverTag, TUNNEL_TAG } from "./image-tags.ts";

const ACCESS = {
  account: "123456789012",
  region: "eu-central-1",
  identity: "arn:aws:iam::123456789012:user/ann",
  clockSkewMs: 0,
};
const SERVER = "5e".repeat(32);
const OLDER = `tunnel-${"ab".repeat(32)}`;
let tags: readonly string[];

beforeEach(() => {
  vi.spyOn(EcrRepository.prototype, "exists").mockResolvedValue(true);
  vi.spyOn(EcrRepository.prototype, "tags").mockImplementation(() => Promise.resolve(new Set(tags)));
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function missing(template: string | null): Promise<readonly string[]> {
  const name = { application: "shop", environment: "production" };
  const make = () => Promise.reject(new Error("No server is made."));
  const store = new ImageStore(name, "eu-central-1", make, IMAGE_SOURCES);
  try {
    return (await store.changes(ACCESS, SERVER, template)).map(({ what }) => what);
  } finally {
    store.close();
  }
}

test("a deployment of an older version has its own cloudflared, and a plan wants that of this one", async () => {
  tags = [serverTag(SERVER), OLDER];
  const template = JSON.stringify({ Image: { "Fn::Sub": `\${Registry}/radical-shop-production:${OLDER}` } });
  expect(await missing(template)).toEqual([]);
  expect(await missing(null)).toEqual([expect.stringMatching(/^image of cloudflared \d/)]);
  tags = [serverTag(SERVER)];
  expect(await missing(template)).toEqual(["image of cloudflared"]);
  tags = [TUNNEL_TAG];
  expect(await missing(template.replace(OLDER, TUNNEL_TAG))).toEqual([`image ${"5e".repeat(6)}`]);
});
