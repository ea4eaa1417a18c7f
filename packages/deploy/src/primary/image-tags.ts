/** By which tags the images lie in the deployment's repository. Each names its content, and the repository lets none be moved. */
import { TUNNEL_IMAGE } from "../image/image-files.ts";

export function serverTag(artefact: string): string {
  return `server-${artefact}`;
}

export const TUNNEL_TAG = `tunnel-${TUNNEL_IMAGE.digest.slice("sha256:".length)}`;
