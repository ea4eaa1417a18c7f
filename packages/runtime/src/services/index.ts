/** Services without a Worker around them, for `radical dev` and tests. */
export { answerService, Nonces } from "./service-requests.ts";
export type { Service, ServiceContext } from "./perform.ts";
export { Refused } from "./refused.ts";
