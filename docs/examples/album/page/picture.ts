// #region upload
import { createClient } from "#radical";

const client = createClient();

/** Puts the picture of the user, and shows it. */
export async function change(image: HTMLImageElement, file: File): Promise<void> {
  const picture = await client.blobs.put(file);
  await client.setPicture({ picture });
  image.src = client.blobs.url(picture);
}
// #endregion
