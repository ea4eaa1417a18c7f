/**
 * The image of the server: one layer of files on the base image, so it is built without Docker, and without running anything. The layer
 * is the same for every architecture.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { serverFiles } from "../primary/server-artefact.ts";
import { tarOf } from "../primary/tar.ts";
import {
  BASE_IMAGE,
  ENTRYPOINT,
  HEALTH,
  HEALTH_COMMAND,
  IMAGE_ENVIRONMENT,
  IMAGE_USER,
  IMAGE_USER_ID,
  imageFiles,
  labelsOf,
  SERVER_FOLDER,
  STATE_FOLDER,
  STOP_SIGNAL,
} from "./image-files.ts";
import {
  type Architecture,
  blobOf,
  CONFIG_TYPE,
  digestOf,
  type Image,
  type Index,
  INDEX_TYPE,
  inMemory,
  isIndexType,
  jsonBlob,
  LAYER_TYPE,
  type LazyBlob,
  type Manifest,
  MANIFEST_TYPE,
  manifestFor,
  ociNamed,
} from "./oci.ts";
import { type ImageSource, Registry, RegistryError } from "./registry.ts";

export const ARCHITECTURES = ["arm64", "amd64"] as const satisfies readonly Architecture[];

/** The part of an image that is not its base. */
export interface ServerLayer {
  /** Names all of it: the base, the layer and what is to be run. The same sources give the same. */
  readonly sha256: string;
  /** Of the server. */
  readonly version: string;
  /** Not compressed. */
  readonly tar: Uint8Array;
  readonly config: ContainerConfig;
}

/** Of the configuration of an image, what is run and how. */
interface ContainerConfig {
  readonly Env?: readonly string[];
  readonly Labels?: Readonly<Record<string, string>>;
  readonly [name: string]: unknown;
}

interface ImageConfig {
  readonly config?: ContainerConfig;
  readonly rootfs: { readonly type: "layers"; readonly diff_ids: readonly string[] };
  readonly history?: readonly object[];
  readonly [name: string]: unknown;
}

/** Of the server of this version of Radical. */
export async function buildServerLayer(): Promise<ServerLayer> {
  const files = await serverFiles();
  const { version } = JSON.parse(files["package.json"]!) as { readonly version: string };
  const placed = Object.entries({ ...files, ...imageFiles() }).map(([path, text]): [string, string] => [
    `${SERVER_FOLDER.slice(1)}/${path}`,
    text,
  ]);
  const tar = tarOf(Object.fromEntries(placed), [
    { path: `${SERVER_FOLDER.slice(1)}/`, mode: 0o755, owner: 0 },
    { path: `${SERVER_FOLDER.slice(1)}/dist/`, mode: 0o755, owner: 0 },
    { path: `${STATE_FOLDER.slice(1)}/`, mode: 0o700, owner: IMAGE_USER_ID },
  ]);
  const config = containerConfig(version);
  const sha256 = createHash("sha256")
    .update(JSON.stringify([BASE_IMAGE.digest, digestOf(tar), config]))
    .digest("hex");
  return { sha256, version, tar, config };
}

function containerConfig(version: string): ContainerConfig {
  const nanoseconds = (seconds: number): number => seconds * 1e9;
  return {
    User: IMAGE_USER,
    WorkingDir: STATE_FOLDER,
    Volumes: { [STATE_FOLDER]: {} },
    ExposedPorts: { [`${IMAGE_ENVIRONMENT["RADICAL_PORT"]}/tcp`]: {} },
    Env: Object.entries(IMAGE_ENVIRONMENT).map(([name, value]) => `${name}=${value}`),
    Entrypoint: ENTRYPOINT,
    Cmd: null,
    StopSignal: STOP_SIGNAL,
    Healthcheck: {
      Test: ["CMD", ...HEALTH_COMMAND],
      Interval: nanoseconds(HEALTH.intervalSeconds),
      Timeout: nanoseconds(HEALTH.timeoutSeconds),
      StartPeriod: nanoseconds(HEALTH.startSeconds),
      Retries: HEALTH.retries,
    },
    Labels: labelsOf(version),
  };
}

/** The image for these architectures: of one, its manifest is the root, of several an index. */
export async function serverImage(
  { tar, config }: ServerLayer,
  architectures: readonly Architecture[],
  base: ImageSource = BASE_IMAGE,
): Promise<Image> {
  const layer = blobOf(LAYER_TYPE, gzipSync(tar, { level: 9 }));
  const blobs: LazyBlob[] = [inMemory(layer)];
  const manifests = [];
  const registry = new Registry(base);
  for (const architecture of architectures) {
    const below = await manifestOf(registry, base, architecture);
    const read = await registry.blob(base.repository, below.config);
    const of = JSON.parse(Buffer.from(read).toString("utf8")) as ImageConfig;
    const whole: ImageConfig = {
      ...of,
      config: {
        ...of.config,
        ...config,
        Env: [...(of.config?.Env ?? []), ...(config.Env ?? [])],
        Labels: { ...of.config?.Labels, ...config.Labels },
      },
      rootfs: { type: "layers", diff_ids: [...of.rootfs.diff_ids, digestOf(tar)] },
      history: [...(of.history ?? []), { created: of["created"], created_by: "radical: the LVI server" }],
    };
    const configBlob = jsonBlob(CONFIG_TYPE, whole);
    blobs.push(inMemory(configBlob), ...lazily(registry, base, below.layers.map(ociNamed)));
    const manifest = jsonBlob(MANIFEST_TYPE, {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: configBlob.descriptor,
      layers: [...below.layers.map(ociNamed), layer.descriptor],
    } satisfies Manifest);
    manifests.push({ ...manifest, descriptor: { ...manifest.descriptor, platform: { os: "linux", architecture } } });
  }
  const [only] = manifests;
  if (manifests.length === 1) return { root: only!, manifests: [], blobs };
  const index: Index = {
    schemaVersion: 2,
    mediaType: INDEX_TYPE,
    manifests: manifests.map(({ descriptor }) => descriptor),
  };
  return { root: jsonBlob(INDEX_TYPE, index), manifests, blobs };
}

/** An image of somebody else, as it is, for one architecture. */
export async function imageOf(source: ImageSource, architecture: Architecture): Promise<Image> {
  const registry = new Registry(source);
  const root = await rawManifest(registry, source, architecture);
  const { config, layers } = JSON.parse(Buffer.from(root.bytes).toString("utf8")) as Manifest;
  return { root, manifests: [], blobs: lazily(registry, source, [config, ...layers]) };
}

async function manifestOf(registry: Registry, source: ImageSource, architecture: Architecture): Promise<Manifest> {
  return JSON.parse(
    Buffer.from((await rawManifest(registry, source, architecture)).bytes).toString("utf8"),
  ) as Manifest;
}

/** By the digest of the source, which may be that of an index. */
async function rawManifest(registry: Registry, source: ImageSource, architecture: Architecture) {
  const root = await registry.manifest(source.repository, source.digest);
  if (!isIndexType(root.descriptor.mediaType)) return root;
  const found = manifestFor(JSON.parse(Buffer.from(root.bytes).toString("utf8")) as Index, architecture);
  if (found === undefined)
    throw new RegistryError(`${source.repository}@${source.digest} has no image for linux/${architecture}.`);
  return registry.manifest(source.repository, found.digest);
}

function lazily(registry: Registry, { repository }: ImageSource, descriptors: Manifest["layers"]): readonly LazyBlob[] {
  return descriptors.map((descriptor) => ({ descriptor, read: () => registry.blob(repository, descriptor) }));
}
