/**
 * A registry of images, by the protocol that all of them have in common (the distribution specification of the Open Container
 * Initiative). Bytes that were fetched by a digest are checked against it. An answer that a registry failed to give is asked for
 * again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "@radical/app/command-error";
import { type Blob, blobOf, type Descriptor, digestOf, type Image, MANIFEST_TYPES } from "./oci.ts";

/** A registry's refusal, a registry that is not reached, or bytes that are others than it was asked for. */
export class RegistryError extends Error {
  override readonly name = "RegistryError";
  /** Whether the same may succeed a moment later. */
  readonly mayPass: boolean;

  constructor(message: string, mayPass = false) {
    super(message);
    this.mayPass = mayPass;
  }
}

export interface RegistryOptions {
  /** `https://registry-1.docker.io`. */
  readonly origin: string;
  /** The whole header; null: a token is asked for, as the registry says, without a name. */
  readonly authorization?: string | null;
  /** Before the second attempt; it doubles. For tests. */
  readonly pauseMs?: number;
}

/** An image in a registry, by its digest. */
export interface ImageSource {
  readonly origin: string;
  readonly repository: string;
  /** For people: what the digest was called when it was pinned. */
  readonly tag: string;
  readonly digest: string;
}

const ATTEMPTS = 5;
const PAUSE_MS = 1_000;
/** Of one request; a layer has 50 MB. */
const REQUEST_MS = 600_000;

export class Registry {
  readonly #origin: string;
  readonly #given: string | null;
  readonly #pauseMs: number;
  /** By the challenge that they answer. A registry takes each for some minutes only. */
  readonly #tokens = new Map<string, string>();

  constructor({ origin, authorization = null, pauseMs = PAUSE_MS }: RegistryOptions) {
    this.#origin = origin.replace(/\/$/, "");
    this.#given = authorization;
    this.#pauseMs = pauseMs;
  }

  /** `reference`: a tag or a digest. */
  hasManifest(repository: string, reference: string): Promise<boolean> {
    return this.#again(
      async () => (await this.#ask("HEAD", `${repository}/manifests/${reference}`, { allow: [404] })).ok,
    );
  }

  manifest(repository: string, reference: string): Promise<Blob> {
    return this.#again(async () => {
      const response = await this.#ask("GET", `${repository}/manifests/${reference}`);
      const blob = blobOf(response.headers.get("content-type") ?? "", new Uint8Array(await response.arrayBuffer()));
      if (reference.startsWith("sha256:")) this.#check(blob.descriptor.digest, reference, repository);
      return blob;
    });
  }

  hasBlob(repository: string, digest: string): Promise<boolean> {
    return this.#again(async () => (await this.#ask("HEAD", `${repository}/blobs/${digest}`, { allow: [404] })).ok);
  }

  blob(repository: string, { digest }: Pick<Descriptor, "digest">): Promise<Uint8Array> {
    return this.#again(async () => {
      const response = await this.#ask("GET", `${repository}/blobs/${digest}`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      this.#check(digestOf(bytes), digest, repository);
      return bytes;
    });
  }

  /** An upload that was broken off is begun again: nobody knows how much of it has arrived. */
  putBlob(repository: string, { digest }: Pick<Descriptor, "digest">, bytes: Uint8Array): Promise<void> {
    return this.#again(async () => {
      const begun = await this.#ask("POST", `${repository}/blobs/uploads/`, { body: "" });
      const sent = await this.#ask("PATCH", this.#located(begun), { body: bytes, type: "application/octet-stream" });
      const end = this.#located(sent);
      end.searchParams.set("digest", digest);
      await this.#ask("PUT", end, { body: "" });
    });
  }

  putManifest(repository: string, reference: string, { descriptor, bytes }: Blob): Promise<void> {
    return this.#again(async () => {
      await this.#ask("PUT", `${repository}/manifests/${reference}`, { body: bytes, type: descriptor.mediaType });
    });
  }

  #check(found: string, wanted: string, repository: string): void {
    if (found !== wanted) throw new RegistryError(`${this.#origin} sent other bytes of ${repository} than ${wanted}.`);
  }

  #located(response: Response): URL {
    const location = response.headers.get("location");
    if (location === null) throw new RegistryError(`${this.#origin} does not say where an upload goes on.`);
    return new URL(location, this.#origin);
  }

  async #ask(
    method: string,
    path: string | URL,
    {
      body,
      type,
      allow = [],
    }: { readonly body?: Uint8Array | string; readonly type?: string; readonly allow?: readonly number[] } = {},
  ): Promise<Response> {
    const url = typeof path === "string" ? new URL(`${this.#origin}/v2/${path}`) : path;
    const sent = (authorization: string | null): Promise<Response> =>
      fetch(url, {
        method,
        headers: {
          accept: MANIFEST_TYPES.join(", "),
          ...(type === undefined ? {} : { "content-type": type }),
          ...(authorization === null ? {} : { authorization }),
        },
        ...(body === undefined ? {} : { body: Buffer.from(body) }),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
    let response = await sent(this.#given);
    const challenge = response.headers.get("www-authenticate");
    if (response.status === 401 && challenge !== null && this.#given === null) {
      await response.body?.cancel();
      const known = this.#tokens.get(challenge);
      response = await sent(known ?? (await this.#freshToken(challenge)));
      if (response.status === 401 && known !== undefined) {
        await response.body?.cancel();
        this.#tokens.delete(challenge);
        response = await sent(await this.#freshToken(challenge));
      }
    }
    const { ok, status } = response;
    if (ok || allow.includes(status)) return response;
    const said = (await response.text()).slice(0, 500);
    const words = `${this.#origin} refused ${method} ${url.pathname}: ${status}${said === "" ? "." : ` ${said}`}`;
    throw new RegistryError(words, isPassing(status));
  }

  async #again<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        const failure = error instanceof RegistryError ? error : unreached(this.#origin, error);
        if (!failure.mayPass || attempt === ATTEMPTS) throw failure;
        await sleep(this.#pauseMs * 2 ** (attempt - 1));
      }
    }
  }

  /** For `Bearer realm="https://…",service="…",scope="…"`. */
  async #freshToken(challenge: string): Promise<string> {
    const fields = new Map([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));
    const realm = fields.get("realm");
    if (!/^bearer /i.test(challenge) || realm === undefined || !URL.canParse(realm))
      throw new RegistryError(`${this.#origin} wants credentials: ${challenge}`);
    const url = new URL(realm);
    for (const name of ["service", "scope"]) {
      const value = fields.get(name);
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const [{ ok, status }, said] = await answerOf(url);
    const text = ok ? tokenIn(said) : null;
    if (text === null)
      throw new RegistryError(`${url.origin} gives no token for ${this.#origin}: ${status}.`, isPassing(status));
    this.#tokens.set(challenge, `Bearer ${text}`);
    return `Bearer ${text}`;
  }
}

function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

function unreached(origin: string, error: unknown): RegistryError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return new RegistryError(`${origin} was not reached: ${messageOf(cause)}`, true);
}

/** The host of tokens is mostly another one than that of the registry, so a failure names it. */
async function answerOf(url: URL): Promise<readonly [response: Response, said: string]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) });
    return [response, await response.text()];
  } catch (error) {
    throw unreached(url.origin, error);
  }
}

/** Null: the answer has none. */
function tokenIn(said: string): string | null {
  try {
    const { token, access_token: other } = JSON.parse(said) as {
      readonly token?: string;
      readonly access_token?: string;
    };
    return token ?? other ?? null;
  } catch {
    return null;
  }
}

/** `tag` names the content. Blobs come first: a manifest is taken only if everything that it names is there. Blobs that are there already are not sent again. */
export async function pushImage(
  registry: Registry,
  repository: string,
  tag: string,
  { root, manifests, blobs }: Image,
  note: (words: string) => void = () => {},
): Promise<void> {
  for (const { descriptor, read } of blobs) {
    if (await registry.hasBlob(repository, descriptor.digest)) continue;
    note(
      `${descriptor.digest.slice("sha256:".length, "sha256:".length + 12)}, ${(descriptor.size / 1e6).toFixed(1)} MB`,
    );
    await registry.putBlob(repository, descriptor, await read());
  }
  for (const manifest of manifests) await registry.putManifest(repository, manifest.descriptor.digest, manifest);
  try {
    await registry.putManifest(repository, tag, root);
  } catch (error) {
    // Somebody else has pushed it meanwhile, or the answer to an earlier attempt was lost. A tag is not given twice.
    if (!(await registry.hasManifest(repository, tag))) throw error;
  }
}
