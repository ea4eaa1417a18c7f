export { type Command, commandLine, type Option, wrongOption } from "./command-line.ts";
export { drawn, drawnSeed } from "./short-tier.ts";
