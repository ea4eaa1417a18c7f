/** The media types of blobs: which of them a browser may show, and which it only saves. */
export const DEFAULT_TYPE = "application/octet-stream";

/** Types whose bytes a browser shows without running anything in them. */
const SHOWN =
  /^(?:image\/(?!svg\b)[\w.+-]+|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain|application\/(?:json|pdf))\s*(?:;|$)/i;

/**
 * Headers that keep bytes of one user from acting as a page of the application. Browsers take the type as it was put. They run and
 * load nothing, and save types in which something could run.
 */
export function safeHeaders(type: string): Readonly<Record<string, string>> {
  return {
    "content-type": type,
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    ...(SHOWN.test(type) ? {} : { "content-disposition": "attachment" }),
  };
}
