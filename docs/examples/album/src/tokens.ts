/** The person whose token a request has. `tokens`: `<token>=<person>`, separated by commas: in place of an identity provider. */
export function callerOf(request: Request, tokens: string): string | null {
  const token = request.headers.get("authorization")?.replace("Bearer ", "");
  const known = tokens.split(",").find((one) => one.startsWith(`${token}=`));
  return known?.split("=")[1] ?? null;
}
