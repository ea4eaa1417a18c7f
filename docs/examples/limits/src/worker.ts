/** The Worker of a notebook with limits on rates, and callers known by a token. */
import { CallError, createRadical, type RateLimiter } from "radical:worker";

interface Bindings {
  readonly PER_ADDRESS: RateLimiter;
  readonly PER_WRITER: RateLimiter;
  /** `<token>=<caller>`, separated by commas: in place of an identity provider. */
  readonly TOKENS: string;
}

export default createRadical<Bindings>({
  limit: {
    perAddress: ({ PER_ADDRESS }) => PER_ADDRESS,
    perCaller: ({ PER_WRITER }, handler) => (handler === "write" ? PER_WRITER : null),
  },
  authenticate: (request, { TOKENS }) => {
    const token = request.headers.get("authorization")?.replace("Bearer ", "");
    if (token === undefined) return null;
    const known = TOKENS.split(",").find((one) => one.startsWith(`${token}=`));
    if (known === undefined) throw new CallError(401, "invalid_token", "The token is not known.");
    return known.slice(token.length + 1);
  },
});
