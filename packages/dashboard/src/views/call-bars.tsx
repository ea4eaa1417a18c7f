/** A call beside what the same would have taken elsewhere. */
import { idealUs } from "../model/central.ts";
import type { Call } from "../model/join.ts";
import { placeName } from "../model/places.ts";
import { ms } from "../model/words.ts";
import { central } from "../store.ts";

export function CallBars({ call }: { readonly call: Call }) {
  const { life } = call;
  const measured = central.value.measuredUs(call);
  const reckoned = measured === null ? central.value.of(call) : null;
  const centralUs = central.value.centralUs(call);
  const ideal = idealUs(call);
  const longest = Math.max(life.tookUs, centralUs ?? 0, ideal ?? 0) * 1.02;
  const x = (us: number): string => `${((us / longest) * 100).toFixed(2)}%`;
  const row = (name: string, tookUs: number, bars: preact.JSX.Element) => (
    <div class="sum">
      <span class="lab">{name}</span>
      <svg aria-hidden="true">{bars}</svg>
      <span class="val num">{ms(tookUs)}</span>
    </div>
  );
  const bar = (fromUs: number, tookUs: number, className: string) => (
    <rect x={x(fromUs)} y="6" width={x(tookUs)} height="15" rx="2" class={className} />
  );
  return (
    <div
      class="wf bars"
      role="img"
      aria-label={`${ms(life.tookUs)} ms; central ${centralUs === null ? "is not known yet" : `about ${ms(centralUs)} ms`}`}
    >
      {row(`from ${placeName(life.place)}`, life.tookUs, bar(0, life.tookUs, "f-here"))}
      {reckoned !== null &&
        row(
          "central, about",
          reckoned.totalUs,
          <>
            {bar(0, reckoned.totalUs, "f-there2")}
            {bar(reckoned.roundTripUs / 2, reckoned.runUs + reckoned.restUs, "f-there")}
          </>,
        )}
      {measured !== null && row("central, measured", measured, bar(0, measured, "f-there2"))}
      {ideal !== null && row("ideal", ideal, bar(0, ideal, "f-soft"))}
    </div>
  );
}
