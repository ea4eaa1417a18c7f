/**
 * The tag of a service, a function that the application's Worker has:
 *
 *     /** @service *\/                   it is called under one key for each task, which it knows for 20 hours
 *     /** @service keyWindow=25m *\/     it knows keys for so long
 *     /** @service once *\/              it knows no keys, so that it is called once at most
 */
import {
  DEFAULT_KEY_WINDOW_MS,
  durationMs,
  MAX_KEY_WINDOW_MS,
  MIN_KEY_WINDOW_MS,
  type ServiceRules,
} from "@radical/protocol";

/** The rules that `@service` states, or the mistake in it. */
export function readService(words: readonly string[]): ServiceRules | string {
  let keyWindowMs: number | null = null;
  let once = false;
  for (const word of words) {
    const [, time] = /^keyWindow=(\w+)$/.exec(word) ?? [];
    if (word === "read")
      return "A handler can't ask a service for a value, as `@service read` would say. Write `@service`, and run it as a step of a workflow: `run` gives its result.";
    if (word === "once" && !once) once = true;
    else if (time !== undefined && keyWindowMs === null) {
      keyWindowMs = durationMs(time);
      if (keyWindowMs === null || keyWindowMs < MIN_KEY_WINDOW_MS || keyWindowMs > MAX_KEY_WINDOW_MS)
        return "The option keyWindow of @service needs a time from `1m` to `366d`: a number with `s`, `m`, `h` or `d`, as in `@service keyWindow=25m`.";
    } else
      return `The tag @service does not know \`${word}\`: write \`keyWindow=25m\` for the time in which the service knows a key, or \`once\` for one that knows no keys.`;
  }
  if (once && keyWindowMs !== null)
    return "A service with the tag @service once is not called again, so it has no `keyWindow`.";
  return { keyWindowMs: keyWindowMs ?? DEFAULT_KEY_WINDOW_MS, once };
}
