import { idText } from '../core/id.ts';
import type { Microcredits } from '../core/money/credits.ts';
import { atomicOf, type PaymentNetwork, type PaymentPolicy } from '../core/policy/payments.ts';
import type { NetworkConnection } from './networks.ts';
import type { Quote, QuoteRequest, QuoteTerms } from './quote.ts';
import type { QuoteSeal } from './seal.ts';

/** Returns the price of a quote, and the settlement fee in it. */
export function priceOf(
  { bound, credit, isFeeDue }: Pick<QuoteRequest, 'bound' | 'credit' | 'isFeeDue'>,
  { chargeMin, settleFee }: Pick<PaymentPolicy, 'chargeMin' | 'settleFee'>,
): { readonly price: Microcredits; readonly fee: Microcredits } {
  const due = bound - credit;
  // A quote with the price 0 needs only a signature, and nothing is settled.
  if (due <= 0) return { price: 0, fee: 0 };
  const fee = isFeeDue ? settleFee : 0;
  return { price: Math.max(chargeMin, due + fee), fee };
}

/**
 * Makes a quote for these networks.
 * @param id a new ID
 */
export function quoteOn(
  connections: readonly NetworkConnection[],
  { url, description, isFeeDue, ...ask }: QuoteRequest,
  policy: PaymentPolicy,
  { id, now, seal }: { readonly id: number; readonly now: number; readonly seal: QuoteSeal },
): Quote {
  const { price, fee } = priceOf({ ...ask, isFeeDue }, policy);
  const terms: QuoteTerms = { ...ask, fee, id: idText('quo_', id), expiresAt: now + policy.quoteTtlMs };
  // The margin leaves time for the settlement even if the payer signs at the last moment.
  const maxTimeoutSeconds = Math.ceil((policy.quoteTtlMs + policy.settleMarginMs) / 1_000);
  const accepts = connections.map(({ policy: network, asset, payTo }) =>
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

/** The resource's public URL without its query. A proxy may use another host name and terminate TLS. */
function publicUrl(url: string, { publicUrl: origin }: Pick<PaymentPolicy, 'publicUrl'>): string {
  const { origin: own, pathname } = new URL(url);
  return (origin ?? own) + pathname;
}

const caip2 = ({ chainId }: PaymentNetwork): `${string}:${string}` => `eip155:${chainId}`;
