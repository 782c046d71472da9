import { Elysia } from 'elysia';
import { SignalboxError } from '../../core/errors.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import { parseDecimal, toNumber } from '../../core/money/decimal.ts';
import { usdOf } from '../../core/money/usd.ts';
import type { PaymentPolicy } from '../../core/policy/payments.ts';
import * as docs from './route-docs.ts';
import type { X402Gateway, X402Services } from './services.ts';

const REFUNDS =
  'The unused part of a payment becomes the balance of the wallet and pays for its next requests. Signalbox sends nothing back on the chain.';

const CHAT = { method: 'POST', path: '/v1/chat/completions', description: 'Chat completions.' };
const TOP_UP = { method: 'POST', path: '/v1/wallets/topup', description: 'Pay for Credits in advance and get a key.' };
const KEYS = {
  method: 'POST',
  path: '/v1/wallets/keys',
  description: 'Create a key for a wallet with a signature, without a payment.',
};

/** `GET /.well-known/x402`: the payment terms, for agents that read them before their first request. */
export const wellKnownRoutes = ({ gateway }: Pick<X402Services, 'gateway'>) =>
  new Elysia({ name: 'well-known' }).get(
    '/.well-known/x402',
    () => {
      const { payments, usdPerCredit } = gateway.lease().snapshot;
      if (payments) return termsBody(gateway, payments, usdPerCredit);
      throw new SignalboxError('not_found', 'This server does not accept payments.');
    },
    docs.WELL_KNOWN,
  );

function termsBody(gateway: X402Gateway, policy: PaymentPolicy, usdPerCredit: string): object {
  const usd = (amount: Microcredits) => dollars(amount, usdPerCredit);
  const { networks, prepaid } = policy;
  const ready = new Set(gateway.payments.ready());
  return {
    x402Version: 2,
    schemes: ['exact'],
    payment_flow: 'upfront',
    networks: networks.map(({ id, asset, payTo }) => ({
      network: id,
      asset: { address: asset.address, name: asset.name, version: asset.version, decimals: asset.decimals },
      pay_to: payTo,
      ready: ready.has(id),
    })),
    usd_per_credit: Number(usdPerCredit),
    quote: {
      ttl_seconds: policy.quoteTtlMs / 1_000,
      max_usd: usd(policy.quoteMax),
      min_charge_usd: usd(policy.chargeMin),
      settle_fee_usd: usd(policy.settleFee),
    },
    prepaid: prepaid && { min_usd: usd(prepaid.min), max_usd: usd(prepaid.max) },
    agent_wallet_required: policy.walletRequired,
    resources: [CHAT, ...(prepaid ? [TOP_UP] : []), KEYS],
    refunds: REFUNDS,
  };
}

function dollars(amount: Microcredits, usdPerCredit: string): number {
  const rate = parseDecimal(usdPerCredit);
  if (!rate) throw new Error('The active policy has no price of a Credit.');
  return toNumber(usdOf(amount, rate));
}
