/**
 * A package registry on this machine that has the packages of a folder of tarballs. It sends requests for others on to
 * the configured registry. So a user sees the packages as if they were published.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

interface Tarball {
  readonly name: string;
  readonly version: string;
  readonly manifest: object;
  readonly bytes: Buffer;
}

/** `upstream`: where all other packages are. */
export async function startRegistry(folder: string, upstream: string): Promise<Registry> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".tgz"));
  const tarballs = new Map(
    await Promise.all(files.map(async (file) => [file, await readTarball(join(folder, file))] as const)),
  );
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", url).pathname).slice(1);
    const bytes = tarballs.get(path)?.bytes;
    if (bytes !== undefined) {
      response.end(bytes);
      return;
    }
    const found = [...tarballs].find(([, { name }]) => name === path);
    if (found === undefined)
      response.writeHead(302, { location: new URL(request.url?.slice(1) ?? "", upstream).href }).end();
    // Another run may have other bytes under the same address.
    else
      response
        .writeHead(200, { "content-type": "application/json", "cache-control": "no-store" })
        .end(describe(...found));
  });
  const describe = (file: string, { name, version, manifest, bytes }: Tarball): string => {
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const dist = { tarball: `${url}${file}`, integrity };
    return JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } });
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readTarball(path: string): Promise<Tarball> {
  const { stdout } = await run("tar", ["-xOzf", path, "package/package.json"]);
  const manifest = JSON.parse(stdout) as { readonly name: string; readonly version: string };
  return { name: manifest.name, version: manifest.version, manifest, bytes: await readFile(path) };
}
