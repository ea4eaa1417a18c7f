/** The bucket with the server's artefact and cloudflared, which a machine of EC2 fetches at its start. */
import { fetched, type Tool } from "./cloudflared.ts";
import type { AwsAccount } from "./aws-account.ts";
import { bucketName, type DeploymentName } from "./names.ts";
import type { PlannedChange, PrimaryAccess } from "./primary-deployment.ts";
import type { ServerArtefact } from "./server-artefact.ts";
import type { ServerStore, StoreStep } from "./server-store.ts";
import { artefactKey } from "./user-data.ts";

export class BucketStore implements ServerStore {
  readonly #of: DeploymentName;
  readonly #account: AwsAccount;
  readonly #make: () => Promise<ServerArtefact>;
  #artefact: Promise<ServerArtefact> | null = null;

  readonly #cloudflared: Tool;

  constructor(of: DeploymentName, account: AwsAccount, make: () => Promise<ServerArtefact>, cloudflared: Tool) {
    this.#of = of;
    this.#account = account;
    this.#make = make;
    this.#cloudflared = cloudflared;
  }

  async server(): Promise<string> {
    return (await this.#made()).sha256;
  }

  async changes(access: PrimaryAccess, server: string): Promise<readonly PlannedChange[]> {
    const bucket = this.#bucket(access);
    const state = await this.#account.bucketState(bucket);
    const [hasArtefact, hasCloudflared] =
      state === "none"
        ? [false, false]
        : await Promise.all(
            [artefactKey(server), this.#cloudflared.key].map((key) => this.#account.hasObject(bucket, key)),
          );
    const what = `bucket ${bucket}`;
    return [
      ...(state === "none" ? [{ kind: "make", what, detail: "for the server's artefact" } as const] : []),
      ...(state === "open" ? [{ kind: "repair", what, detail: "closed to the public" } as const] : []),
      ...(hasArtefact
        ? []
        : [{ kind: "make", what: `artefact ${short(server)}`, detail: "the LVI server of this version" } as const]),
      ...(hasCloudflared ? [] : [{ kind: "make", what: "copy of cloudflared", detail: "in the bucket" } as const]),
    ];
  }

  async steps(access: PrimaryAccess): Promise<readonly StoreStep[]> {
    const bucket = this.#bucket(access);
    const { sha256, tar } = await this.#made();
    return [
      {
        step: "bucket",
        words: `bucket ${bucket}`,
        run: async () => {
          if ((await this.#account.bucketState(bucket)) === "closed") return false;
          await this.#account.makeBucket(bucket, access.region);
          return true;
        },
      },
      {
        step: "artefact",
        words: `server ${short(sha256)}`,
        run: async () => {
          if (await this.#account.hasObject(bucket, artefactKey(sha256))) return false;
          await this.#account.putObject(bucket, artefactKey(sha256), tar, sha256);
          return true;
        },
      },
      {
        step: "cloudflared",
        words: "copy of cloudflared",
        run: async () => {
          if (await this.#account.hasObject(bucket, this.#cloudflared.key)) return false;
          const bytes = await fetched(this.#cloudflared);
          await this.#account.putObject(bucket, this.#cloudflared.key, bytes, this.#cloudflared.sha256);
          return true;
        },
      },
    ];
  }

  async dropOthers(access: PrimaryAccess): Promise<void> {
    const bucket = this.#bucket(access);
    const kept = [artefactKey(await this.server()), this.#cloudflared.key];
    const keys = (await this.#account.objectKeys(bucket)).filter((key) => !kept.includes(key));
    await this.#account.removeObjects(bucket, keys);
  }

  async removals(access: PrimaryAccess): Promise<readonly PlannedChange[]> {
    const bucket = this.#bucket(access);
    if ((await this.#account.bucketState(bucket)) === "none") return [];
    return [{ kind: "remove", what: `bucket ${bucket}`, detail: "the LVI server's artefact" }];
  }

  async remove(access: PrimaryAccess): Promise<void> {
    const bucket = this.#bucket(access);
    if ((await this.#account.bucketState(bucket)) === "none") return;
    await this.#account.removeObjects(bucket, await this.#account.objectKeys(bucket));
    await this.#account.removeBucket(bucket);
  }

  close(): void {
    // Its connections are those of the account.
  }

  #bucket({ account, region }: PrimaryAccess): string {
    return bucketName(this.#of, account, region);
  }

  #made(): Promise<ServerArtefact> {
    return (this.#artefact ??= this.#make());
  }
}

function short(sha256: string): string {
  return sha256.slice(0, 12);
}
