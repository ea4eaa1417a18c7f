/** cloudflared for machines of EC2: fetched from GitHub when a deployment is made, and kept in its bucket, where machines fetch it. */
import { createHash } from "node:crypto";
import { CommandError, messageOf } from "@radical/app/command-error";
import { TUNNEL_IMAGE } from "../image/image-files.ts";

/** As Cloudflare's release notes have it for cloudflared-linux-arm64. */
const SHA256 = "aaeb2d7d0da3614634c7e03ab13487a1522c2e79165ed2929cfe23d5e95b326d";

const FETCH_MS = 300_000;

/** A program that machines need, by its place in the bucket. */
export interface Tool {
  readonly key: string;
  readonly sha256: string;
  readonly fetch: () => Promise<Uint8Array>;
}

export const CLOUDFLARED: Tool = {
  key: `tools/cloudflared-${TUNNEL_IMAGE.tag}-linux-arm64`,
  sha256: SHA256,
  fetch: async () => {
    const url = `https://github.com/cloudflare/cloudflared/releases/download/${TUNNEL_IMAGE.tag}/cloudflared-linux-arm64`;
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
      if (!response.ok) throw new Error(`GitHub answered ${response.status}`);
      return new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      throw new CommandError(
        "download_failed",
        `cloudflared could not be fetched from ${url}: ${messageOf(error)}`,
        "Check the network. Then run the same command again: it goes on from here.",
        { cause: error },
      );
    }
  },
};

/** Throws a CommandError if it is not what it should be. */
export async function fetched({ key, sha256, fetch: get }: Tool): Promise<Uint8Array> {
  const bytes = await get();
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found === sha256) return bytes;
  throw new CommandError(
    "download_failed",
    `The file that was fetched as ${key} is another file: its SHA-256 is ${found}, not ${sha256}.`,
    "Somebody between this machine and GitHub changes what is downloaded: a proxy, perhaps. Use another network.",
  );
}
