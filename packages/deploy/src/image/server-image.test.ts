/** The image of the server, on a base that a registry of this machine has: its content, its way, and failures on it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { nodeFiles } from "../primary/node-files.ts";
import { type ImageRegistry, startImageRegistry } from "../testing/image-registry.ts";
import { BASE_IMAGE, dockerfile, ENTRYPOINT, IMAGE_ENVIRONMENT, STATE_FOLDER, TUNNEL_IMAGE } from "./image-files.ts";
import { writeLayout } from "./layout.ts";
import { digestOf, type Image, type Index, type Manifest } from "./oci.ts";
import { type ImageSource, pushImage, Registry } from "./registry.ts";
import { ARCHITECTURES, buildServerLayer, imageOf, serverImage, type ServerLayer } from "./server-image.ts";

interface Config {
  readonly architecture: string;
  readonly config: Readonly<Record<string, unknown>> & {
    readonly Env: readonly string[];
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
  readonly history: readonly object[];
}

let folder: string;
let registry: ImageRegistry;
let layer: ServerLayer;
let base: ImageSource;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "radical-image-"));
  [registry, layer] = await Promise.all([startImageRegistry(), buildServerLayer()]);
  const of = (name: string) => ({
    files: { "etc/name": name },
    config: { Env: ["PATH=/usr/local/bin"], Entrypoint: ["docker-entrypoint.sh"], Cmd: ["node"], Labels: { of: name } },
  });
  base = registry.publish("library/node", { amd64: of("amd64"), arm64: of("arm64") });
});
afterAll(async () => {
  await registry.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  registry.fail(null);
  registry.giveTokensAt(null);
  registry.forget();
});

function client(authorization: string | null = registry.authorization): Registry {
  return new Registry({ origin: registry.origin, authorization, pauseMs: 1 });
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- each use names the form that it reads
function jsonOf<T>(bytes: Uint8Array | undefined): T {
  return JSON.parse(Buffer.from(bytes!).toString("utf8")) as T;
}

/** All that a registry has of an image under this reference. */
function stored(repository: string, reference: string): readonly [Manifest, Config] {
  const manifest = jsonOf<Manifest>(registry.manifest(repository, reference)?.bytes);
  return [manifest, jsonOf<Config>(registry.blob(manifest.config.digest))];
}

test("the same sources give the same name and the same layer", async () => {
  const again = await buildServerLayer();
  expect([again.sha256, digestOf(again.tar)]).toEqual([layer.sha256, digestOf(layer.tar)]);
});

test("the layer: files of root that all may read, and a folder of the user that nobody else may", () => {
  writeFileSync(join(folder, "layer.tar"), layer.tar);
  const listed = execFileSync("tar", ["--list", "--verbose", "--numeric-owner", "--file", join(folder, "layer.tar")], {
    encoding: "utf8",
  });
  const lines = listed
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/))
    .map(([mode, owner, , , , path]) => `${mode} ${owner} ${path}`);
  expect(lines).toEqual([
    "drwxr-xr-x 0/0 opt/radical/",
    "drwxr-xr-x 0/0 opt/radical/dist/",
    "drwx------ 1000/1000 var/lib/radical/",
    "-rw-r--r-- 0/0 opt/radical/LICENSES.txt",
    "-rw-r--r-- 0/0 opt/radical/bill-of-materials.cdx.json",
    "-rw-r--r-- 0/0 opt/radical/dist/main.js",
    "-rw-r--r-- 0/0 opt/radical/dist/worker.js",
    "-rw-r--r-- 0/0 opt/radical/healthy.mjs",
    "-rw-r--r-- 0/0 opt/radical/package.json",
  ]);
});

test("pushed for both architectures: each is the base with one layer more, and what is run is ours", async () => {
  await pushImage(client(), "radical", "1", await serverImage(layer, ARCHITECTURES, base));
  const index = jsonOf<Index>(registry.manifest("radical", "1")?.bytes);
  expect(index.manifests.map(({ platform }) => platform?.architecture)).toEqual(["arm64", "amd64"]);
  const layers = new Set<string>();
  for (const { digest, platform } of index.manifests) {
    const [manifest, config] = stored("radical", digest);
    expect(config.architecture).toBe(platform?.architecture);
    expect(manifest.layers).toHaveLength(2);
    const own = registry.blob(manifest.layers.at(-1)!.digest)!;
    layers.add(manifest.layers.at(-1)!.digest);
    expect(digestOf(gunzipSync(own))).toBe(config.rootfs.diff_ids.at(-1));
    expect(config.rootfs.diff_ids).toHaveLength(2);
    expect(config.history).toHaveLength(2);
    expect(config.config).toMatchObject({
      User: "node",
      WorkingDir: STATE_FOLDER,
      Volumes: { [STATE_FOLDER]: {} },
      ExposedPorts: { "8788/tcp": {} },
      Entrypoint: ENTRYPOINT,
      Cmd: null,
      StopSignal: "SIGTERM",
    });
    expect(config.config.Env).toEqual([
      "PATH=/usr/local/bin",
      ...Object.entries(IMAGE_ENVIRONMENT).map((pair) => pair.join("=")),
    ]);
    expect(config.config.Labels).toMatchObject({
      of: platform?.architecture,
      "org.opencontainers.image.base.digest": BASE_IMAGE.digest,
    });
  }
  expect(layers.size).toBe(1);
});

test("what the registry has already is not sent again", async () => {
  const image = await serverImage(layer, ["arm64"], base);
  await pushImage(client(), "radical", "again", image);
  registry.forget();
  await pushImage(client(), "radical", "again", image);
  expect(registry.requests.filter((line) => /uploads/.test(line))).toEqual([]);
});

test("an image of somebody else is copied as it is", async () => {
  const file = { files: { cloudflared: "a program" }, config: { Entrypoint: ["cloudflared"] } };
  const source = registry.publish("cloudflare/cloudflared", { arm64: file, amd64: file });
  await pushImage(client(), "copies", "tunnel", await imageOf(source, "arm64"));
  const [manifest, config] = stored("copies", "tunnel");
  expect(config).toMatchObject({ architecture: "arm64", config: { Entrypoint: ["cloudflared"] } });
  const published = jsonOf<Index>(registry.manifest("cloudflare/cloudflared", "published")?.bytes);
  expect(published.manifests.map(({ digest }) => digest)).toContain(
    registry.manifest("copies", "tunnel")?.descriptor.digest,
  );
  expect(manifest.layers).toHaveLength(1);
});

test("each request to the registry fails once, in each way: it is asked again, and the image is whole", async () => {
  const image = await serverImage(layer, ["arm64"], base);
  const kinds = ["POST uploads", "PATCH uploads", "PUT uploads", "PUT manifests", "HEAD blobs"];
  for (const kind of kinds)
    for (const how of [503, 429, "hang-up", "after"] as const) {
      let failures = 0;
      registry.fail((line) => (line === kind && failures++ === 0 ? how : null));
      const repository = `failing-${kind.toLowerCase().replace(" ", "-")}-${how}`;
      await pushImage(client(), repository, "1", uploadedAnew(image, repository));
      expect(failures).toBeGreaterThan(0);
      const [manifest] = stored(repository, "1");
      for (const { digest } of [manifest.config, ...manifest.layers]) expect(registry.blob(digest)).toBeDefined();
    }
});

/** The same image with a configuration of its own, so that something is to be sent. */
function uploadedAnew(image: Image, name: string): Image {
  const manifest = jsonOf<Manifest>(image.root.bytes);
  const bytes = Buffer.from(JSON.stringify({ name }));
  const config = { mediaType: manifest.config.mediaType, digest: digestOf(bytes), size: bytes.length };
  const root = Buffer.from(JSON.stringify({ ...manifest, config }));
  return {
    root: { descriptor: { ...image.root.descriptor, digest: digestOf(root), size: root.length }, bytes: root },
    manifests: [],
    blobs: [{ descriptor: config, read: () => Promise.resolve(bytes) }, ...image.blobs],
  };
}

test("a registry that nobody reaches, and one that goes on failing, are given up", async () => {
  registry.fail((line) => (line === "HEAD blobs" ? 503 : null));
  await expect(client().hasBlob("library/node", base.digest)).rejects.toThrow(/: 503\.$/);
  expect(registry.requests.filter((line) => line === "HEAD blobs").length).toBeGreaterThan(2);
  const nobody = new Registry({ origin: "http://127.0.0.1:9", pauseMs: 1 });
  await expect(nobody.hasBlob("library/node", base.digest)).rejects.toThrow("http://127.0.0.1:9 was not reached");
});

test("a registry that refuses is not asked again, and its words are told", async () => {
  registry.fail((line) => (line === "POST uploads" ? 403 : null));
  const image = uploadedAnew(await serverImage(layer, ["arm64"], base), "refused");
  await expect(pushImage(client(), "refused", "1", image)).rejects.toThrow(
    /refused POST \/v2\/refused\/blobs\/uploads\/: 403 made to fail/,
  );
  expect(registry.requests.filter((line) => line === "POST uploads")).toHaveLength(1);
});

test("a token that the registry takes no longer is asked for anew, once", async () => {
  const anybody = client(null);
  await anybody.manifest("library/node", base.digest);
  registry.endTokens();
  registry.forget();
  await expect(anybody.manifest("library/node", base.digest)).resolves.toBeDefined();
  await anybody.manifest("library/node", base.digest);
  expect(registry.requests.filter((line) => line === "GET token")).toHaveLength(1);

  registry.endTokens();
  registry.forget();
  // The fresh one is refused as well.
  registry.fail((line) => {
    if (line === "GET token") setImmediate(() => registry.endTokens());
    return null;
  });
  await expect(anybody.manifest("library/node", base.digest)).rejects.toThrow(/refused GET .*: 401 unauthorized/);
  expect(registry.requests.filter((line) => line === "GET token")).toHaveLength(1);
});

test.each([503, 429, "hang-up"] as const)("a host of tokens that fails once with %s is asked again", async (how) => {
  let failures = 0;
  registry.fail((line) => (line === "GET token" && failures++ === 0 ? how : null));
  await expect(client(null).manifest("library/node", base.digest)).resolves.toBeDefined();
  expect(failures).toBe(2);
});

test("a host of tokens that refuses is asked once, and one that nobody reaches is named", async () => {
  registry.fail((line) => (line === "GET token" ? 403 : null));
  const asked = client(null).manifest("library/node", base.digest);
  await expect(asked).rejects.toThrow(`${registry.origin} gives no token for ${registry.origin}: 403`);
  expect(registry.requests.filter((line) => line === "GET token")).toHaveLength(1);
  registry.fail(null);
  registry.giveTokensAt("http://127.0.0.1:9");
  await expect(client(null).manifest("library/node", base.digest)).rejects.toThrow(
    "http://127.0.0.1:9 was not reached",
  );
});

test("other bytes than those of the digest are refused", async () => {
  const [{ layers }] = stored(
    "library/node",
    jsonOf<Index>(registry.manifest("library/node", "published")?.bytes).manifests[0]!.digest,
  );
  const wrong = { ...base, digest: layers[0]!.digest };
  await expect(serverImage(layer, ["arm64"], wrong)).rejects.toThrow(/refused GET/);
  await expect(client(null).blob("library/node", { digest: `sha256:${"0".repeat(64)}` })).rejects.toThrow(
    /no such blob/,
  );
  const manifest = registry.manifest("library/node", "published")!;
  const lying = await startImageRegistry();
  try {
    const source = lying.publish("library/node", { arm64: { files: {}, config: {} } });
    await expect(
      new Registry({ origin: lying.origin }).manifest("library/node", manifest.descriptor.digest),
    ).rejects.toThrow(/404/);
    await expect(new Registry({ origin: lying.origin }).manifest("library/node", source.digest)).resolves.toBeDefined();
  } finally {
    await lying.stop();
  }
});

test("an architecture that the base does not have is told", async () => {
  const only = registry.publish("only/arm", { arm64: { files: {}, config: {} } });
  await expect(serverImage(layer, ["amd64"], only)).rejects.toThrow("has no image for linux/amd64");
});

test("as a folder: every blob lies under its digest, and the index names the image", async () => {
  const image = await serverImage(layer, ARCHITECTURES, base);
  const out = join(folder, "layout");
  await writeLayout(out, "1", image);
  const blob = (digest: string): Buffer => {
    const bytes = readFileSync(join(out, "blobs/sha256", digest.slice("sha256:".length)));
    expect(digestOf(bytes)).toBe(digest);
    return bytes;
  };
  const top = jsonOf<Index>(readFileSync(join(out, "index.json")));
  expect(top.manifests).toHaveLength(1);
  for (const { digest } of jsonOf<Index>(blob(top.manifests[0]!.digest)).manifests) {
    const { config, layers } = jsonOf<Manifest>(blob(digest));
    for (const each of [config, ...layers]) expect(blob(each.digest).length).toBe(each.size);
  }
  expect(jsonOf(readFileSync(join(out, "oci-layout")))).toEqual({ imageLayoutVersion: "1.0.0" });
});

test("the Dockerfile says the same as the image", () => {
  const text = dockerfile("1.2.3", ["package.json", "dist/main.js", "healthy.mjs"]);
  expect(text).toContain(`FROM node:${BASE_IMAGE.tag}@${BASE_IMAGE.digest}\n`);
  expect(text).toContain(`\nENTRYPOINT ${JSON.stringify(ENTRYPOINT)}\n`);
  expect(text).toContain("\nCOPY package.json healthy.mjs /opt/radical/\nCOPY dist /opt/radical/dist\n");
  expect(text).toContain('org.opencontainers.image.description="The primary of a Radical application"');
  for (const [name, value] of Object.entries(IMAGE_ENVIRONMENT)) expect(text).toContain(`${name}=${value}`);
});

test("machines of EC2 run the same cloudflared as those on Fargate", () => {
  expect(nodeFiles()["node/install.sh"]).toContain(`cloudflared-${TUNNEL_IMAGE.tag}-linux-arm64`);
});
