/** The reckoning and the words of the dashboard, for commands that tell the same. */
export { Reckoner } from "./reckoner.ts";
export { percentWords } from "./services.ts";
