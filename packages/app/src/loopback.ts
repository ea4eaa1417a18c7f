/** Names by which this machine is reached, and pages of the web that claim one of them. */
import { isIP } from "node:net";

/** Addresses and names that nobody but this machine reaches. */
export function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "[::1]" || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

/**
 * Whether a request with this `Host` header was meant for a server that listens on `listensOn`. A page of the web can
 * have a name of its own point to this machine, and then its scripts read the answers. But its name stays in the header,
 * which scripts can't set.
 */
export function isMeantFor(listensOn: string, hostHeader: string): boolean {
  const name = nameIn(hostHeader);
  if (name === null) return false;
  // Browsers resolve these to this machine themselves.
  if (isLoopbackName(name) || name.endsWith(".localhost")) return true;
  // An address in digits is nobody's name.
  if (isEveryAddress(listensOn)) return isIP(withoutBrackets(name)) !== 0;
  return withoutBrackets(name) === withoutBrackets(listensOn.toLowerCase());
}

/**
 * Whether a page of another origin has made the request: it was sent to `hostHeader`, and browsers name the page's
 * origin. Programs name none.
 */
export function isOfAnotherOrigin(origin: string | undefined, hostHeader: string): boolean {
  return origin !== undefined && origin !== `http://${hostHeader}`;
}

/** The name or address in a `Host` header, in small letters; null: it is malformed. */
function nameIn(hostHeader: string): string | null {
  return /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/.exec(hostHeader.toLowerCase())?.[1] ?? null;
}

function isEveryAddress(host: string): boolean {
  return host === "0.0.0.0" || host === "::" || host === "[::]";
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}
