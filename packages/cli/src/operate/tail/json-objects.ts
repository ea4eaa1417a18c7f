/** Takes text apart into the JSON objects that it holds, one after the other, in as many lines as they like. */

/** More than any event has: what is longer is given up. */
const MAX_LENGTH = 16 * 1024 * 1024;

export class JsonObjects {
  #text = "";
  #at = 0;
  #depth = 0;
  #inString = false;

  /** The objects that are complete with this. What stands between objects is skipped. */
  add(chunk: string): readonly unknown[] {
    this.#text += chunk;
    const objects: unknown[] = [];
    let start = this.#depth > 0 ? 0 : this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (this.#inString) {
        if (character === "\\") this.#at++;
        else if (character === '"') this.#inString = false;
      } else if (character === '"') this.#inString = this.#depth > 0;
      else if (character === "{") {
        if (this.#depth++ === 0) start = this.#at;
      } else if (character === "}" && this.#depth > 0 && --this.#depth === 0) {
        objects.push(parse(this.#text.slice(start, this.#at + 1)));
        start = this.#at + 1;
      }
    }
    if (this.#depth === 0) start = this.#text.length;
    const rest = this.#text.slice(start);
    // An escape may end beyond the text.
    this.#at -= start;
    this.#text = rest;
    if (this.#text.length > MAX_LENGTH) [this.#text, this.#at, this.#depth, this.#inString] = ["", 0, 0, false];
    return objects.filter((value) => value !== null);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
