/** Where an LVI server is asked, and what it is called among people. */
import type { NodeName } from "@radical/protocol";
import type { AdministrationKey } from "./administration-key.ts";

export interface PrimaryAddress {
  /** Origin: of the server itself, or of what stands in front of it. */
  readonly url: string;
  readonly key: AdministrationKey;
  /** The name of the deployment that is asked; left out: not known. */
  readonly deployment?: string;
  /** Behind the relay at `url`: the machine that is asked. */
  readonly node?: NodeName;
}

/** For people. */
export function serverName({ url, node }: Pick<PrimaryAddress, "url" | "node">): string {
  return node === undefined ? `the LVI server at ${url}` : `the LVI server of machine ${node}`;
}

/** Among several. */
export function shortName({ url, node }: PrimaryAddress): string {
  return node ?? new URL(url).host;
}
