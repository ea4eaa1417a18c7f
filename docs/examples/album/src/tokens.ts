/**
 * The person whose token a request has: in a cookie, as pages of the application send it, or in a header. `tokens` stands in place
 * of an identity provider: `<token>=<person>`, separated by commas.
 */
export function callerOf({ headers }: Request, tokens: string): string | null {
  const token =
    /^Bearer (\w+)$/.exec(headers.get("authorization") ?? "")?.[1] ??
    /(?:^|;\s*)token=(\w+)(?:;|$)/.exec(headers.get("cookie") ?? "")?.[1];
  if (token === undefined) return null;
  const people = new Map(tokens.split(",").map((line) => line.split("=") as [string, string]));
  return people.get(token) ?? null;
}
