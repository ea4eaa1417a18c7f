/**
 * A registry of images on the loopback interface, strict where real ones are. A blob is kept only under its own digest. A manifest is
 * kept only if all that it names is there. A tag is never moved. Downloads need a token that everybody gets, and that may end; uploads
 * need a password.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import {
  type Architecture,
  type Blob,
  blobOf,
  CONFIG_TYPE,
  digestOf,
  type Index,
  INDEX_TYPE,
  isIndexType,
  jsonBlob,
  LAYER_TYPE,
  type Manifest,
  MANIFEST_TYPE,
} from "../image/oci.ts";
import type { ImageSource } from "../image/registry.ts";
import { tarOf } from "../primary/tar.ts";

/** Instead of the answer: a status, or the connection is cut, before or after the request was carried out. */
export type RegistryFailure = number | "hang-up" | "after";

export interface ImageRegistry {
  readonly origin: string;
  /** The header that uploads need. */
  readonly authorization: string;
  /** `PUT manifests`, `PATCH uploads`, … since the last `forget`. */
  readonly requests: readonly string[];
  forget(): void;
  /** Asked for each request; null: it is answered. */
  fail(by: ((request: string) => RegistryFailure | null) | null): void;
  blob(digest: string): Uint8Array | undefined;
  manifest(repository: string, reference: string): Blob | undefined;
  /** As somebody else has published it. */
  publish(repository: string, images: Readonly<Partial<Record<Architecture, PublishedImage>>>): ImageSource;
  /** Removes the repositories whose names begin so. Blobs stay. */
  removeRepositories(prefix: string): void;
  /** Told each manifest that gets a tag. */
  onTag(by: (repository: string, tag: string, manifest: Blob) => Promise<void>): void;
  /** The tokens that it has given are taken no longer. */
  endTokens(): void;
  /** Where clients ask for tokens; null: at the registry itself. */
  giveTokensAt(origin: string | null): void;
  stop(): Promise<void>;
}

export interface PublishedImage {
  readonly files: Readonly<Record<string, string>>;
  readonly config: object;
}

const PASSWORD = `Basic ${Buffer.from("AWS:password").toString("base64")}`;

export async function startImageRegistry(): Promise<ImageRegistry> {
  const blobs = new Map<string, Uint8Array>();
  const manifests = new Map<string, Blob>();
  const uploads = new Map<string, Uint8Array>();
  const requests: string[] = [];
  /** The one that downloads need now. */
  let token: string = randomUUID();
  let tokensAt: string | null = null;
  let failing: Parameters<ImageRegistry["fail"]>[0] = null;
  let tagged: Parameters<ImageRegistry["onTag"]>[0] = () => Promise.resolve();

  const at = (repository: string, reference: string): string => `${repository} ${reference}`;
  const keep = (repository: string, reference: string, blob: Blob): void => {
    manifests.set(at(repository, reference), blob);
    manifests.set(at(repository, blob.descriptor.digest), blob);
  };
  const missing = (repository: string, { descriptor, bytes }: Blob): readonly string[] => {
    const named = JSON.parse(Buffer.from(bytes).toString("utf8")) as Manifest & Index;
    if (isIndexType(descriptor.mediaType))
      return named.manifests.map(({ digest }) => digest).filter((digest) => !manifests.has(at(repository, digest)));
    return [named.config, ...named.layers].map(({ digest }) => digest).filter((digest) => !blobs.has(digest));
  };

  /** Of one request, whose body is here. */
  const answer = async ({ method, url: path, headers }: IncomingMessage, body: Uint8Array): Promise<Answer> => {
    const url = new URL(path ?? "/", "http://registry");
    if (url.pathname === "/token") return { status: 200, body: JSON.stringify({ token }) };
    const [, repository = "", kind = "", reference = ""] =
      /^\/v2\/(.+)\/(manifests|blobs\/uploads|blobs)\/([^/]*)$/.exec(url.pathname) ?? [];
    const isRead = method === "GET" || method === "HEAD";
    if (headers.authorization !== PASSWORD && !(isRead && headers.authorization === `Bearer ${token}`)) {
      const challenge = `Bearer realm="${tokensAt ?? origin}/token",service="registry",scope="repository:${repository}:pull"`;
      return { status: 401, headers: { "www-authenticate": challenge }, body: "unauthorized" };
    }
    if (kind === "manifests" && isRead) {
      const found = manifests.get(at(repository, reference));
      if (found === undefined) return { status: 404, body: "no such manifest" };
      return { status: 200, headers: { "content-type": found.descriptor.mediaType }, body: found.bytes };
    }
    if (kind === "manifests" && method === "PUT") {
      const blob = blobOf(headers["content-type"] ?? "", body);
      const unknown = missing(repository, blob);
      if (unknown.length > 0) return { status: 404, body: `MANIFEST_BLOB_UNKNOWN ${unknown.join(" ")}` };
      const isTag = !reference.startsWith("sha256:");
      if (isTag && manifests.has(at(repository, reference))) return { status: 400, body: "TAG_IMMUTABLE" };
      keep(repository, reference, blob);
      if (isTag) await tagged(repository, reference, blob);
      return { status: 201 };
    }
    if (kind === "blobs" && isRead) {
      const found = blobs.get(reference);
      return found === undefined ? { status: 404, body: "no such blob" } : { status: 200, body: found };
    }
    if (kind === "blobs/uploads") {
      const id = method === "POST" ? randomUUID() : reference;
      const before = method === "POST" ? new Uint8Array() : uploads.get(id);
      if (before === undefined) return { status: 404, body: "no such upload" };
      const sent = Buffer.concat([before, body]);
      uploads.set(id, sent);
      if (method !== "PUT")
        return { status: 202, headers: { location: `/v2/${repository}/blobs/uploads/${id}?state=1` } };
      const digest = url.searchParams.get("digest") ?? "";
      if (digestOf(sent) !== digest) return { status: 400, body: "DIGEST_INVALID" };
      blobs.set(digest, sent);
      return { status: 201 };
    }
    return { status: 405, body: "" };
  };

  const server = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const [, kind = ""] =
        /\/(manifests|uploads|blobs|token)(?:\/|$|\?)/.exec((request.url ?? "").replace("blobs/uploads", "uploads")) ??
        [];
      const line = `${request.method} ${kind}`;
      requests.push(line);
      const failure = failing?.(line) ?? null;
      if (failure === "hang-up") return request.socket.destroy();
      if (typeof failure === "number") return response.writeHead(failure).end("made to fail");
      const { status, headers = {}, body: said = "" } = await answer(request, body);
      if (failure === "after") return request.socket.destroy();
      return response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : said);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    authorization: PASSWORD,
    requests,
    forget: () => void (requests.length = 0),
    fail: (by) => (failing = by),
    blob: (digest) => blobs.get(digest),
    manifest: (repository, reference) => manifests.get(at(repository, reference)),
    publish: (repository, images) => {
      const made = Object.entries(images).map(([architecture, { files, config }]) => {
        const tar = tarOf(files);
        const layer = blobOf(LAYER_TYPE, gzipSync(tar));
        const of = jsonBlob(CONFIG_TYPE, {
          created: "2026-09-19T00:48:53Z",
          architecture,
          os: "linux",
          config,
          rootfs: { type: "layers", diff_ids: [digestOf(tar)] },
          history: [{ created_by: "somebody" }],
        });
        for (const { descriptor, bytes } of [layer, of]) blobs.set(descriptor.digest, bytes);
        const manifest = jsonBlob(MANIFEST_TYPE, {
          schemaVersion: 2,
          mediaType: MANIFEST_TYPE,
          config: of.descriptor,
          layers: [layer.descriptor],
        } satisfies Manifest);
        keep(repository, manifest.descriptor.digest, manifest);
        return { ...manifest.descriptor, platform: { os: "linux", architecture } };
      });
      const index = jsonBlob(INDEX_TYPE, { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: made } satisfies Index);
      keep(repository, "published", index);
      return { origin, repository, tag: "published", digest: index.descriptor.digest };
    },
    removeRepositories: (prefix) => {
      for (const name of manifests.keys()) if (name.startsWith(prefix)) manifests.delete(name);
    },
    onTag: (by) => (tagged = by),
    endTokens: () => (token = randomUUID()),
    giveTokensAt: (elsewhere) => (tokensAt = elsewhere),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}
