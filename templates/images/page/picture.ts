/** The choice of a picture to publish: from the files of a device, or dropped on the page. It is shown before it is sent. */
import { attempt } from "./kit/actions.ts";
import { h } from "./kit/elements.ts";

/** As in `radical.config.ts`. */
const MAX_BYTES = 5_000_000;
/** As in `src/worker.ts`. */
const TYPES = ["image/avif", "image/gif", "image/jpeg", "image/png", "image/webp"];
const ACCEPTED = "AVIF, GIF, JPEG, PNG or WebP, at most 5 MB";

export interface Picture {
  readonly file: File;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

export interface Chooser {
  readonly element: HTMLElement;
  /** Throws if there is none yet. */
  readonly chosen: () => Picture;
}

export function choosePicture(): Chooser {
  let chosen: Picture | null = null;
  /** The newest choice. */
  let wanted: File | null = null;
  const input = h("input", { type: "file", name: "picture", accept: TYPES.join(",") });
  const preview = h("img", { hidden: true });
  const words = h("span", { className: "quiet" }, ACCEPTED);
  const call = h("b", {}, "Choose a picture, or drop it here");
  const element = h("label", { className: "drop" }, input, preview, call, words);

  const take = (file: File | undefined): Promise<void> =>
    attempt(async () => {
      if (file === undefined) return;
      [chosen, wanted] = [null, file];
      URL.revokeObjectURL(preview.src);
      preview.hidden = true;
      [call.textContent, words.textContent] = ["Choose a picture, or drop it here", ACCEPTED];
      const picture = await pictureOf(file, preview).catch((error: unknown) => {
        if (wanted === file) throw error;
        return null;
      });
      // Somebody chose another one meanwhile.
      if (picture === null || wanted !== file) return;
      chosen = picture;
      preview.hidden = false;
      preview.alt = `Preview of ${file.name}`;
      call.textContent = "Choose another one";
      words.textContent = `${file.name}, ${picture.width} × ${picture.height}, ${sizeOf(file)}`;
    });
  input.addEventListener("change", () => void take(input.files?.[0]));
  const isOver = (event: DragEvent, over: boolean): void => {
    event.preventDefault();
    element.classList.toggle("over", over);
  };
  element.addEventListener("dragover", (event) => isOver(event, true));
  element.addEventListener("dragleave", (event) => isOver(event, false));
  element.addEventListener("drop", (event) => {
    isOver(event, false);
    void take(event.dataTransfer?.files[0]);
  });
  return {
    element,
    chosen: () => {
      if (chosen === null) throw new Error(`Choose a picture first: ${ACCEPTED}.`);
      return chosen;
    },
  };
}

/** Throws if it can't be published. `preview` shows it. */
async function pictureOf(file: File, preview: HTMLImageElement): Promise<Picture> {
  if (!TYPES.includes(file.type)) throw new Error(`${file.name} can't be published. A picture is ${ACCEPTED}.`);
  if (file.size > MAX_BYTES) throw new Error(`${file.name} has ${sizeOf(file)}. A picture is ${ACCEPTED}.`);
  preview.src = URL.createObjectURL(file);
  await preview.decode().catch(() => {
    throw new Error(`${file.name} can't be shown. It may be damaged.`);
  });
  return { file, width: preview.naturalWidth, height: preview.naturalHeight };
}

function sizeOf({ size }: File): string {
  return size < 1_000_000 ? `${Math.ceil(size / 1000)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}
