import type { PathWords } from "../model/words.ts";

const PATHS = {
  requests: "M2 4h8M2 8h12M6 12h8",
  locations: "M8 14s5-4.2 5-8A5 5 0 0 0 3 6c0 3.800 5 8 5 8ZM8 7.500a1.500 1.500 0 1 0 0-3 1.500 1.500 0 0 0 0 3Z",
  try: "M3 3l10 5-10 5 2-5Z",
  handlers: "M6 3 2 8l4 5M10 3l4 5-4 5",
  tasks: "M2 4l1.500 1.500L6 3M2 11l1.500 1.500L6 10M8 4.500h6M8 11.500h6",
  workflows: "M4 3v10M4 8h5M4 13h8M4 3h8M12 1.500v3M9 6.500v3M12 11.500v3",
  contention: "M3 2v12M13 2v12M3 5h6M7 8h6M3 11h4",
  caches: "M2 4c0-3 12-3 12 0s-12 3-12 0Zm0 0v8c0 3 12 3 12 0V4M2 8c0 3 12 3 12 0",
  data: "M2 3h12v10H2ZM2 7h12M6 3v10",
  replay: "M3 8a5 5 0 1 0 1.500-3.500M3 2v3h3",
  more: "M3 8h.1M8 8h.1M13 8h.1",
} as const;

export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Mark() {
  return (
    <svg viewBox="0 0 26 22" aria-hidden="true">
      <path class="mark-here" d="M1.5 12.5h3.2l4 7.5" />
      <path class="mark-there" d="M8.7 20 14.4 2.5H24.5" />
    </svg>
  );
}

/** The path as a shape: it is told without colours too. */
export function Shape({ shape, side }: Pick<PathWords, "shape" | "side">) {
  return (
    <svg class={`shape ${side}`} viewBox="0 0 12 12" aria-hidden="true">
      {shape === "full" && <circle cx="6" cy="6" r="5" fill="currentColor" />}
      {shape === "ring" && <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />}
      {shape === "half" && (
        <>
          <circle cx="6" cy="6" r="4.2" fill="none" stroke="currentColor" stroke-width="1.6" />
          <path d="M6 1.800a4.200 4.200 0 0 0 0 8.400Z" fill="currentColor" />
        </>
      )}
      {shape === "triangle" && <path d="M6 1.200 11 10.500H1Z" fill="currentColor" />}
      {shape === "cross" && <path d="M2.500 2.500l7 7m0-7-7 7" stroke="currentColor" stroke-width="1.8" />}
    </svg>
  );
}
