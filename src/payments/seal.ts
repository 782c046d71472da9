import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { PaymentRequirements } from '@x402/core/types';
import { canonicalJson } from '../core/json/canonical.ts';
import { iso } from '../core/time/clock.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store } from '../store/store.ts';
import type { QuoteTerms } from './quote.ts';

/** Separates this use of the secret, and this version of a quote, from other uses and versions. */
const CONTEXT = 'signalbox x402 quote 1\n';
const MARK_CONTEXT = 'signalbox x402 request 1\n';
const SECRET_BYTES = 32;

/** The terms that only the gateway needs. The requirements contain them encoded as `terms`. */
type SealedTerms = Omit<QuoteTerms, 'id' | 'requestHash' | 'expiresAt'>;

/** The `extra` of a quote's payment requirements. The first two fields are the asset's EIP-712 domain. */
interface QuoteExtra {
  readonly name: string;
  readonly version: string;
  readonly paymentFlow: 'upfront';
  readonly quote_id: string;
  readonly request_hash: string;
  readonly expires_at: string;
  readonly terms: string;
}

interface RequirementsDraft extends Omit<PaymentRequirements, 'extra'> {
  readonly name: string;
  readonly version: string;
}

/** Requirements that a payer sent back and that this gateway made. */
export interface VerifiedQuote {
  readonly requirements: PaymentRequirements & { readonly extra: QuoteExtra };
  readonly terms: QuoteTerms;
}

/** Signs a quote's terms into payment requirements, so that no one else can make or change them. State: quote secret. */
export class QuoteSeal {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  close(
    { name, version, ...offer }: RequirementsDraft,
    { id, requestHash, expiresAt, ...hidden }: QuoteTerms,
  ): PaymentRequirements {
    const body = Buffer.from(JSON.stringify(hidden satisfies SealedTerms)).toString('base64url');
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

  /** Returns null for requirements that this gateway did not make, or that were changed. */
  open(offer: Readonly<Record<string, unknown>>): VerifiedQuote | null {
    const { extra } = offer;
    if (typeof extra !== 'object' || extra === null || !('terms' in extra) || typeof extra.terms !== 'string')
      return null;
    const dot = extra.terms.indexOf('.');
    const body = extra.terms.slice(0, Math.max(0, dot));
    // The texts are compared, because several texts can decode to the same bytes.
    const presented = Buffer.from(extra.terms.slice(dot + 1));
    const mac = Buffer.from(this.#mac({ ...offer, extra: { ...extra, terms: body } }));
    if (presented.length !== mac.length || !timingSafeEqual(presented, mac)) return null;
    // The seal proves that `close` wrote the whole object.
    const requirements = offer as unknown as VerifiedQuote['requirements'];
    const hidden = JSON.parse(Buffer.from(body, 'base64url').toString()) as SealedTerms;
    const { quote_id: id, request_hash: requestHash, expires_at: expiresAt } = requirements.extra;
    return { requirements, terms: { ...hidden, id, requestHash, expiresAt: Date.parse(expiresAt) } };
  }

  /** A keyed hash of a request's hash. With a plain hash, a person could confirm a guessed prompt. */
  mark(requestHash: string): string {
    return createHmac('sha256', this.#secret).update(MARK_CONTEXT).update(requestHash).digest('base64url');
  }

  /** Covers every member of the requirements at any depth, in any order. */
  #mac(offer: object): string {
    return createHmac('sha256', this.#secret).update(CONTEXT).update(canonicalJson(offer)).digest('base64url');
  }
}

type SecretStore = Pick<Store, 'commit'> & Pick<Repositories, 'quoteSecret'>;

/**
 * The seal of this database. Quotes survive a restart.
 * @throws StoreError, by rejecting
 */
export const loadSeal = async (store: SecretStore): Promise<QuoteSeal> => new QuoteSeal(await loadSecret(store));

/**
 * The secret of this database, which the first start creates. Each use of the secret adds its own context, so that one use cannot stand in
 * for another.
 * @throws StoreError, by rejecting
 */
export async function loadSecret(store: SecretStore): Promise<Uint8Array> {
  const table = store.quoteSecret;
  let secret = await table.get();
  if (!secret) {
    await store.commit([table.putOnce(randomBytes(SECRET_BYTES))]);
    // Another process may have created it first.
    secret = await table.get();
  }
  if (!secret) throw new Error('The secret of the database was not stored.');
  return secret;
}
