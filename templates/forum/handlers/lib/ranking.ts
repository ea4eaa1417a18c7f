/** The order of stories and comments. */

/** A story that is this much younger stands as high as one with twice the votes. */
const DOUBLING_MS: f64 = 6 * 3_600_000;

/**
 * How hot a story is: votes count less the more there are, and comments less than votes. All stories sink equally fast, so
 * instead of sinking, younger ones begin higher: the number holds until somebody votes or comments.
 */
export function heat(score: i32, comments: i32, at: i64): f64 {
  const votes = Math.log2(1 + Math.abs(<f64>score)) * (score < 0 ? -1 : 1);
  const talk = Math.log2(1 + <f64>comments) / 4;
  return votes + talk + <f64>at / DOUBLING_MS;
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
