/** Radical's evaluation, as published (SOSP '25, Table 1): what our handlers are paced to, and compared with. */
import type { PaperHandler } from "@radical/bench";

export const PAPER_TABLE: Readonly<Record<string, Readonly<Record<string, PaperHandler>>>> = {
  social: {
    login: { ms: 213, share: 0.095 },
    post: { ms: 106, share: 0.005 },
    follow: { ms: 16, share: 0.005 },
    timeline: { ms: 120, share: 0.8 },
    profile: { ms: 124, share: 0.095 },
  },
  hotel: {
    search: { ms: 161, share: 0.6 },
    recommend: { ms: 207, share: 0.3 },
    book: { ms: 272, share: 0.005 },
    review: { ms: 13, share: 0.005 },
    login: { ms: 213, share: 0.005 },
    attractions: { ms: 111, share: 0.085 },
  },
  forum: {
    homepage: { ms: 209, share: 0.8 },
    post: { ms: 18, share: 0.01 },
    interact: { ms: 16, share: 0.09 },
    view: { ms: 123, share: 0.08 },
    login: { ms: 212, share: 0.02 },
  },
};

/** Times of a run of each handler, in the paper. */
export function paperMs(application: string): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(PAPER_TABLE[application] ?? {}).map(([handler, { ms }]) => [handler, ms]));
}

/** Exponent of the choice of users and posts; null: all are as likely. */
export function paperZipf(application: string): number | null {
  return application === "hotel" ? null : 0.99;
}
