/** Images as the Open Container Initiative has them: blobs that are named by their SHA-256, and manifests that name blobs. */
import { createHash } from "node:crypto";

export const INDEX_TYPE = "application/vnd.oci.image.index.v1+json";
export const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
export const CONFIG_TYPE = "application/vnd.oci.image.config.v1+json";
export const LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip";

/** Docker's older names of the same forms, which registries still answer with. */
const DOCKER_INDEX_TYPE = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_CONFIG_TYPE = "application/vnd.docker.container.image.v1+json";
const DOCKER_LAYER_TYPE = "application/vnd.docker.image.rootfs.diff.tar.gzip";

export const MANIFEST_TYPES = [INDEX_TYPE, MANIFEST_TYPE, DOCKER_INDEX_TYPE, DOCKER_MANIFEST_TYPE] as const;

export type Architecture = "arm64" | "amd64";

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string; readonly architecture: string };
}

export interface Manifest {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

export interface Index {
  readonly schemaVersion: 2;
  readonly mediaType: string;
  readonly manifests: readonly Descriptor[];
}

export interface Blob {
  readonly descriptor: Descriptor;
  readonly bytes: Uint8Array;
}

/** A blob that is fetched when it is needed: layers are large, and often where they are to go. */
export interface LazyBlob {
  readonly descriptor: Descriptor;
  readonly read: () => Promise<Uint8Array>;
}

/** A whole image, in parts. */
export interface Image {
  /** The blob that a tag names: the manifest, or the index of those of several architectures. */
  readonly root: Blob;
  /** Those that the index names. */
  readonly manifests: readonly Blob[];
  /** Configurations and layers. */
  readonly blobs: readonly LazyBlob[];
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

export function blobOf(mediaType: string, bytes: Uint8Array): Blob {
  return { descriptor: { mediaType, digest: digestOf(bytes), size: bytes.length }, bytes };
}

export function jsonBlob(mediaType: string, content: object): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(content)));
}

export function inMemory({ descriptor, bytes }: Blob): LazyBlob {
  return { descriptor, read: () => Promise.resolve(bytes) };
}

export function isIndexType(mediaType: string): boolean {
  return mediaType === INDEX_TYPE || mediaType === DOCKER_INDEX_TYPE;
}

/** Docker's names differ, the bytes do not. */
export function ociNamed(descriptor: Descriptor): Descriptor {
  const { mediaType } = descriptor;
  if (mediaType === DOCKER_LAYER_TYPE) return { ...descriptor, mediaType: LAYER_TYPE };
  return mediaType === DOCKER_CONFIG_TYPE ? { ...descriptor, mediaType: CONFIG_TYPE } : descriptor;
}

/** The descriptor of the image of this architecture; undefined: there is none. Attestations have no such platform. */
export function manifestFor({ manifests }: Index, architecture: Architecture): Descriptor | undefined {
  return manifests.find(({ platform }) => platform?.os === "linux" && platform.architecture === architecture);
}
