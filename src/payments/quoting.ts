import type { Microcredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import { atomicOf, type PaymentNetwork, type PaymentPolicy } from '../core/payment-policy.ts';
import type { Place } from './networks.ts';
import type { Quote, QuoteAsk, QuoteTerms } from './quote.ts';
import type { Seal } from './seal.ts';

/** What is to be paid for it, and what of that is the settlement's. */
export function priceOf(
  { bound, credit, isFeeDue }: Pick<QuoteAsk, 'bound' | 'credit' | 'isFeeDue'>,
  { chargeMin, settleFee }: Pick<PaymentPolicy, 'chargeMin' | 'settleFee'>,
): { readonly price: Microcredits; readonly fee: Microcredits } {
  const due = bound - credit;
  // The signature alone is asked for, and settles nothing.
  if (due <= 0) return { price: 0, fee: 0 };
  const fee = isFeeDue ? settleFee : 0;
  return { price: Math.max(chargeMin, due + fee), fee };
}

/** A quote on these networks, made with a number that was not used before. */
export function quoteOn(
  places: readonly Place[],
  { url, description, isFeeDue, ...ask }: QuoteAsk,
  policy: PaymentPolicy,
  { id, now, seal }: { readonly id: number; readonly now: number; readonly seal: Seal },
): Quote {
  const { price, fee } = priceOf({ ...ask, isFeeDue }, policy);
  const terms: QuoteTerms = { ...ask, fee, id: idText('quo_', id), expiresAt: now + policy.quoteTtlMs };
  // Whoever signs at the last moment still leaves time to settle.
  const maxTimeoutSeconds = Math.ceil((policy.quoteTtlMs + policy.settleMarginMs) / 1_000);
  const accepts = places.map(({ policy: network, asset, payTo }) =>
    seal.close(
      {
        scheme: 'exact',
        network: caip2(network),
        amount: String(atomicOf(network.rate, price)),
        asset,
        payTo,
        maxTimeoutSeconds,
        name: network.asset.name,
        version: network.asset.version,
      },
      terms,
    ),
  );
  const resource = { url: publicUrl(url, policy), description, mimeType: 'application/json' };
  return { required: { x402Version: 2, resource, accepts }, price };
}

/** A resource as callers know it, without what was asked of it: a proxy may have another name, and speak TLS. */
function publicUrl(url: string, { publicUrl: origin }: Pick<PaymentPolicy, 'publicUrl'>): string {
  const { origin: own, pathname } = new URL(url);
  return (origin ?? own) + pathname;
}

const caip2 = ({ chainId }: PaymentNetwork): `${string}:${string}` => `eip155:${chainId}`;
