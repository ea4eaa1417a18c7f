/** `radical cache`: the caches of locations, emptied. */
import { type Program, subcommand } from "@radical/command-line";
import { OF_PRIMARY, runnerOf } from "./command.ts";

const run = runnerOf(() => import("../operate/purge-caches.ts"));

export const cacheCommand: Program = {
  name: "cache",
  words: "empty the caches of locations",
  commands: [
    subcommand(
      {
        name: "purge",
        words: "remove items from the caches of locations",
        options: {
          table: { kind: "text", placeholder: "name", words: "only items of this table, with its indexes and ranges" },
          key: { kind: "text", placeholder: "key", words: "only this item of the table --table" },
          location: { kind: "text", placeholder: "name", words: "only the cache of this location" },
          url: {
            kind: "text",
            placeholder: "origin",
            words: "origin of the application, if neither a route nor the configuration names it",
          },
          ...OF_PRIMARY,
        },
        notes: `The command changes nothing at the primary, and no answer changes: locations read items again when they need them. Delete the
items first, or they come back. When the command has ended, the items are gone from the Durable Objects or the KV namespace of
all locations, sleeping ones included. Workers drop what they have in memory within two minutes of use. docs/caches.md says what
Cloudflare keeps.

--key also removes the entries of indexes and the keys of ranges of the whole table, since they may name the item.

Ctrl-C ends the command between two caches. The same command again does the rest.`,
        examples: [
          ["radical cache purge --env production", "everything, everywhere"],
          ["radical cache purge --table users --key ann --env production", "an item that was deleted"],
          ["radical cache purge --location FRA --env production"],
          ["radical cache purge --table sessions", "in radical dev"],
        ],
      },
      (options) => run(options, (work, signal) => work.purgeCaches(options, signal)),
    ),
  ],
  notes: `Asks the LVI server of radical dev, if that runs in the project. --env names a deployment instead, and --primary another LVI
server. The server asks the application's Worker, which reaches all caches.`,
  examples: [["radical cache purge --table users --key ann --env production", "after a user was deleted"]],
};
