/** Elements of the page. Text is text, never markup. */

export type Child = Node | string | null | readonly Child[];

/** An element: `h("a", { href: "#/" }, "text", otherElement)`. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  properties: Partial<HTMLElementTagNameMap[Tag]> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...nodes(children));
  return element;
}

function nodes(children: readonly Child[]): readonly (Node | string)[] {
  return children.flatMap((child) => {
    if (child === null) return [];
    return typeof child === "string" || child instanceof Node ? [child] : nodes(child);
  });
}

type Attributes = Readonly<Record<string, string>>;
export type Shape = readonly [tag: string, attributes: Attributes];

/** A drawing that means nothing to those who hear the page. */
export function drawing(viewBox: string, shapes: readonly Shape[], className = ""): SVGSVGElement {
  const make = <Tag extends keyof SVGElementTagNameMap>(
    tag: Tag,
    attributes: Attributes,
  ): SVGElementTagNameMap[Tag] => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const svg = make("svg", { viewBox, class: className, "aria-hidden": "true" });
  svg.append(...shapes.map(([tag, attributes]) => make(tag as keyof SVGElementTagNameMap, attributes)));
  return svg;
}

const COLOURS = [
  ["#8fd9b6", "#0a6b4b"],
  ["#fdc08f", "#9a3412"],
  ["#b9b8f5", "#3b3a8f"],
  ["#f0a9cb", "#7a1f4e"],
  ["#8fd6ea", "#155e75"],
  ["#f3d27a", "#7a4d05"],
] as const;

/** A picture of somebody, which the name alone decides. */
export function avatar(name: string, className = ""): SVGSVGElement {
  const number = [...name].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 9973, 7);
  const [light, fill] = COLOURS[number % COLOURS.length]!;
  const figures: readonly (readonly Shape[])[] = [
    [
      ["circle", { cx: "22", cy: "40", r: "17", fill }],
      ["circle", { cx: "22", cy: "16", r: "8", fill }],
    ],
    [
      ["path", { d: "M4 46 22 22l18 24Z", fill }],
      ["circle", { cx: "22", cy: "15", r: "7.5", fill }],
    ],
    [
      ["rect", { x: "5", y: "26", width: "34", height: "30", rx: "12", fill }],
      ["rect", { x: "14", y: "8", width: "16", height: "16", rx: "5", fill }],
    ],
  ];
  const figure = figures[Math.floor(number / COLOURS.length) % figures.length]!;
  return drawing("0 0 44 44", [["rect", { width: "44", height: "44", fill: light }], ...figure], `avatar ${className}`);
}

/** The text of handlers that write HTML, as elements: paragraphs, bold text and links within the page, and nothing else of it. */
export function marked(html: string): DocumentFragment {
  const made = document.createDocumentFragment();
  const copy = (from: Node, to: Node): void => {
    for (const node of from.childNodes) {
      if (!(node instanceof Element)) to.appendChild(document.createTextNode(node.textContent ?? ""));
      else copy(node, to.appendChild(allowed(node) ?? h("span")));
    }
  };
  // Nothing in such a document is loaded or run.
  copy(new DOMParser().parseFromString(html, "text/html").body, made);
  return made;
}

function allowed(element: Element): HTMLElement | null {
  const tag = element.tagName.toLowerCase();
  if (tag === "p" || tag === "b" || tag === "em" || tag === "code") return h(tag);
  const href = element.getAttribute("href") ?? "";
  return tag === "a" && href.startsWith("#/") ? h("a", { href }) : null;
}

/** Puts these elements into a list. Those that are in their place stay as they are: a reader may be typing there. */
export function arrange(list: Element, elements: readonly Element[]): void {
  for (const [at, element] of elements.entries())
    if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
  while (list.children.length > elements.length) list.lastElementChild?.remove();
}

/** A number of things: `1 comment`, `2 comments`. */
export function counted(count: number, thing: string, things = `${thing}s`): string {
  return `${count} ${count === 1 ? thing : things}`;
}

/** A time in milliseconds as a person says it: `now`, `5 min`, `3 h`, `2 d`; the date after a month. */
export function ago(at: number): string {
  const minutes = Math.round((Date.now() - at) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1440) return `${Math.round(minutes / 60)} h`;
  const days = Math.round(minutes / 1440);
  return days <= 30 ? `${days} d` : new Date(at).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** A name with a capital. */
export function titled(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
