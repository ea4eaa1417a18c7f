/** Forms and buttons for the reader, and lines that tell what became of them. */
import { type Child, h } from "./elements.ts";

/** A line for the reader. Empty: none. */
export function say(text: string): void {
  const line = document.querySelector("#message")!;
  line.textContent = text;
}

/** Does something for the reader; what it throws is shown. */
export async function attempt(work: () => unknown): Promise<void> {
  say("");
  try {
    await work();
  } catch (error) {
    report(error);
  }
}

/** Shows an error to the reader. */
export function report(error: unknown): void {
  say(wordsOf(error));
}

function wordsOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return code === "network_error" ? "The network can't be reached. Try again." : (message ?? String(error));
}

/** A button that does something. `meaning`: in words, where the label is a sign. */
export function action(
  label: Child,
  work: () => unknown,
  properties: Partial<HTMLButtonElement> = {},
): HTMLButtonElement {
  const button = h("button", { type: "button", className: "button", ...properties }, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    await attempt(work);
    button.disabled = false;
  });
  return button;
}

/** One of a form. It is named by its label, which everybody sees or, if it is `quiet`, only hears. */
export interface Field extends Partial<
  Pick<HTMLInputElement, "placeholder" | "type" | "min" | "max" | "pattern" | "title">
> {
  readonly label: string;
  readonly quiet?: boolean;
  readonly optional?: boolean;
  /** At first. */
  readonly value?: string;
  readonly autocomplete?: AutoFill;
  /** Of a text: more than a line. */
  readonly lines?: number;
  /** Of a choice. */
  readonly choices?: readonly (readonly [value: string, words: string])[];
}

export interface FormOptions {
  readonly className?: string;
  /** Beside the button. */
  readonly hint?: string;
  /** Before the fields: one that is of another kind. */
  readonly first?: Child;
}

/** A form of these fields, by name. `submit` gets their values; what it throws is shown. The form is as at first after it. */
export function form<Name extends string>(
  fields: Readonly<Record<Name, Field>>,
  label: string,
  submit: (values: Record<Name, string>) => unknown,
  { className = "", hint = "", first = null }: FormOptions = {},
): HTMLFormElement {
  const inputs = Object.entries<Field>(fields).map(([name, field]) => inputOf(name, field));
  const button = h("button", { className: "button primary" }, label);
  const made = h(
    "form",
    { className },
    first,
    inputs.map(({ labelled }) => labelled),
    h("div", { className: "end" }, hint === "" ? null : h("span", { className: "quiet" }, hint), button),
  );
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    await attempt(async () => {
      await submit(Object.fromEntries(inputs.map(({ input }) => [input.name, input.value])) as Record<Name, string>);
      made.reset();
    });
    button.disabled = false;
  });
  return made;
}

type Input = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function inputOf(
  name: string,
  { label, quiet, optional, lines, choices, value = "", ...properties }: Field,
): {
  readonly input: Input;
  readonly labelled: HTMLElement;
} {
  const required = optional !== true;
  const input =
    choices === undefined
      ? lines === undefined
        ? h("input", { name, required, defaultValue: value, ...properties })
        : h("textarea", { name, required, rows: lines, defaultValue: value, placeholder: properties.placeholder ?? "" })
      : h(
          "select",
          { name, required },
          choices.map(([choice, words]) => h("option", { value: choice, defaultSelected: choice === value }, words)),
        );
  if (quiet === true) input.ariaLabel = label;
  return { input, labelled: quiet === true ? input : h("label", {}, h("span", {}, label), input) };
}
