/** Failures of the application's services, to order: thrown, lost, slow. */
import { percentWords } from "../model/services.ts";
import { state } from "../store.ts";

const PARTS = [0, 0.1, 0.2, 0.5, 1];
const DELAYS_MS = [0, 1_000, 3_000, 10_000];

interface ServiceFaultsProps {
  /** Of a change of faults. */
  readonly onChange: (faults: { readonly services: Readonly<Record<string, object>> }) => Promise<void>;
}

export function ServiceFaults({ onChange }: ServiceFaultsProps) {
  const services = state.value?.services ?? [];
  // All else stays as it is: the state here may be late.
  const order = (name: string, kind: "throw" | "lost" | "slow", amount: number): void =>
    void onChange({ services: { [name]: { [kind]: amount } } });
  if (services.length === 0) return null;
  return (
    <section class="card" aria-label="Failures of services">
      <div class="hd wrap">
        <h2>Failures of services</h2>
        <span class="muted">
          How many calls of tasks and workflows fail; the same as <code>--fail</code>
        </span>
      </div>
      <div class="scroll">
        <table class="amounts">
          <thead>
            <tr>
              <th>service</th>
              <th title="The call is not made, and fails.">thrown</th>
              <th title="The service acts, and its answer is gone.">lost</th>
              <th title="The answer comes later.">slow</th>
            </tr>
          </thead>
          <tbody>
            {services.map((service) => (
              <tr key={service.name}>
                <td>
                  <code class="wrap-any">{service.name}</code>
                </td>
                <td>
                  <Amount
                    label={`Calls of ${service.name} that fail`}
                    value={service.throw}
                    of={PARTS}
                    words={percentWords}
                    onChange={(part) => order(service.name, "throw", part)}
                  />
                </td>
                <td>
                  <Amount
                    label={`Answers of ${service.name} that are lost`}
                    value={service.lost}
                    of={PARTS}
                    words={percentWords}
                    onChange={(part) => order(service.name, "lost", part)}
                  />
                </td>
                <td>
                  <Amount
                    label={`By how much ${service.name} answers later`}
                    value={service.slowMs}
                    of={DELAYS_MS}
                    words={(slowMs) => `${slowMs / 1_000} s`}
                    onChange={(slowMs) => order(service.name, "slow", slowMs)}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface AmountProps {
  readonly label: string;
  readonly value: number;
  readonly of: readonly number[];
  readonly words: (value: number) => string;
  readonly onChange: (value: number) => void;
}

/** An amount of a list, and the one that is there. */
function Amount({ label, value, of, words, onChange }: AmountProps) {
  return (
    <select
      class={`field${value > 0 ? " faulty" : ""}`}
      aria-label={label}
      value={String(value)}
      onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
    >
      {[...new Set([...of, value])]
        .toSorted((a, b) => a - b)
        .map((amount) => (
          <option key={amount} value={String(amount)}>
            {words(amount)}
          </option>
        ))}
    </select>
  );
}
