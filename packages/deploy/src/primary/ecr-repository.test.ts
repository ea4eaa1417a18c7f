/** Removals of images, with a client of the SDK that asks nobody. */
import { BatchDeleteImageCommand, ECRClient } from "@aws-sdk/client-ecr";
import { CommandError } from "@radical/app/command-error";
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from "vitest";
import { EcrRepository } from "./ecr-repository.ts";

interface Failure {
  readonly failureCode: string;
  readonly failureReason?: string;
}

/** Tags of each request. */
let asked: string[][];
/** By the tag that is not removed. */
let failures: Readonly<Record<string, Failure>>;

beforeEach(() => {
  [asked, failures] = [[], {}];
  // Of the forms that it can be called in, this one is used.
  const send = vi.spyOn(ECRClient.prototype, "send") as unknown as MockInstance<(command: unknown) => Promise<object>>;
  send.mockImplementation((command) => {
    if (!(command instanceof BatchDeleteImageCommand)) throw new Error("Another command than expected.");
    const tags = command.input.imageIds!.map(({ imageTag }) => imageTag!);
    asked.push(tags);
    const failed = tags.filter((tag) => tag in failures);
    return Promise.resolve({ failures: failed.map((imageTag) => ({ imageId: { imageTag }, ...failures[imageTag]! })) });
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function removeTags(...tags: readonly string[]): Promise<void> {
  const repository = new EcrRepository("radical-shop-production", "eu-central-1");
  try {
    await repository.removeTags(tags);
  } finally {
    repository.close();
  }
}

test("an image that is gone already is removed", async () => {
  failures = { old: { failureCode: "ImageNotFound", failureReason: "Requested image not found" } };
  await removeTags("old", "older");
  expect(asked).toEqual([["old", "older"]]);
});

test("images that AWS does not remove are told, after all others were asked for", async () => {
  const tags = Array.from({ length: 150 }, (_, index) => `old-${index}`);
  failures = {
    "old-1": { failureCode: "KmsError", failureReason: "the key is disabled" },
    "old-2": { failureCode: "ImageNotFound" },
    "old-120": { failureCode: "ImageReferencedByManifestList" },
  };
  const removal = removeTags(...tags);
  await expect(removal).rejects.toBeInstanceOf(CommandError);
  await expect(removal).rejects.toMatchObject({
    code: "aws_failed",
    message:
      "AWS refused the removal of old images from the repository radical-shop-production: " +
      "old-1 stays (KmsError, the key is disabled); old-120 stays (ImageReferencedByManifestList).",
  });
  expect(asked.map(({ length }) => length)).toEqual([100, 50]);
});
