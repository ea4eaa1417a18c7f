import { createRadical, Refused } from "radical:worker";

interface Bindings {
  readonly BANK: string;
}

export default createRadical<Bindings>({
  services: {
    charge: async ({ order, card, cents }, { key, env, signal }) => {
      const response = await fetch(env.BANK, {
        method: "POST",
        headers: { "idempotency-key": key },
        body: JSON.stringify({ order, card, cents }),
        signal,
      });
      if (response.status === 402) throw new Refused("declined", await response.text());
      if (!response.ok) throw new Error(`The bank answers ${response.status}.`);
      return response.text();
    },
    sendMail: async ({ to, subject }, { env }) => {
      await fetch(env.BANK, { method: "POST", body: JSON.stringify({ to, subject }) });
    },
  },
});
