/** By which tags the images lie in the deployment's repository. Each names its content, and the repository lets none be moved. */
import { TUNNEL_IMAGE } from "../image/image-files.ts";

export function serverTag(artefact: string): string {
  return `server-${artefact}`;
}

/** That of cloudflared in a template of any version of Radical; null: it names none. */
export function tunnelTagIn(template: string): string | null {
  return /\btunnel-[0-9a-f]{64}\b/.exec(template)?.[0] ?? null;
}

/** That of this version's cloudflared. */
export const TUNNEL_TAG = `tunnel-${TUNNEL_IMAGE.digest.slice("sha256:".length)}`;
