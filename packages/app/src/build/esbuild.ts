/** esbuild, whose process ends when nothing was bundled for a while: it takes 35 MB. The next call starts it again. */
import * as esbuild from "esbuild";

let working = 0;

async function during<T>(work: Promise<T>): Promise<T> {
  working++;
  try {
    return await work;
  } finally {
    working--;
  }
}

export const build: typeof esbuild.build = (options) => during(esbuild.build(options));

export const transform: typeof esbuild.transform = (input, options) => during(esbuild.transform(input, options));

/** Ends its process, unless somebody in this one bundles. */
export async function restBundler(): Promise<void> {
  if (working === 0) await esbuild.stop();
}
