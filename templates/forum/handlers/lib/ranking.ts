/** The order of stories and comments. */

const HOUR_MS: f64 = 3_600_000;

/** Votes count less the more there are, and a story sinks with its age, in hours to the power of 1.5. */
export function heat(score: i32, comments: i32, ageMs: f64): f64 {
  const votes = Math.log2(1 + Math.abs(<f64>score)) * (score < 0 ? -1 : 1);
  const talk = Math.log2(1 + <f64>comments) / 4;
  return (votes + talk + 1) / Math.pow(max(ageMs, 0) / HOUR_MS + 2, 1.5);
}

/**
 * How good a comment is for certain: the lower end of Wilson's interval for the share of votes in favour, at 95 %.
 * One vote of one is less certain than nine of ten.
 */
export function confidence(ups: i32, downs: i32): f64 {
  const n = <f64>(ups + downs);
  if (n == 0) return 0;
  const z = 1.96;
  const share = <f64>ups / n;
  const spread = z * Math.sqrt((share * (1 - share) + (z * z) / (4 * n)) / n);
  return (share + (z * z) / (2 * n) - spread) / (1 + (z * z) / n);
}
