import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PaymentRequirements } from '@x402/core/types';
import { iso } from '../core/clock.ts';
import type { Statement, Store } from '../store/store.ts';
import { canonicalJson } from './canonical.ts';
import type { QuoteTerms } from './quote.ts';

/** Tells other uses of the secret, and other forms of a quote, from this one. */
const CONTEXT = 'signalbox x402 quote 1\n';
const MARK_CONTEXT = 'signalbox x402 request 1\n';
const SECRET_BYTES = 32;

/** What of a quote the client needs to see; the rest of its terms is in `terms`, and of no use to others. */
type Hidden = Omit<QuoteTerms, 'id' | 'requestHash' | 'expiresAt'>;

/** What stands in the `extra` of an offer. The first two are of the asset's EIP-712 domain. */
export interface QuoteExtra {
  readonly name: string;
  readonly version: string;
  readonly paymentFlow: 'upfront';
  readonly quote_id: string;
  readonly request_hash: string;
  readonly expires_at: string;
  readonly terms: string;
}

/** An offer without what the seal adds. */
export interface Draft extends Omit<PaymentRequirements, 'extra'> {
  readonly name: string;
  readonly version: string;
}

/** An offer that this gateway has made, as it came back. */
export interface Unsealed {
  readonly requirements: PaymentRequirements & { readonly extra: QuoteExtra };
  readonly terms: QuoteTerms;
}

/** Puts a quote's terms into an offer, so that nobody else can make or change one. */
export class Seal {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  close(
    { name, version, ...offer }: Draft,
    { id, requestHash, expiresAt, ...hidden }: QuoteTerms,
  ): PaymentRequirements {
    const body = Buffer.from(JSON.stringify(hidden satisfies Hidden)).toString('base64url');
    const extra: QuoteExtra = {
      name,
      version,
      paymentFlow: 'upfront',
      quote_id: id,
      request_hash: requestHash,
      expires_at: iso(expiresAt),
      terms: body,
    };
    return { ...offer, extra: { ...extra, terms: `${body}.${this.#mac({ ...offer, extra })}` } };
  }

  /** Null for an offer that was not made here, or that was changed anywhere. */
  open(offer: Readonly<Record<string, unknown>>): Unsealed | null {
    const { extra } = offer;
    if (typeof extra !== 'object' || extra === null || !('terms' in extra) || typeof extra.terms !== 'string')
      return null;
    const dot = extra.terms.indexOf('.');
    const body = extra.terms.slice(0, Math.max(0, dot));
    // As texts: several can decode to the same bytes.
    const offered = Buffer.from(extra.terms.slice(dot + 1));
    const mac = Buffer.from(this.#mac({ ...offer, extra: { ...extra, terms: body } }));
    if (offered.length !== mac.length || !timingSafeEqual(offered, mac)) return null;
    // The seal says that all of it was written by `close`.
    const requirements = offer as unknown as Unsealed['requirements'];
    const hidden = JSON.parse(Buffer.from(body, 'base64url').toString()) as Hidden;
    const { quote_id: id, request_hash: requestHash, expires_at: expiresAt } = requirements.extra;
    return { requirements, terms: { ...hidden, id, requestHash, expiresAt: Date.parse(expiresAt) } };
  }

  /** What is kept of the hash of a request: a hash that anybody can compute would confirm whoever guesses a prompt. */
  mark(requestHash: string): string {
    return createHmac('sha256', this.#secret).update(MARK_CONTEXT).update(requestHash).digest('base64url');
  }

  /** Of the whole offer, every member of it at any depth, whatever their order. */
  #mac(offer: object): string {
    return createHmac('sha256', this.#secret).update(CONTEXT).update(canonicalJson(offer)).digest('base64url');
  }
}

const SELECT: Statement = { sql: 'SELECT secret FROM payment_secret' };
const INSERT: Statement = { sql: 'INSERT INTO payment_secret (id, secret) VALUES (1, ?) ON CONFLICT DO NOTHING' };

/** The seal of this database: quotes outlive a restart. Made at the first start. Rejects with StoreError. */
export async function loadSeal(store: Store): Promise<Seal> {
  const find = async () => (await store.query<{ secret: Uint8Array }>(SELECT))[0]?.secret;
  let secret = await find();
  if (!secret) {
    await store.commit([{ statement: INSERT, params: [randomBytes(SECRET_BYTES)] }]);
    secret = await find();
  }
  if (!secret) throw new Error('The secret of quotes was not kept.');
  return new Seal(secret);
}
