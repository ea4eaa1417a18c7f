import { Table, ascending } from "@radical/sdk";

export class Element {
  index: i64 = 0;
  text: string = "";
}

/** By `<list>/<index>`. The name of a list has no slash. */
const elements = new Table<Element>("elements");

/**
 * Appends a text. Gives its index.
 * @nearstorage
 */
export function listPush(list: string, text: string): i64 {
  const rows = elements.prefix(`${list}/`).last(1);
  const element = new Element();
  element.index = rows.length == 0 ? 0 : rows[0].value.index + 1;
  element.text = text;
  elements.put(`${list}/${ascending(element.index)}`, element);
  return element.index;
}

export function listGet(list: string, index: i64): string | null {
  const element = elements.get(`${list}/${ascending(index)}`);
  return element == null ? null : element.text;
}

/** The texts behind an index, -1 for all. */
export function listAfter(list: string, index: i64, most: i32 = 100): string[] {
  const rows = elements
    .prefix(`${list}/`)
    .after(`${list}/${ascending(index)}`)
    .first(most);
  const texts: string[] = [];
  for (const row of rows) texts.push(row.value.text);
  return texts;
}
