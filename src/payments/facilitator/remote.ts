import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { PaymentRequirements } from '@x402/core/types';
import { readText } from '../../upstream/read-text.ts';
import {
  type Authorization,
  type Chain,
  type Facilitator,
  FacilitatorUnavailable,
  type NetworkMeans,
  type Settlement,
  type Verification,
} from './facilitator.ts';
import { asked, isUnreached, type Nodes } from './nodes.ts';
import { hex } from './tokens.ts';
import { traceOf, wordOf } from './words.ts';

export interface RemoteOptions {
  readonly nodes: Nodes;
  readonly chain: Chain;
  readonly means: NetworkMeans;
  readonly url: string;
  readonly timeoutMs: number;
  /** Sent with each request; null for none. */
  readonly bearer: string | null;
}

/** Bytes of an answer that are read. */
const ANSWER_MAX = 65_536;

/** Null stands for what is left out. */
const Word = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const Verified = Type.Object({ isValid: Type.Boolean(), invalidReason: Word });
const Settled = Type.Object({
  success: Type.Boolean(),
  transaction: Type.String({ maxLength: 200 }),
  network: Type.String(),
  payer: Word,
  errorReason: Word,
});

const TRANSACTION = /^0x[0-9a-f]{64}$/i;
/** Answers of a service, or of a proxy before it, that did not look at the payment. */
const NOT_LOOKED_AT = new Set([401, 403, 404, 405, 413, 415, 429]);
/** Reasons that leave open whether a transaction was sent, or tell that one was. */
const OPEN = /pending|nonce_already_used|transaction_failed|transaction_state|event_mismatch|^unexpected/;

/** The first and the longest pause between looks at the chain, ms. */
const LOOK_FIRST_MS = 50;
const LOOK_MAX_MS = 800;

/** An answer by HTTP: its JSON where it has the form, else null. */
interface Answer<T> {
  readonly status: number;
  readonly content: T | null;
}

/**
 * Has a service settle, by x402's own interface. Not with the client of @x402/core: it follows redirects, with the
 * token and the signed payment, prints what the service says, and reads answers of any size.
 */
export class RemoteFacilitator implements Facilitator {
  readonly #options: RemoteOptions;
  readonly #closed = new AbortController();

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  async verify(authorization: Authorization): Promise<Verification> {
    const answer = await this.#post('verify', authorization, Verified).catch(() => null);
    if (answer === null) throw this.#unavailable('does not answer');
    const { status, content } = answer;
    if (content === null || status >= 500) throw this.#unavailable(`answers a verification with ${status}`);
    if (content.isValid) return { valid: true };
    const reason = wordOf(content.invalidReason);
    if (reason.startsWith('unexpected')) throw this.#unavailable('cannot verify');
    // The signature was found good here. A service whose node is down takes it for a bad one.
    if (reason === 'invalid_exact_evm_signature' && !(await this.#isContract(authorization.payer))) {
      throw this.#unavailable('takes a good signature for a bad one');
    }
    return { valid: false, reason };
  }

  async settle(authorization: Authorization): Promise<Settlement> {
    let answer: Answer<Static<typeof Settled>>;
    try {
      answer = await this.#post('settle', authorization, Settled);
    } catch (cause) {
      if (isUnreached(cause)) throw this.#unavailable('cannot be reached');
      return { state: 'unknown', reason: 'facilitator_unreachable', transaction: null };
    }
    const { status, content } = answer;
    if (content === null) {
      if (NOT_LOOKED_AT.has(status) || (status >= 300 && status < 400)) {
        throw this.#unavailable(`answers a settlement with ${status}`);
      }
      return { state: 'unknown', reason: 'facilitator_unclear', transaction: null };
    }
    return this.#judge(content, authorization);
  }

  close(): void {
    this.#closed.abort();
  }

  async #judge(content: Static<typeof Settled>, authorization: Authorization): Promise<Settlement> {
    const { payer, requirements } = authorization;
    const transaction = TRANSACTION.test(content.transaction) ? content.transaction : null;
    if (content.success) {
      const isOurs = content.network === requirements.network && (content.payer ?? payer).toLowerCase() === payer;
      if (isOurs && transaction !== null) return this.#shown(authorization, transaction);
      return { state: 'unknown', reason: 'facilitator_unclear', transaction };
    }
    const reason = wordOf(content.errorReason);
    const unknown = { state: 'unknown', reason, transaction } as const;
    if (transaction !== null || OPEN.test(reason)) return unknown;
    const { chain, means } = this.#options;
    const fate = await chain.fate(traceOf(authorization, means.now())).catch(() => null);
    if (fate === null) return unknown;
    if (fate.state === 'used') return { ...unknown, transaction: fate.transaction };
    return { state: 'failed', reason };
  }

  /**
   * Nobody is credited by the word of a service: the chain must show it. A node may hear of it later than the service.
   */
  async #shown(authorization: Authorization, transaction: string): Promise<Settlement> {
    const { chain, means, timeoutMs } = this.#options;
    const trace = traceOf(authorization, means.now());
    const end = performance.now() + timeoutMs;
    for (let pause = LOOK_FIRST_MS; ; pause = Math.min(2 * pause, LOOK_MAX_MS)) {
      const fate = await chain.fate(trace).catch(() => null);
      if (fate?.state === 'used') return { state: 'captured', transaction: fate.transaction };
      if (fate?.state === 'cancelled' || this.#closed.signal.aborted || performance.now() + pause > end) break;
      await Bun.sleep(pause);
    }
    return { state: 'unknown', reason: 'not_on_chain_yet', transaction };
  }

  /** Of such a payer the contract is asked, and not the signature alone. */
  async #isContract(payer: string): Promise<boolean> {
    const { nodes } = this.#options;
    return (await asked(nodes, nodes.client.getCode({ address: hex(payer) }))) !== undefined;
  }

  #unavailable(what: string): FacilitatorUnavailable {
    return new FacilitatorUnavailable(`The facilitator of ${this.#options.nodes.id} ${what}.`);
  }

  async #post<T extends TSchema>(
    path: 'verify' | 'settle',
    { payload, requirements }: Authorization,
    form: T,
  ): Promise<Answer<Static<T>>> {
    const { url, timeoutMs, bearer } = this.#options;
    const paymentRequirements = withoutQuote(requirements);
    const paymentPayload = { ...payload, accepted: paymentRequirements };
    const response = await fetch(`${url.replace(/\/+$/, '')}/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
      redirect: 'manual',
      decompress: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { text } = await readText(response, ANSWER_MAX);
    const content = parsed(text);
    return { status: response.status, content: Value.Check(form, content) ? content : null };
  }
}

/**
 * What a settlement needs. With the quote's own members a service could send the payment here as if it were the payer.
 */
function withoutQuote({ extra: { name, version, paymentFlow }, ...rest }: PaymentRequirements): PaymentRequirements {
  return { ...rest, extra: { name, version, paymentFlow } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
