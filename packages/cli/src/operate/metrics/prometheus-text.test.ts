import { expect, test } from "vitest";
import { histogram, samplesOf, total } from "./prometheus-text.ts";

const TEXT = `# HELP a_total Things.
# TYPE a_total counter
a_total{kind="x"} 3
a_total{kind="y",reason="say \\"no\\", twice"} 4
b 1.5
c_bucket{le="0.1",route="lvi"} 2
c_bucket{le="1",route="lvi"} 5
c_bucket{le="+Inf",route="lvi"} 6
c_bucket{le="0.1",route="other"} 1
c_bucket{le="1",route="other"} 1
c_bucket{le="+Inf",route="other"} 1
c_sum{route="lvi"} 3.2
`;

test("samples by name and labels, and sums of them", () => {
  const samples = samplesOf(TEXT);
  expect(samples.get("a_total")?.[1]).toEqual({ labels: { kind: "y", reason: 'say "no", twice' }, value: 4 });
  expect([total(samples, "a_total"), total(samples, "a_total", { kind: "x" }), total(samples, "b")]).toEqual([
    7, 3, 1.5,
  ]);
  expect(total(samples, "none")).toBe(0);
});

test("buckets of a histogram alone, of some labels or of all", () => {
  const samples = samplesOf(TEXT);
  expect(histogram(samples, "c", { route: "lvi" })).toEqual({ bounds: [0.1, 1], counts: [2, 3, 1] });
  expect(histogram(samples, "c")).toEqual({ bounds: [0.1, 1], counts: [3, 3, 1] });
});
