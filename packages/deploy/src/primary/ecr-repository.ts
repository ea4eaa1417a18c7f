/** A repository of images in the account's registry (ECR). Its tags can't be moved, and its images are looked through for known flaws. */
import {
  BatchDeleteImageCommand,
  CreateRepositoryCommand,
  DeleteRepositoryCommand,
  DescribeRepositoriesCommand,
  ECRClient,
  GetAuthorizationTokenCommand,
  type ImageFailure,
  ListImagesCommand,
} from "@aws-sdk/client-ecr";
import { awsError } from "./aws-errors.ts";
import { clientSettings } from "./aws-account.ts";

/** The address of the registry, and the header that it takes. */
export interface RegistryLogin {
  readonly origin: string;
  readonly authorization: string;
}

/** So many in one request. */
const MOST_IMAGES = 100;

export class EcrRepository {
  readonly #name: string;
  readonly #client: ECRClient;

  constructor(name: string, region: string | null) {
    this.#name = name;
    this.#client = new ECRClient(clientSettings(region));
  }

  close(): void {
    this.#client.destroy();
  }

  exists(): Promise<boolean> {
    return this.#telling("a look at", async () => {
      try {
        await this.#client.send(new DescribeRepositoriesCommand({ repositoryNames: [this.#name] }));
        return true;
      } catch (error) {
        if (error instanceof Error && error.name === "RepositoryNotFoundException") return false;
        throw error;
      }
    });
  }

  make(): Promise<void> {
    return this.#telling("making", async () => {
      await this.#client.send(
        new CreateRepositoryCommand({
          repositoryName: this.#name,
          imageTagMutability: "IMMUTABLE",
          imageScanningConfiguration: { scanOnPush: true },
        }),
      );
    });
  }

  /** Of all images. */
  tags(): Promise<ReadonlySet<string>> {
    return this.#telling("a look into", async () => {
      const tags = new Set<string>();
      let nextToken: string | undefined;
      do {
        const page = await this.#client.send(new ListImagesCommand({ repositoryName: this.#name, nextToken }));
        for (const { imageTag } of page.imageIds ?? []) if (imageTag !== undefined) tags.add(imageTag);
        nextToken = page.nextToken;
      } while (nextToken !== undefined);
      return tags;
    });
  }

  /** A tag that is gone already is not a failure. */
  removeTags(tags: readonly string[]): Promise<void> {
    return this.#telling("the removal of old images from", async () => {
      const left: ImageFailure[] = [];
      for (let from = 0; from < tags.length; from += MOST_IMAGES) {
        const imageIds = tags.slice(from, from + MOST_IMAGES).map((imageTag) => ({ imageTag }));
        const command = new BatchDeleteImageCommand({ repositoryName: this.#name, imageIds });
        // AWS answers 200 also when it has removed nothing.
        const { failures = [] } = await this.#client.send(command);
        left.push(...failures.filter(({ failureCode }) => failureCode !== "ImageNotFound"));
      }
      if (left.length > 0) throw new Error(`${left.map(wordsOf).join("; ")}.`);
    });
  }

  /** With its images. */
  remove(): Promise<void> {
    return this.#telling("the removal of", async () => {
      await this.#client.send(new DeleteRepositoryCommand({ repositoryName: this.#name, force: true }));
    });
  }

  login(): Promise<RegistryLogin> {
    return this.#telling("the login to", async () => {
      const { authorizationData } = await this.#client.send(new GetAuthorizationTokenCommand({}));
      const { proxyEndpoint: origin, authorizationToken: token } = authorizationData?.[0] ?? {};
      if (origin === undefined || token === undefined) throw new Error("AWS named no registry");
      return { origin, authorization: `Basic ${token}` };
    });
  }

  async #telling<T>(doing: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw awsError(error, `${doing} the repository ${this.#name}`);
    }
  }
}

function wordsOf({ imageId, failureCode, failureReason }: ImageFailure): string {
  const image = imageId?.imageTag ?? imageId?.imageDigest ?? "an image";
  const reason = [failureCode, failureReason].filter((part) => part !== undefined).join(", ");
  return `${image} stays (${reason})`;
}
