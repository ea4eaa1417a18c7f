/** The hourly collection of blobs, at once. */
import { BLOB_CRON } from "@radical/protocol";
import { SCHEDULED_PATH } from "@radical/app/workers";

export async function collectBlobs(url: string): Promise<void> {
  const query = new URLSearchParams({ cron: BLOB_CRON });
  const response = await fetch(`${url}${SCHEDULED_PATH}?${query}`);
  const text = await response.text();
  if (text !== "ok") throw new Error(`the collection was answered with ${response.status} ${text}`);
}
