/** The image of this version's server as a folder, for who publishes or hosts it. */
import { CommandError, messageOf } from "@radical/app/command-error";
import { BASE_IMAGE } from "./image-files.ts";
import { writeLayout } from "./layout.ts";
import { type ImageSource, RegistryError } from "./registry.ts";
import { ARCHITECTURES, buildServerLayer, serverImage } from "./server-image.ts";

/** Gives the digest of its index. */
export async function writeServerImage(folder: string, base: ImageSource = BASE_IMAGE): Promise<string> {
  const layer = await buildServerLayer();
  try {
    const image = await serverImage(layer, ARCHITECTURES, base);
    await writeLayout(folder, layer.version, image);
    return image.root.descriptor.digest;
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    throw new CommandError(
      "registry_failed",
      `The base of the image could not be fetched: ${messageOf(error)}`,
      "Check the network. If Docker Hub answers 429, its limit for downloads without a name is used up: wait, or build by the Dockerfile.",
      { cause: error },
    );
  }
}
