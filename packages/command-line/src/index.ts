export { type Command, commandLine, type Option, wrongOption } from "./command-line.ts";
