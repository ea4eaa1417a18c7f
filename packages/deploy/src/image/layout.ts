/** An image as a folder, the layout of the Open Container Initiative: `skopeo copy oci:<folder> docker://…` and others publish it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Image, INDEX_TYPE } from "./oci.ts";

export async function writeLayout(folder: string, tag: string, { root, manifests, blobs }: Image): Promise<void> {
  const blobFolder = join(folder, "blobs", "sha256");
  await mkdir(blobFolder, { recursive: true });
  const put = (digest: string, bytes: Uint8Array): Promise<void> =>
    writeFile(join(blobFolder, digest.slice("sha256:".length)), bytes);
  for (const { descriptor, read } of blobs) await put(descriptor.digest, await read());
  for (const { descriptor, bytes } of [...manifests, root]) await put(descriptor.digest, bytes);
  const annotations = { "org.opencontainers.image.ref.name": tag };
  const index = { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: [{ ...root.descriptor, annotations }] };
  await writeFile(join(folder, "index.json"), `${JSON.stringify(index)}\n`);
  await writeFile(join(folder, "oci-layout"), `${JSON.stringify({ imageLayoutVersion: "1.0.0" })}\n`);
}
