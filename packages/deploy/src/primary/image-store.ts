/**
 * The repository of images that machines on Fargate are started from: that of the server, and cloudflared's, a copy. With copies in the
 * account a machine that is started needs neither Docker Hub nor anything else outside of AWS. They are built and copied here, on the
 * developer's machine, without Docker.
 */
import { pushImage, Registry, type ImageSource } from "../image/registry.ts";
import { TUNNEL_IMAGE, BASE_IMAGE } from "../image/image-files.ts";
import { imageOf, serverImage, type ServerLayer } from "../image/server-image.ts";
import type { Image } from "../image/oci.ts";
import { EcrRepository } from "./ecr-repository.ts";
import { awsError } from "./aws-errors.ts";
import { serverTag, TUNNEL_TAG, tunnelTagIn } from "./image-tags.ts";
import { type DeploymentName, primaryNames } from "./names.ts";
import type { PlannedChange, PrimaryAccess } from "./primary-deployment.ts";
import type { ServerStore, StoreStep } from "./server-store.ts";

/** The processor of machines on Fargate. */
const ARCHITECTURE = "arm64";

export interface ImageSources {
  readonly base: ImageSource;
  readonly tunnel: ImageSource;
}

export const IMAGE_SOURCES: ImageSources = { base: BASE_IMAGE, tunnel: TUNNEL_IMAGE };

export class ImageStore implements ServerStore {
  readonly #name: string;
  readonly #repository: EcrRepository;
  readonly #make: () => Promise<ServerLayer>;
  readonly #sources: ImageSources;
  #layer: Promise<ServerLayer> | null = null;

  constructor(of: DeploymentName, region: string | null, make: () => Promise<ServerLayer>, sources: ImageSources) {
    this.#name = primaryNames(of).repository;
    this.#repository = new EcrRepository(this.#name, region);
    this.#make = make;
    this.#sources = sources;
  }

  async server(): Promise<string> {
    return (await this.#made()).sha256;
  }

  async changes(_: PrimaryAccess, server: string, template: string | null): Promise<readonly PlannedChange[]> {
    const tunnel = (template === null ? null : tunnelTagIn(template)) ?? TUNNEL_TAG;
    const exists = await this.#repository.exists();
    const there = exists ? await this.#repository.tags() : new Set<string>();
    const make = (what: string, detail: string): PlannedChange => ({ kind: "make", what, detail });
    return [
      ...(exists ? [] : [make(`repository ${this.#name}`, "for the images of the machines")]),
      ...(there.has(serverTag(server)) ? [] : [make(`image ${short(server)}`, "the LVI server of this version")]),
      ...(there.has(tunnel) ? [] : [make(`image of cloudflared${named(tunnel)}`, "a copy of Cloudflare's")]),
    ];
  }

  async steps(): Promise<readonly StoreStep[]> {
    const { sha256 } = await this.#made();
    return [
      {
        step: "repository",
        words: `repository ${this.#name}`,
        run: async () => {
          if (await this.#repository.exists()) return false;
          await this.#repository.make();
          return true;
        },
      },
      {
        step: "images",
        words: `images of the server ${short(sha256)} and of cloudflared ${TUNNEL_IMAGE.tag}`,
        run: (note) => this.#pushMissing(note),
      },
    ];
  }

  async dropOthers(): Promise<void> {
    const kept = [serverTag(await this.server()), TUNNEL_TAG];
    await this.#repository.removeTags([...(await this.#repository.tags())].filter((tag) => !kept.includes(tag)));
  }

  async removals(): Promise<readonly PlannedChange[]> {
    if (!(await this.#repository.exists())) return [];
    return [{ kind: "remove", what: `repository ${this.#name}`, detail: "the images of the machines" }];
  }

  async remove(): Promise<void> {
    if (await this.#repository.exists()) await this.#repository.remove();
  }

  close(): void {
    this.#repository.close();
  }

  async #pushMissing(note: (words: string) => void): Promise<boolean> {
    const layer = await this.#made();
    const there = await this.#repository.tags();
    const wanted: readonly (readonly [tag: string, image: () => Promise<Image>])[] = [
      [serverTag(layer.sha256), () => serverImage(layer, [ARCHITECTURE], this.#sources.base)],
      [TUNNEL_TAG, () => imageOf(this.#sources.tunnel, ARCHITECTURE)],
    ];
    const missing = wanted.filter(([tag]) => !there.has(tag));
    if (missing.length === 0) return false;
    const { origin, authorization } = await this.#repository.login();
    const registry = new Registry({ origin, authorization });
    for (const [tag, image] of missing) {
      try {
        await pushImage(registry, this.#name, tag, await image(), note);
      } catch (error) {
        throw awsError(error, `the images in the repository ${this.#name}`);
      }
    }
    return true;
  }

  #made(): Promise<ServerLayer> {
    return (this.#layer ??= this.#make());
  }
}

/** Of another version nobody knows the name here. */
function named(tunnel: string): string {
  return tunnel === TUNNEL_TAG ? ` ${TUNNEL_IMAGE.tag}` : "";
}

function short(sha256: string): string {
  return sha256.slice(0, 12);
}
